"""Who may use the control API: this machine where the server is its own, others with the token."""

import re

from django.conf import settings
from django.http import HttpRequest
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from mockllm_site.api.tokens import bearer_of, is_token
from scenarios_app.serving.listening import is_loopback, on_loopback

OPEN_MODES = ("dev", "test")
_PORT = re.compile(r":[0-9]{1,5}$")


class Access(BaseAuthentication):
    """Lets a request in or raises; nobody in particular is let in."""

    def authenticate(self, request: Request) -> None:
        if is_open(request._request):
            return
        token = settings.MOCKLLM_CONTROL_TOKEN
        if not token:
            raise PermissionDenied(
                "The control API is closed: it is open to this machine alone, where the server is "
                "bound to loopback in dev or test, and to those with MOCKLLM_CONTROL_TOKEN, "
                "which is not set."
            )
        given = bearer_of(request._request)
        if given is None:
            raise AuthenticationFailed(
                "Send the control token (MOCKLLM_CONTROL_TOKEN) as Authorization: Bearer …"
            )
        if not is_token(given, token):
            raise AuthenticationFailed("This is not the control token.")

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


def is_open(request: HttpRequest) -> bool:
    """Whether a request needs no token.

    The socket must be one that only this machine reaches, and the client must have meant it: a
    page whose host name was made to resolve to loopback sends that name. What a forwarded header
    says counts for nothing.
    """
    return (
        settings.MOCKLLM_ENV in OPEN_MODES
        and on_loopback(getattr(request, "scope", None))
        and is_loopback_host(request.META.get("HTTP_HOST", ""))
    )


def is_loopback_host(host: str) -> bool:
    """Whether a Host header is a name of loopback, with or without a port."""
    name = _PORT.sub("", host.strip())
    if name.startswith("[") and name.endswith("]"):
        return ":" in name and is_loopback(name[1:-1])
    return name.lower() == "localhost" or (":" not in name and is_loopback(name))


class AccessScheme(OpenApiAuthenticationExtension):
    """The token as the OpenAPI document describes it."""

    target_class = Access
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "MOCKLLM_CONTROL_TOKEN; on loopback in dev and test nothing is needed.",
        }
