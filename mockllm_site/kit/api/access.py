"""Who may use the chat's API and pages, and as whom. This machine and those with the chat token
name a client as they like; a login is its own client and sees no other's conversations."""

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
    """The bearer token of a request, None where it has none."""
    given = _BEARER.fullmatch(request.META.get("HTTP_AUTHORIZATION", ""))
    return given and given[1]


def is_token(given: str, token: str) -> bool:
    """Whether a token is this one; where none is set, none is."""
    # Headers come as Latin-1, also those of another encoding.
    return bool(token) and hmac.compare_digest(given.encode("latin-1", "replace"), token.encode())


# What a login needs to say something in the chat, and to see what other clients' runs did.
CHATS = "chat_app.add_conversation"
SEES_TRACES = "traces_app.view_trace"


class ChatAccess(SessionAuthentication):
    """Lets a request in or raises. A login counts only with Django's CSRF token, where something
    is changed; a bearer token, which no browser sends unasked, needs none."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        if is_foreign(request._request):
            raise PermissionDenied(FOREIGN)
        if is_open(request._request):
            return None
        given = bearer_of(request._request)
        if given is not None:
            if is_token(given, settings.CHAT_TOKEN):
                return None
            raise AuthenticationFailed("This is not the chat token.")
        user = super().authenticate(request)
        if user is None:
            raise NotAuthenticated(
                "Log in, or send the chat token (CHAT_TOKEN) as Authorization: Bearer …"
            )
        return user

    def enforce_csrf(self, request: Request) -> None:
        """On Django's own request: the body is no form, and the view's to read."""
        super().enforce_csrf(request._request)  # type: ignore[arg-type]

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class MayChat(BasePermission):
    """A login that only reads changes nothing. Views whose POST reads say so with `reads`."""

    message = f"Your login may read, and not chat: it lacks the permission {CHATS}."

    def has_permission(self, request: Request, view: Any) -> bool:
        reads = request.method in SAFE_METHODS or getattr(view, "reads", False)
        user: Any = request.user
        return reads or not user.is_authenticated or user.has_perm(CHATS)


def login_client(user: Any) -> str:
    """The client that a login is: it stays the same when the user is renamed."""
    return f"login-{user.pk}"


class ChatAccessScheme(OpenApiAuthenticationExtension):
    """The ways in, as the OpenAPI document describes them."""

    target_class = ChatAccess
    name = ["token", "login"]  # noqa: RUF012  (as the library declares it)

    def get_security_requirement(self, auto_schema: AutoSchema) -> list[dict[str, list[Any]]]:
        """Either will do."""
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


def here_or_logged_in(permission: str | None = None) -> Callable[[View[P]], View[P]]:
    """The view for those who are let in; a login may need a permission beside."""

    def guarded(view: View[P]) -> View[P]:
        @wraps(view)
        def shown(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if is_foreign(request):
                raise exceptions.PermissionDenied
            if not is_open(request):
                if not request.user.is_authenticated:
                    return redirect_to_login(request.get_full_path())
                if permission is not None:
                    require(request, permission)
            return view(request, *args, **kwargs)

        return shown

    return guarded
