"""What a tool gave back, as the one text that a model can read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from chat_app.tools.base import Outcome

if TYPE_CHECKING:
    from mcp.types import CallToolResult

# In characters. A model reads far less; the limit is there for the process's sake.
LONGEST: Final = 4_194_304


def failed(message: str, code: str | None = None) -> Outcome:
    """The outcome of a call that came to nothing."""
    return Outcome(f"Error: {message}", "error", code)


def outcome_of(result: CallToolResult) -> Outcome:
    """The texts of a result, a line for each of its other parts, and, where there is no text, its
    structured content."""
    lines = [_line(block) for block in result.content]
    has_text = any(block.type == "text" for block in result.content)
    if result.structured_content is not None and not has_text:
        lines.append(
            json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
        )
    text = "\n".join(lines)
    if len(text) > LONGEST:
        return failed(f"the result has {len(text):,} characters; at most {LONGEST:,} are taken")
    return failed(text) if result.is_error else Outcome(text)


def _line(block: Any) -> str:
    """A block as text. Of what is no text a model is told that it was there."""
    match block.type:
        case "text":
            return str(block.text)
        case "image" | "audio":
            return f"[{block.type}: {block.mime_type}, {len(block.data)} characters of base64]"
        case "resource_link":
            return f"[resource link: {block.name}, {block.uri}]"
        case "resource":
            kind = block.resource.mime_type or "of no known type"
            return f"[resource: {block.resource.uri}, {kind}]"
        case other:
            return f"[{other}]"
