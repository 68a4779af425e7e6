"""The JSON Schema of scenario documents, as components of the control API's OpenAPI document."""

import json
from typing import Any

from scenarios_app.engine.document import json_schema

_OF_A_DOCUMENT = "#/$defs/"
_OF_A_COMPONENT = "#/components/schemas/"


def document_components() -> dict[str, Any]:
    """The components by name: the whole is `Document`."""
    text = json.dumps(json_schema()).replace(_OF_A_DOCUMENT, _OF_A_COMPONENT)
    schema: dict[str, Any] = json.loads(text)
    components: dict[str, Any] = schema.pop("$defs")
    del schema["$schema"]
    return {**components, "Document": schema}
