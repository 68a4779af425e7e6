"""Tools of the operator's MCP servers, behind one small interface: list the tools, call one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

if TYPE_CHECKING:
    from mcp.types import CallToolResult

# A model reads far less; the limit protects the process.
MAX_RESULT_CHARS: Final = 4_194_304
# The SDK cannot serialize much deeper values, and its connection ends if it tries.
MAX_DEPTH: Final = 64
TOO_DEEP: Final = f"the arguments are nested deeper than {MAX_DEPTH} levels"
MALFORMED: Final = "the arguments are not valid JSON"


class ArgumentsError(Exception):
    """The arguments are no JSON object, or nested too deep; the message says why."""


def parse_arguments(text: str) -> dict[str, Any]:
    """Return the arguments as an object; blank text is {}, since some models send nothing to a tool
    without parameters. Raises ArgumentsError."""
    if not text.strip():
        return {}
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ArgumentsError(f"{MALFORMED}: {error}") from None
    except RecursionError:
        raise ArgumentsError(TOO_DEEP) from None
    if not isinstance(value, dict):
        raise ArgumentsError("the arguments are not a JSON object")
    _check_depth(value, 1)
    return value


def _check_depth(value: Any, depth: int) -> None:
    """Raise ArgumentsError if a value, itself at level `depth`, goes deeper than MAX_DEPTH."""
    if not isinstance(value, dict | list):
        return
    if depth > MAX_DEPTH:
        raise ArgumentsError(TOO_DEEP)
    for member in value.values() if isinstance(value, dict) else value:
        _check_depth(member, depth + 1)


OutcomeStatus = Literal["success", "error", "timeout"]


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The end of a call. `text` is the whole result; that of a failed call starts with `Error: `.

    `code` is SERVICE_UNAVAILABLE for a timeout and a dead or unreachable server, VALIDATION_ERROR
    for arguments that are no JSON object, NOT_FOUND for an unknown tool, else None.
    """

    text: str
    status: OutcomeStatus = "success"
    code: str | None = None


def failed_outcome(message: str, code: str | None = None) -> ToolOutcome:
    """Return the outcome of a failed call."""
    return ToolOutcome(f"Error: {message}", "error", code)


def to_outcome(result: CallToolResult) -> ToolOutcome:
    """Return the outcome of a result: its texts, a line for each other part, and its structured
    content if it has no text; an error or a text that is too long is a failed outcome."""
    lines = [_block_to_text(block) for block in result.content]
    has_text = any(block.type == "text" for block in result.content)
    if result.structured_content is not None and not has_text:
        data = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
        lines.append(data)
    text = "\n".join(lines)
    if len(text) > MAX_RESULT_CHARS:
        return failed_outcome(
            f"the result has {len(text):,} characters; at most {MAX_RESULT_CHARS:,} are taken"
        )
    return failed_outcome(text) if result.is_error else ToolOutcome(text)


def _block_to_text(block: Any) -> str:
    """Return a block as text; blocks of other types as a line that names them."""
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
