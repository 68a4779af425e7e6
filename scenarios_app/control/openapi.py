"""The OpenAPI document of the control API."""

import json
from typing import Any

from django.urls import include, path
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from mockllm_site.kit.api.openapi_document import Document, build_document, cached_document
from scenarios_app.control.kit import Access
from scenarios_app.engine.document.schema_maker import json_schema


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


def document_components() -> dict[str, Any]:
    """Return the schemas of scenario documents by name; the root schema is `Document`."""
    text = json.dumps(json_schema()).replace("#/$defs/", "#/components/schemas/")
    schema: dict[str, Any] = json.loads(text)
    components: dict[str, Any] = schema.pop("$defs")
    del schema["$schema"], schema["$id"]
    return {**components, "Document": schema}


@cached_document
def document() -> Document:
    """Return the OpenAPI document with the schemas of scenario documents."""
    described = build_document([path("control/", include("scenarios_app.control.urls"))])
    described["components"]["schemas"] |= document_components()
    return described
