"""Names the project for Django, which finds commands, templates and checks through it."""

from django.apps import AppConfig
from django.db.backends.signals import connection_created

from mockllm_site.serve import database


class SiteConfig(AppConfig):
    name = "mockllm_site"
    label = "mockllm_site"

    def ready(self) -> None:
        connection_created.connect(database.keep)
