"""Names the app for Django; nothing starts here, processes start in the ASGI lifespan."""

from django.apps import AppConfig


class TracesConfig(AppConfig):
    name = "traces_app"
    label = "traces_app"
    verbose_name = "Traces"
    default_auto_field = "django.db.models.BigAutoField"
