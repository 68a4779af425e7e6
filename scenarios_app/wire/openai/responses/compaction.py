"""Compaction items of OpenAI's Responses: here they hold all of the conversation that they stand
for, so that nothing is lost to a step that looks for it."""

import base64
from collections.abc import Iterable, Iterator

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.base import encode_json
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.errors import WireError

_COMPACTION = "compaction"
_OURS = "mockllm."


def packed(items: Iterable[Json], *, item_id: str) -> Json:
    """One item for many."""
    content = base64.b64encode(encode_json({"items": list(items)})).decode()
    return {"type": _COMPACTION, "id": item_id, "encrypted_content": _OURS + content}


def unpacked(item: Node) -> Iterator[Node]:
    """The items that a compaction of this server holds, and any other item as it is."""
    if item.maybe("type") and item.get("type").value == _COMPACTION:
        content = item.need("encrypted_content")
        if content.text().startswith(_OURS):
            yield from (Node(held, item.place) for held in _held(content))
            return
    yield item


def _held(content: Node) -> list[Json]:
    """What a client sends back may have been spoiled, as any other part of its request."""
    try:
        data = base64.b64decode(content.text().removeprefix(_OURS), validate=True)
        items = read_body(data, Limits()).need("items").items()
        return [item.object() for item in items]
    except (ValueError, WireError):
        raise content.wrong("what a compaction of this server holds") from None
