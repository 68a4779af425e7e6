"""The chat in the admin: profiles to edit; conversations and comparisons with what staff add."""

from chat_app.admin import comparisons, conversations, profiles

__all__ = ["comparisons", "conversations", "profiles"]
