"""The admin: scenarios to edit, the journal to read, sessions to look at and reset."""

from scenarios_app.admin import accounts, draft, journal, roles, scenario

__all__ = ["accounts", "draft", "journal", "roles", "scenario"]
