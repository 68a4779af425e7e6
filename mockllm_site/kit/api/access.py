"""Who is at the other end, and who may use the chat's API and pages, and as whom.

This machine and those with the chat token name a client as they like; a login is its own client and
sees no other's conversations. What is open to this machine alone asks `is_open`. Three things must
hold, since each can be faked without the others: the socket is one that no other machine reaches,
the client called this server by a name of loopback (a page whose host name was made to resolve to
loopback sends that name), and nothing says that a proxy handed the request on (its client may be
anywhere)."""

import hmac
import os
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from functools import wraps
from ipaddress import ip_address
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

_BEARER = re.compile(r"(?i)bearer +(\S+) *")


def bearer_of(request: HttpRequest) -> str | None:
    """The bearer token of a request, None where it has none."""
    given = _BEARER.fullmatch(request.META.get("HTTP_AUTHORIZATION", ""))
    return given and given[1]


def is_token(given: str, token: str) -> bool:
    """Whether a token is this one; where none is set, none is."""
    # Headers come as Latin-1, also those of another encoding.
    return bool(token) and hmac.compare_digest(given.encode("latin-1", "replace"), token.encode())


OPEN_MODES = ("dev", "test")
# In the environment, so that processes that a server starts to share its socket know it too.
VARIABLE = "MOCKLLM_LISTENING_ON"
FORWARDED = re.compile(r"HTTP_(FORWARDED|VIA|X_REAL_IP|X_FORWARDED_\w+)")
# What Django's test client calls the server: its requests come over no socket, and no server
# answers to this name unless Django's test environment, which adds it, is set up.
TEST_CLIENT = "testserver"
FOREIGN = "The request comes from a page of another origin."
_PORT = re.compile(r":[0-9]{1,5}$")


def listening_on(address: str) -> None:
    """Say which address the socket is bound to, before the first request comes in."""
    os.environ[VARIABLE] = address


def is_open(request: HttpRequest) -> bool:
    """Whether a request needs neither token nor login: in dev and test, from this machine."""
    return settings.MOCKLLM_ENV in OPEN_MODES and is_local(request)


def is_local(request: HttpRequest) -> bool:
    """Whether nobody but this machine can have sent a request, and meant this server by it."""
    if was_forwarded(request.META):
        return False
    by_test_client = VARIABLE not in os.environ and is_test_client(request)
    if not by_test_client and not on_loopback(getattr(request, "scope", None)):
        return False
    host = request.META.get("HTTP_HOST", TEST_CLIENT if is_test_client(request) else "")
    return is_loopback_host(host) or (host == TEST_CLIENT and is_test_client(request))


def is_test_client(request: HttpRequest) -> bool:
    """Whether Django's test client made a request, in a process that tests."""
    server = request.META.get("SERVER_NAME")
    return server == TEST_CLIENT and TEST_CLIENT in settings.ALLOWED_HOSTS


def was_forwarded(meta: Iterable[str]) -> bool:
    """Whether one of these request variables says that a proxy handed the request on."""
    return any(map(FORWARDED.fullmatch, meta))


def is_foreign(request: HttpRequest) -> bool:
    """Whether a page of another origin sent a request; `Origin: null` is another one too.

    Which scheme a page came by is the proxy's to know, so host and port alone are compared; the
    origins that CSRF_TRUSTED_ORIGINS holds are our own as well.
    """
    origin = request.META.get("HTTP_ORIGIN")
    if origin is None:
        return False
    scheme, _, host = origin.lower().partition("://")
    if scheme in ("http", "https") and host == request.META.get("HTTP_HOST", "").lower():
        return not host
    return not any(fnmatchcase(origin.lower(), own) for own in settings.CSRF_TRUSTED_ORIGINS)


def on_loopback(scope: Mapping[str, Any] | None) -> bool:
    """Whether nobody but this machine can have sent the request of this ASGI scope.

    What the server was bound to decides. Where nobody said so, as under a server that is not ours,
    it is the address that this one connection was made to; where that is unknown too, the answer
    is no.
    """
    address = os.environ.get(VARIABLE)
    if address is None:
        address = ((scope or {}).get("server") or ("",))[0]
    return is_loopback(address)


def is_loopback_host(host: str) -> bool:
    """Whether a Host header is a name of loopback, with or without a port."""
    name = _PORT.sub("", host.strip())
    if name.startswith("[") and name.endswith("]"):
        return ":" in name and is_loopback(name[1:-1])
    return name.lower() == "localhost" or (":" not in name and is_loopback(name))


def is_loopback(address: str) -> bool:
    """Whether an IP address is one of this machine's own that no other can reach."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return found.is_loopback or (mapped is not None and mapped.is_loopback)


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
                if permission is not None and not request.user.has_perm(permission):
                    raise exceptions.PermissionDenied
            return view(request, *args, **kwargs)

        return shown

    return guarded
