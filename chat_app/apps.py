"""Names the app for Django; nothing starts here, processes start in the ASGI lifespan."""

from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat_app"
    label = "chat_app"
    verbose_name = "Chat"
    default_auto_field = "django.db.models.BigAutoField"
