"""The Django app of the project: its commands and templates, and handlers of signals."""

from django.apps import AppConfig
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate

from mockllm_site.serve import database


class SiteConfig(AppConfig):
    name = "mockllm_site"
    label = "mockllm_site"

    def ready(self) -> None:
        # Imported late: it needs the models of `auth`.
        from mockllm_site import roles

        connection_created.connect(database.keep_in_memory_database)
        post_migrate.connect(roles.create_roles)
