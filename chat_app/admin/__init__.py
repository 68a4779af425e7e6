"""The chat in the admin: profiles, conversations, messages and comparisons."""

from collections.abc import Callable

from django.http import HttpRequest

from chat_app.admin import comparisons, conversations, messages, profiles

__all__ = ["comparisons", "conversations", "messages", "profiles"]


def _permission_check(permission: str) -> Callable[[HttpRequest], bool]:
    return lambda request: request.user.has_perm(permission)


may_see_profiles = _permission_check("chat_app.view_modelprofile")
may_see_chats = _permission_check("chat_app.view_conversation")
may_see_messages = _permission_check("chat_app.view_message")
may_see_traces = _permission_check("traces_app.view_trace")
may_see_votes = _permission_check("chat_app.view_abcomparison")
