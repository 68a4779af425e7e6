"""Readers of fields that OpenAI's requests share, and pages of its lists."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from scenarios_app.engine.canonical import (
    ANY_OBJECT,
    CallMode,
    Json,
    JsonFormat,
    Tool,
    ToolChoice,
    ToolKind,
)
from scenarios_app.wire.base import Call, encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError

MAX_CHOICES = 128


def read_model(body: Node, deployment: str | None) -> str:
    """Return the model of a body, else the Azure deployment, if any; raise the 400 without one."""
    node = body.maybe("model") if deployment else body.need("model")
    model = node.text() if node else deployment
    if not model:
        raise WireError(400, "The model must be named.", param="model", code="invalid_value")
    return model


def unsupported(node: Node, supported: str) -> WireError:
    """Return the error for a string that is not among those supported."""
    return WireError(
        400,
        f"Invalid value for '{node.place}': {node.value!r}. Supported values are {supported}.",
        param=node.place,
        code="invalid_value",
    )


def read_fields(body: Node, readers: Mapping[str, Callable[[Node], Any]]) -> dict[str, Any]:
    """Return the values of the fields that have a reader, in the body's order, without nulls."""
    values = {}
    for key, value in body.object().items():
        if value is not None and (read := readers.get(key)) is not None:
            values[key] = read(Node(value, key, body))
    return values


def read_metadata(body: Node) -> dict[str, str]:
    """Return the metadata of a body, empty if it has none."""
    return body.optional("metadata", read_pairs) or {}


def read_pairs(node: Node) -> dict[str, str]:
    """Return the value if it is an object of strings; raise the 400 for another."""
    return {key: node.get(key).text() for key in node.object()}


class StreamOptions(msgspec.Struct, frozen=True):
    """The options of a stream, with their defaults: a usage chunk, and padded deltas."""

    include_usage: bool = False
    obfuscated: bool = True


DEFAULT_STREAM_OPTIONS = StreamOptions()


def read_stream_options(node: Node) -> StreamOptions:
    """Return the stream options; obfuscation is on by default."""
    usage = node.optional("include_usage", Node.flag) or False
    return StreamOptions(usage, node.optional("include_obfuscation", Node.flag) is not False)


def read_stop(node: Node) -> tuple[str, ...]:
    """Return the stop sequences, given as one string or a list. Raises the 400 for another type."""
    match node.value:
        case str(text):
            return (text,)
        case list():
            return tuple(item.text() for item in node.items())
        case _:
            raise node.wrong("a string or an array")


def read_in_range(node: Node, minimum: int, maximum: int, unit: str = "") -> int:
    """Return a whole number; raise the 400 with the range and its unit if it is outside."""
    number = node.integer()
    if minimum <= number <= maximum:
        return number
    raise WireError(
        400,
        f"Invalid '{node.place}': expected {minimum} to {maximum}{unit}, but got {number}.",
        param=node.place,
        code="integer_below_min_value" if number < minimum else "integer_above_max_value",
    )


def read_top_logprobs(body: Node, maximum: int = 20, key: str = "top_logprobs") -> int:
    """Return the requested number of alternatives per token, 0 if it is missing; raise the 400
    unless it is from 0 to `maximum`."""
    node = body.maybe(key)
    return read_in_range(node, 0, maximum) if node else 0


def read_choice_count(node: Node) -> int:
    """Return the requested number of choices; raise the 400 unless it is 1 to MAX_CHOICES."""
    return read_in_range(node, 1, MAX_CHOICES, " choices")


def read_tool_choice(node: Node) -> Json:
    """Return a tool choice as it was sent: a string or an object. Raises the 400 for another
    type."""
    if isinstance(node.value, str | dict):
        return node.value
    raise node.wrong("a string or an object")


# Readers of the fields that all endpoints for text share.
COMMON: Final[Mapping[str, Callable[[Node], object]]] = {
    "frequency_penalty": Node.number,
    "presence_penalty": Node.number,
    "stream": Node.flag,
    "stream_options": read_stream_options,
    "temperature": Node.number,
    "top_p": Node.number,
    "user": Node.text,
}

_MODES: Mapping[str, CallMode] = {"none": "none", "required": "required", "any": "required"}


