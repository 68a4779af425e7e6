"""The Django app of the project: its commands and templates, and handlers of signals."""

from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate

from mockllm_site.kit.testcase import run_through
from mockllm_site.serve import database
from scenarios_app.signals import services_starting


def prepare_test_mode(**_: object) -> None:
    """Prepare test mode in a thread, since an event loop may be running in this one."""
    # Imported late: most commands start no services.
    from mockllm_site.serve import first_start

    run_through(None, first_start.prepare_test_mode)


class SiteConfig(AppConfig):
    name = "mockllm_site"
    label = "mockllm_site"

    def ready(self) -> None:
        # Imported late: it needs the models of `auth`.
        from mockllm_site import roles

        connection_created.connect(database.keep_in_memory_database)
        post_migrate.connect(roles.create_roles)
        services_starting.connect(prepare_test_mode)
