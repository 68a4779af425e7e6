"""Tools: MCP servers that the operator named, behind one small interface: which tools there are,
and a call of one."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import msgspec

from chat_app.values.model_call import Tool

# The SDK cannot write what is nested much deeper, and its connection ends when it tries.
DEEPEST: Final = 64
TOO_DEEP: Final = f"the arguments are nested deeper than {DEEPEST} levels"
MALFORMED: Final = "the arguments are not valid JSON"


class ArgumentsError(Exception):
    """Arguments that are no JSON object; the message says why."""


def read_arguments(given: str | Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as an object. Blank text is one without members: some models say nothing to a
    tool that has no parameters."""
    value = _decoded(given) if isinstance(given, str) else given
    if not isinstance(value, Mapping):
        raise ArgumentsError("the arguments are not a JSON object")
    _check(value)
    return dict(value)


def _decoded(text: str) -> Any:
    if not text.strip():
        return {}
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise ArgumentsError(f"{MALFORMED}: {error}") from None
    except RecursionError:
        raise ArgumentsError(TOO_DEEP) from None


def _check(arguments: Mapping[str, Any]) -> None:
    """Refuse what JSON cannot say; without recursion, so that depth is no danger."""
    left: list[tuple[Any, int]] = [(arguments, 1)]
    while left:
        value, depth = left.pop()
        match value:
            case Mapping() | list() | tuple() if depth > DEEPEST:
                raise ArgumentsError(TOO_DEEP)
            case Mapping():
                for key, member in value.items():
                    if not isinstance(key, str):
                        raise ArgumentsError(f"{MALFORMED}: {key!r} is no key")
                    left += [(key, depth), (member, depth + 1)]
            case list() | tuple():
                left += [(item, depth + 1) for item in value]
            case str() if not value.isascii():
                _check_text(value)
            case float() if not math.isfinite(value):
                raise ArgumentsError(f"{MALFORMED}: {value} is no number of JSON")
            case None | bool() | int() | float() | str():
                pass
            case _:
                raise ArgumentsError(f"{MALFORMED}: {type(value).__name__} is no type of JSON")


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ArgumentsError(f"{MALFORMED}: {error}") from None


Status = Literal["success", "error", "timeout"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended. `text` is the whole result; that of a failed call begins `Error: `. `code`
    is SERVICE_UNAVAILABLE for a timeout and a dead or unreachable server, VALIDATION_ERROR for
    arguments that are no JSON object, NOT_FOUND for a tool that is not there, else None."""

    text: str
    status: Status = "success"
    code: str | None = None


class Toolbox(Protocol):
    """The tools of this process."""

    async def available(self, servers: Sequence[str]) -> tuple[Tool, ...]:
        """The tools of these servers, by their names in the operator's file, in stable order.

        A tool whose name another server has too is called `SERVER__NAME`. A server that is not
        named in the file or cannot be reached has none, and the log says so: it never raises.
        """
        ...

    async def call(
        self, servers: Sequence[str], name: str, *, arguments: str | Mapping[str, Any]
    ) -> Outcome:
        """Call a tool by the name that `available` gave it. Never raises but CancelledError, and
        that only when the caller was cancelled: the running call is cancelled with it."""
        ...

    async def close(self) -> None:
        """End every server of the running event loop; returns when nothing is left of them."""
        ...


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
