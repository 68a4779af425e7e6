"""The chat in the admin: profiles to edit; conversations and comparisons with what staff add."""

from django.http import HttpRequest

from chat_app.admin import comparisons, conversations, profiles

__all__ = ["comparisons", "conversations", "profiles"]


def may_see_profiles(request: HttpRequest) -> bool:
    return request.user.has_perm("chat_app.view_modelprofile")


def may_see_chats(request: HttpRequest) -> bool:
    return request.user.has_perm("chat_app.view_conversation")


def may_see_messages(request: HttpRequest) -> bool:
    return request.user.has_perm("chat_app.view_message")


def may_see_traces(request: HttpRequest) -> bool:
    return request.user.has_perm("traces_app.view_trace")


def may_see_votes(request: HttpRequest) -> bool:
    return request.user.has_perm("chat_app.view_abcomparison")
