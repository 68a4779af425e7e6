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
    """A stored exchange. `items` are the input items, each with an id; items that were only added
    to a conversation have no response."""

    response: Node
    items: tuple[Node, ...]
    events: bytes

    @property
    def output(self) -> tuple[Node, ...]:
        return tuple(self.response.get("output").items())

    def item(self, item_id: str) -> Json:
        """Return the item with this id, or None."""
        nodes = (*self.output, *self.items)
        return next((n.value for n in nodes if n.get("id").value == item_id), None)


class ConversationInfo(msgspec.Struct, frozen=True):
    """The metadata of a conversation; `gone` are the ids of its deleted items."""

    created_at: int
    metadata: Mapping[str, str] = {}
    gone: tuple[str, ...] = ()


decode_info = msgspec.json.Decoder(ConversationInfo).decode


def write_record(
    response: Json,
    *,
    items: bytes,
    previous: str | None,
    stream: bytes,
) -> bytes:
    """Encode a record as the previous response's name, the exchange and the stream, joined by line
    breaks, which JSON does not contain. `items` are the result of `encode_items`."""
    exchange = {"response": response, "items": msgspec.Raw(items)}
    return b"\n".join((encode_json(previous), encode_json(exchange), stream))


def read_record(data: bytes) -> ResponseRecord | None:
    """Return a record, or None if the data is an alias."""
    lines = data.split(b"\n", 2)
    if len(lines) == 1:
        return None
    exchange = Node(_decode(lines[1]))
    return ResponseRecord(exchange.get("response"), tuple(exchange.get("items").items()), lines[2])


def read_previous(data: bytes) -> str | None:
    """Return the name of the previous response, or the target of an alias. None if there is
    none."""
    end = data.find(b"\n")
    name: str | None = _decode(data if end < 0 else data[:end])
    return name


def write_alias(name: str) -> bytes:
    """Return the stored form of an alias: the name of the record that it stands for."""
    return encode_json(name)


def encode_items(hex_id: str, items: Iterable[Node]) -> bytes:
    """Encode input items; those without an id get one made of `hex_id`."""
    return encode_json(with_ids(hex_id, items))


def with_ids(hex_id: str, items: Iterable[Node]) -> list[Json]:
    """Return items as the API lists them; those without an id get one made of `hex_id`."""
    return [_with_id(item, f"{hex_id}in{i}") for i, item in enumerate(items)]


def _with_id(item: Node, id_suffix: str) -> Json:
    """Return an item with an id, and a message's text as a part."""
    kind = kind_of(item)
    fields: dict[str, Json] = {k: v for k, v in item.object().items() if v is not None}
    fields.setdefault("id", f"{_PREFIXES.get(kind, 'item')}_{id_suffix}")
    fields.setdefault("type", kind)
    fields.setdefault("status", "completed")
    text = fields.get("content")
    if kind == "message" and (text is None or isinstance(text, str)):
        is_answer = fields.get("role") == "assistant"
        part: dict[str, Json] = {"type": "output_text" if is_answer else "input_text", "text": text}
        fields["content"] = [part | {"annotations": []} if is_answer else part]
    return fields
