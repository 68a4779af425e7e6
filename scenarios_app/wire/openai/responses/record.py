"""How a session keeps one of OpenAI's Responses: the name of the one before it, what it was asked
with and what it answered, and all of its stream if it was streamed."""

from collections.abc import Iterable, Mapping

import msgspec

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.base import encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.openai.responses.items import kind_of

_PREFIXES: Mapping[str, str] = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "function_call_output": "fco",
    "custom_tool_call": "ctc",
    "custom_tool_call_output": "ctco",
}

_decode = msgspec.json.Decoder().decode


class ResponseRecord(msgspec.Struct, frozen=True):
    """One that is kept. `items` are what it was asked with, each with an id; where they were only
    added to a conversation there is no answer."""

    response: Node
    items: tuple[Node, ...]
    events: bytes

    @property
    def answered(self) -> bool:
        return self.response.get("id").given

    @property
    def output(self) -> tuple[Node, ...]:
        return tuple(self.response.get("output").items())

    def item(self, item_id: str) -> Json:
        """The item of that id, None where there is none."""
        nodes = (*self.output, *self.items)
        return next((n.value for n in nodes if n.get("id").value == item_id), None)


class ConversationInfo(msgspec.Struct, frozen=True):
    """What is kept of a conversation beside its items; `gone` are the ids of those taken out."""

    created_at: int
    metadata: Mapping[str, str] = {}
    gone: tuple[str, ...] = ()


_decode_info = msgspec.json.Decoder(ConversationInfo).decode


def write_record(
    hex_id: str,
    response: Json,
    *,
    items: Iterable[Node],
    previous: str | None,
    stream: bytes,
) -> bytes:
    """Three lines, of which the last is the stream: JSON has no line breaks of its own. Items that
    have no id get one of `made`."""
    exchange = {"response": response, "items": with_ids(hex_id, items)}
    return b"\n".join((encode_json(previous), encode_json(exchange), stream))


def read_record(data: bytes) -> ResponseRecord | None:
    """A record, None where something else is kept."""
    lines = data.split(b"\n", 2)
    if len(lines) == 1:
        return None
    exchange = Node(_decode(lines[1]))
    return ResponseRecord(exchange.get("response"), tuple(exchange.get("items").items()), lines[2])


def read_previous(data: bytes) -> str | None:
    """The name of the one before, or that for which another name stands."""
    end = data.find(b"\n")
    name: str | None = _decode(data if end < 0 else data[:end])
    return name


def write_alias(name: str) -> bytes:
    """Another name for a record."""
    return encode_json(name)


def encode_info(about: ConversationInfo) -> bytes:
    return encode_json(about)


def decode_info(data: bytes) -> ConversationInfo:
    return _decode_info(data)


def with_ids(hex_id: str, items: Iterable[Node]) -> list[Json]:
    """Items as the API lists them; those that have no id get one of `made`."""
    return [_with_id(item, f"{hex_id}in{i}") for i, item in enumerate(items)]


def _with_id(item: Node, id_suffix: str) -> Json:
    """An item as the API lists it: with an id, and with a message's text as a part."""
    kind = kind_of(item)
    prefix = _PREFIXES.get(kind, "item")
    defaults: dict[str, Json] = {"id": f"{prefix}_{id_suffix}", "type": kind, "status": "completed"}
    if kind == "message":
        defaults["content"] = _parts(item)
    fields = {key: value for key, value in item.object().items() if value is not None}
    return {
        **fields,
        **{key: value for key, value in defaults.items() if _needs_default(fields, key)},
    }


def _needs_default(fields: Mapping[str, Json], key: str) -> bool:
    return key not in fields or (key == "content" and isinstance(fields[key], str))


def _parts(item: Node) -> Json:
    text = item.get("content").value
    if item.get("role").value == "assistant":
        return [{"type": "output_text", "text": text, "annotations": []}]
    return [{"type": "input_text", "text": text}]
