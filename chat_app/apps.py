"""Names the app for Django; nothing starts here, processes start in the ASGI lifespan."""

from importlib import import_module

from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat_app"
    label = "chat_app"
    verbose_name = "Chat"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # Registers the receiver of `run_died`; it needs the models.
        import_module("chat_app.runs.store")
