"""The chat in the admin: profiles to edit; conversations and comparisons to read."""

from chat_app.admin import comparisons, conversations, profiles

__all__ = ["comparisons", "conversations", "profiles"]
