"""Google's own tools as parts of an answer: what they were asked, and what they gave back."""

import json
from collections.abc import Mapping
from typing import Any

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.parts import ServerToolResultPart, ServerToolUsePart

# Scripted under the names that Anthropic has for them.
_TYPES: Mapping[str, str] = {
    "web_search": "GOOGLE_SEARCH_WEB",
    "google_search": "GOOGLE_SEARCH_WEB",
    "web_fetch": "URL_CONTEXT",
    "url_context": "URL_CONTEXT",
    "google_maps": "GOOGLE_MAPS",
    "file_search": "FILE_SEARCH",
}
_CODE = "code_execution"
_SAID = ("output", "stdout", "content")


def use_part(part: ServerToolUsePart) -> dict[str, Any] | None:
    """A use of a tool, None where Google has no such tool."""
    given: Json = json.loads(part.input)
    if part.name == _CODE:
        code = given.get("code") if isinstance(given, dict) else None
        source = code if isinstance(code, str) else part.input
        return {"executableCode": {"id": part.id, "language": "PYTHON", "code": source}}
    if part.name not in _TYPES:
        return None
    return {"toolCall": {"id": part.id, "toolType": _TYPES[part.name], "args": given}}


def result_part(part: ServerToolResultPart) -> dict[str, Any] | None:
    """What the tool gave back, None where Google has no such tool."""
    found: Json = json.loads(part.content)
    if part.name == _CODE:
        outcome = "OUTCOME_OK" if part.error_code is None else "OUTCOME_FAILED"
        output = part.error_code or _output(found)
        return {
            "codeExecutionResult": {"id": part.tool_use_id, "outcome": outcome, "output": output}
        }
    if part.name not in _TYPES:
        return None
    response: Json = found if isinstance(found, dict) else {"result": found}
    if part.error_code is not None:
        response = {"error": part.error_code}
    return {
        "toolResponse": {
            "id": part.tool_use_id,
            "toolType": _TYPES[part.name],
            "response": response,
        }
    }


def _output(found: Json) -> str:
    said = found
    if isinstance(found, dict):
        said = next((found[key] for key in _SAID if key in found), found)
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
