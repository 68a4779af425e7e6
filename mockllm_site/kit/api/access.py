"""Access to the chat's API and pages: from this machine, by the chat token or by a login.

A login is its own client and sees only its own conversations; others name any client.
"""

import hmac
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core import exceptions
from django.http import HttpRequest, HttpResponse
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from mockllm_site.kit.api.locality import FOREIGN, is_foreign, is_open
from mockllm_site.kit.permissions import require

_BEARER = re.compile(r"(?i)bearer +(\S+) *")


def bearer_of(request: HttpRequest) -> str | None:
    """Return the bearer token of a request, or None."""
    match = _BEARER.fullmatch(request.META.get("HTTP_AUTHORIZATION", ""))
    return match and match[1]


def is_token(sent: str, token: str) -> bool:
    """Compare a sent token with the set one in constant time; False if none is set."""
    # Headers come as Latin-1, also those of another encoding.
    return bool(token) and hmac.compare_digest(sent.encode("latin-1", "replace"), token.encode())


# Permissions to chat, and to see the traces of other clients.
CHATS = "chat_app.add_conversation"
SEES_TRACES = "traces_app.view_trace"


class ChatAccess(SessionAuthentication):
    """Authenticates a request. A login needs Django's CSRF token to change something; a bearer
    token needs none, since browsers do not send one by themselves."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        if is_foreign(request._request):
            raise PermissionDenied(FOREIGN)
        if is_open(request._request):
            return None
        sent_token = bearer_of(request._request)
        if sent_token is not None:
            if is_token(sent_token, settings.CHAT_TOKEN):
                return None
            raise AuthenticationFailed("This is not the chat token.")
        user = super().authenticate(request)
        if user is None:
            raise NotAuthenticated(
                "Log in, or send the chat token (CHAT_TOKEN) as Authorization: Bearer …"
            )
        return user

    def enforce_csrf(self, request: Request) -> None:
        """Check Django's own request, so that the body stays unread for the view."""
        super().enforce_csrf(request._request)  # type: ignore[arg-type]

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class MayChat(BasePermission):
    """Refuses changes by a login without the permission to chat; `reads` marks a reading POST."""

    message = f"Your login may read, and not chat: it lacks the permission {CHATS}."

    def has_permission(self, request: Request, view: Any) -> bool:
        reads = request.method in SAFE_METHODS or getattr(view, "reads", False)
        user: Any = request.user
        return reads or not user.is_authenticated or user.has_perm(CHATS)


def login_client(user: Any) -> str:
    """Return the client id of a login; it stays the same when the user is renamed."""
    return f"login-{user.pk}"


class ChatAccessScheme(OpenApiAuthenticationExtension):
    """The authentication schemes for the OpenAPI document."""

    target_class = ChatAccess
    name = ["token", "login"]  # noqa: RUF012  (as the library declares it)

    def get_security_requirement(self, auto_schema: AutoSchema) -> list[dict[str, list[Any]]]:
        """Return alternatives: one scheme is enough."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: AutoSchema) -> list[dict[str, str]]:
        return [
            {
                "type": "http",
                "scheme": "bearer",
                "description": "CHAT_TOKEN; on loopback in dev and test nothing is needed.",
            },
            {
                "type": "apiKey",
                "in": "cookie",
                "name": settings.SESSION_COOKIE_NAME,
                "description": "A login; what changes something needs the CSRF token as well.",
            },
        ]


P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def local_or_logged_in(permission: str | None = None) -> Callable[[View[P]], View[P]]:
    """Decorate a view for this machine and for logins, which may need a permission."""

    def decorate(view: View[P]) -> View[P]:
        @wraps(view)
        def guarded_view(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if is_foreign(request):
                raise exceptions.PermissionDenied
            if not is_open(request):
                if not request.user.is_authenticated:
                    return redirect_to_login(request.get_full_path())
                if permission is not None:
                    require(request, permission)
            return view(request, *args, **kwargs)

        return guarded_view

    return decorate
