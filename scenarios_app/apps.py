"""Names the app for Django; nothing starts here, processes start in the ASGI lifespan."""

from django.apps import AppConfig
from django.db.backends.signals import connection_created


class ScenariosConfig(AppConfig):
    name = "scenarios_app"
    label = "scenarios_app"
    verbose_name = "Scenarios"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # It knows the models, which are not there before.
        from mockllm_site.kit import testcase

        connection_created.connect(testcase.track_connection)
