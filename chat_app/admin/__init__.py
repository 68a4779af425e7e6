"""The chat in the admin: profiles to edit; conversations and comparisons with what staff add."""

from collections.abc import Callable

from django.http import HttpRequest

from chat_app.admin import comparisons, conversations, profiles

__all__ = ["comparisons", "conversations", "profiles"]


def _may_see(permission: str) -> Callable[[HttpRequest], bool]:
    return lambda request: request.user.has_perm(permission)


may_see_profiles = _may_see("chat_app.view_modelprofile")
may_see_chats = _may_see("chat_app.view_conversation")
may_see_messages = _may_see("chat_app.view_message")
may_see_traces = _may_see("traces_app.view_trace")
may_see_votes = _may_see("chat_app.view_abcomparison")