def to_tool_choice(sent: Json) -> ToolChoice:
    """Return a `tool_choice` of chat or Responses, or a legacy `function_call`, as a ToolChoice.
    Null and unknown modes are `auto`."""
    match sent:
        case str(mode):
            return ToolChoice(_MODES.get(mode, "auto"))
        case {"type": "allowed_tools", "allowed_tools": dict(allowed)}:
            return to_tool_choice({**allowed, "type": "allowed_tools"})
        case {"type": "allowed_tools", "tools": list(tools), **rest}:
            names = tuple(name for tool in tools if (name := _chosen_tool_name(tool)))
            return ToolChoice("required" if rest.get("mode") == "required" else "auto", names)
        case dict():
            name = _chosen_tool_name(sent)
            return ToolChoice("required", (name,) if name else ())
        case _:
            return ToolChoice()


def _chosen_tool_name(tool: Json) -> str | None:
    """Return the name of a tool in a tool choice, or a hosted tool's type. None if it names
    none."""
    match tool:
        case {"function": {"name": str(name)}} | {"custom": {"name": str(name)}}:
            return name
        case {"type": "mcp", "server_label": str(name)} | {"name": str(name)} | {"type": str(name)}:
            return name
        case _:
            return None


def to_json_format(form: Json, place: str) -> JsonFormat | None:
    """Return the JSON format that a response format demands, or None for plain text. Errors about
    it name it by `place`."""
    match form:
        case {"type": "json_schema", "json_schema": {"schema": schema, **others}} | {
            "type": "json_schema",
            "schema": schema,
            **others,
        }:
            name = others.get("name")
            return JsonFormat(schema, place, name=name if isinstance(name, str) else "")
        case {"type": "json_schema" | "json_object"}:
            return JsonFormat(ANY_OBJECT, place)
        case _:
            return None


def read_tool_definition(node: Node, schema_key: str, kind: ToolKind = "function") -> Tool:
    """Return a tool that a request offers; its parameters or format are at `schema_key`."""
    return Tool(
        node.need("name").text(),
        node.optional("description", Node.text) or "",
        node.optional(schema_key, lambda form: dict(form.object())),
        kind,
    )


# Larger numbers are beyond the end of any stream or list.
_MAX_DIGITS = 9


class ListPage(msgspec.Struct, frozen=True):
    """The requested part of a list: at most `limit` items after the one with the id `after`."""

    after: str | None
    limit: int
    descending: bool


def read_page(call: Call, default: int = 20, maximum: int = 100) -> ListPage:
    """Return the page that the query asks for, of `default` items and descending if it names no
    limit and order. Raises the 400 for another order, or a limit not from 0 to `maximum`."""
    query = Node(dict(call.query))
    limit = read_integer(query, "limit", default=default)
    if limit > maximum:
        raise query.get("limit").wrong(f"a number from 0 to {maximum}")
    order = query.maybe("order")
    if order and order.text() not in ("asc", "desc"):
        raise unsupported(order, "'asc' and 'desc'")
    return ListPage(call.query.get("after"), limit, order is None or order.value == "desc")


def render_page(items: Iterable[Node], page: ListPage) -> Json:
    """Return a page of items, which come from old to new, as a list object. An unknown `after` is
    ignored."""
    items = list(items)
    if page.descending:
        items.reverse()
    ids = [item.get("id").value for item in items]
    if page.after in ids:
        items = items[ids.index(page.after) + 1 :]
    selected = items[: page.limit]
    return render_list(selected, more=len(selected) < len(items))


def render_deletion(name: str, kind: str) -> bytes:
    """Return the response to the deletion of the object `name`, whose type is `kind`."""
    return encode_json({"id": name, "object": kind, "deleted": True})


def render_list(items: list[Node], *, more: bool = False) -> Json:
    """Return a list object of items, with the first and the last id; `more` is its `has_more`."""
    return {
        "object": "list",
        "data": [item.value for item in items],
        "first_id": items[0].get("id").value if items else None,
        "last_id": items[-1].get("id").value if items else None,
        "has_more": more,
    }


def read_integer(query: Node, key: str, *, default: int) -> int:
    """Return a whole number from a query, or `default` if it is missing; raise the 400 for anything
    else."""
    node = query.maybe(key)
    if node is None:
        return default
    digits = node.text()
    if digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS:
        return int(digits)
    raise node.wrong("a whole number")
