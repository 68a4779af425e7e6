"""The OpenAPI document of the chat API."""

from typing import Any

from django.conf import settings
from django.urls import include, path
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from mockllm_site.kit.api.access import ChatAccess
from mockllm_site.kit.api.openapi_document import Document, build_document, cached_document

TITLE = "mockllm chat API"


class ChatAccessScheme(OpenApiAuthenticationExtension):
    """Describes authentication by token and by login in the OpenAPI document."""

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


@cached_document
def document() -> Document:
    """Return the OpenAPI document of all paths below `/api/` that are not a provider's."""
    openapi_document = build_document([path("api/", include("chat_app.api.urls"))])
    openapi_document["info"] |= {
        "title": TITLE,
        "description": "Conversations with models, their answers as streams, and their traces.",
    }
    return openapi_document
