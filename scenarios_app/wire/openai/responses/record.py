"""The stored form of a Response: the previous response's name, the exchange, and its stream."""

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
    """A stored exchange. `items` are the input items, each with an id; for items that were only
    added to a conversation, `response` has no id. `events` is its stream, empty without one.
    `previous` is the name of the record before."""

    previous: str | None
    response: Node
    items: tuple[Node, ...]
    events: bytes

    @property
    def output(self) -> tuple[Node, ...]:
        return tuple(self.response.get("output").items())

    def item(self, item_id: str) -> Json:
        """Return the output or input item with this id, or None."""
        nodes = (*self.output, *self.items)
        return next((n.value for n in nodes if n.get("id").value == item_id), None)


class ConversationInfo(msgspec.Struct, frozen=True):
    """A conversation's metadata and creation in Unix seconds; `gone` are ids of deleted items."""

    created_at: int
    metadata: Mapping[str, str] = {}
    gone: tuple[str, ...] = ()


decode_info = msgspec.json.Decoder(ConversationInfo).decode


def write_record(response: Json, *, items: bytes, previous: str | None, stream: bytes) -> bytes:
    """Encode a record as the previous response's name, the exchange and the stream, joined by line
    breaks, which this JSON does not contain. `items` are the result of `encode_items`."""
    exchange = {"response": response, "items": msgspec.Raw(items)}
    return b"\n".join((encode_json(previous), encode_json(exchange), stream))


def write_without_id(record: ResponseRecord) -> bytes:
    """Encode the record of a deleted response, whose items stay in a conversation."""
    response: Json = {"output": record.response.get("output").value}
    items = encode_json([item.value for item in record.items])
    return write_record(response, items=items, previous=record.previous, stream=b"")


def read_record(data: bytes) -> ResponseRecord | None:
    """Return a record; None if the data is an alias or no response: a file or a batch."""
    lines = data.split(b"\n", 2)
    if len(lines) == 1 or data.startswith(b"{"):
        return None
    exchange = Node(_decode(lines[1]))
    items = tuple(exchange.get("items").items())
    return ResponseRecord(read_previous(data), exchange.get("response"), items, lines[2])


def read_previous(data: bytes) -> str | None:
    """Return the name of a record's previous response, or the target of an alias; None if there is
    none."""
    end = data.find(b"\n")
    name = _decode(data if end < 0 else data[:end])
    return name if isinstance(name, str) else None


def write_alias(name: str) -> bytes:
    """Return the stored form of an alias: the name of the record that it stands for."""
    return encode_json(name)


def encode_items(hex_id: str, items: Iterable[Node]) -> bytes:
    """Return the JSON of input items `with_ids`."""
    return encode_json(with_ids(hex_id, items))


def with_ids(hex_id: str, items: Iterable[Node]) -> list[Json]:
    """Return items as the API lists them; those without an id get one made of `hex_id`."""
    return [_with_id(item, f"{hex_id}in{i}") for i, item in enumerate(items)]


def _with_id(item: Node, id_suffix: str) -> Json:
    """Return an item with an id, a type and a status, and a message's text as a part."""
    kind = kind_of(item)
    fields: dict[str, Json] = {k: v for k, v in item.object().items() if v is not None}
    fields.setdefault("id", f"{_PREFIXES.get(kind, 'item')}_{id_suffix}")
    fields.setdefault("type", kind)
    fields.setdefault("status", "completed")
    text = fields.get("content")
    if kind == "message" and isinstance(text, str):
        is_answer = fields.get("role") == "assistant"
        part: dict[str, Json] = {"type": "output_text" if is_answer else "input_text", "text": text}
        fields["content"] = [part | {"annotations": []} if is_answer else part]
    return fields
