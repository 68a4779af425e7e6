"""What the sidebar asks of a request about the chat: who may see a link."""

from django.http import HttpRequest


def may_see_profiles(request: HttpRequest) -> bool:
    return request.user.has_perm("chat_app.view_modelprofile")


def may_see_chats(request: HttpRequest) -> bool:
    return request.user.has_perm("chat_app.view_conversation")


def may_see_traces(request: HttpRequest) -> bool:
    return request.user.has_perm("traces_app.view_trace")


def may_see_votes(request: HttpRequest) -> bool:
    return request.user.has_perm("chat_app.view_abcomparison")
