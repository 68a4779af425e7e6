"""The admin: scenarios to edit, the journal to read, sessions to look at and reset."""

from scenarios_app.admin.journal import requests as journal
from scenarios_app.admin.scenarios import draft
from scenarios_app.admin.scenarios import published as scenario

__all__ = ["draft", "journal", "scenario"]
