"""Who may use the chat's API: in prod whoever is logged in or has the token, else everybody.

Whose conversations one sees is another matter: that is what `client_id` says.
"""

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated
from rest_framework.request import Request

from mockllm_site.api.tokens import bearer_of, is_token

OPEN_MODES = ("dev", "test")


class ChatAccess(SessionAuthentication):
    """Lets a request in or raises. A login counts only with Django's CSRF token, where something
    is changed; a bearer token, which no browser sends unasked, needs none."""

    def authenticate(self, request: Request) -> tuple[Any, Any] | None:
        if settings.MOCKLLM_ENV in OPEN_MODES:
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
                "description": "CHAT_TOKEN; in dev and test nothing is needed.",
            },
            {
                "type": "apiKey",
                "in": "cookie",
                "name": settings.SESSION_COOKIE_NAME,
                "description": "A login; what changes something needs the CSRF token as well.",
            },
        ]
