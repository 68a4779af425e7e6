"""Loads the history that a request for a Response continues, and records its response.

The history is a previous response, a conversation or single items. Every session also has an
example response and item.
"""

import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from typing import Any

from msgspec.structs import replace

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    CanonicalResponse,
    Choice,
    Json,
    Message,
    Usage,
)
from scenarios_app.engine.parts import (
    Finish,
    PartDelta,
    PartEnd,
    PartStart,
    StreamEvent,
    TextPart,
)
from scenarios_app.wire.base import ArchivedValues, ArchiveHooks, ArchiveWrite
from scenarios_app.wire.body import Node
from scenarios_app.wire.decoded import parse_events, parse_json
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.responses.answer import response_body
from scenarios_app.wire.openai.responses.items import REFERENCE, kind_of, read_items
from scenarios_app.wire.openai.responses.record import (
    ResponseRecord,
    decode_info,
    encode_items,
    read_previous,
    read_record,
    write_alias,
    write_record,
)
from scenarios_app.wire.openai.responses.request import (
    ResponseFields,
    build_conversation,
    loaded_tools,
    merge_tools,
)
from scenarios_app.wire.openai.responses.stream import ResponseEncoder
from scenarios_app.wire.openai.upstream import PROVIDER

# Prefixes of archive names that are not those of responses.
_CONVERSATION, _INFO = "conversation ", "about "
_ITEM = re.compile(r"[a-z]+_([0-9a-f]{32})")
EXAMPLE_IDS = ("resp_677efb5139a88190b512bc3fef8e535d", "resp_123", "response_id")

_QUESTION = "Is anything kept under this id?"
_ANSWER = "Only this: it is an example of OpenAI's API description."
_CREATED = 1_735_689_600

EXAMPLE_ITEM: Json = {
    "id": "msg_abc",
    "type": "message",
    "status": "completed",
    "role": "user",
    "content": [{"type": "input_text", "text": _QUESTION}],
}


def references(request: CanonicalRequest, archived: ArchivedValues) -> tuple[str, ...]:
    """Return the archive names that a request needs, as far as they are known from `archived`: of
    its conversation, the earlier responses, and the responses of referenced items."""
    own: ResponseFields = request.own
    about = () if own.conversation is None else (info_name(own.conversation),)
    referenced = [item.need("id").text() for item in own.items if kind_of(item) == REFERENCE]
    owners = [f"resp_{owner[1]}" for item_id in referenced if (owner := _ITEM.match(item_id))]
    return (*about, *_earlier_names(own, archived), *owners)


def with_history(request: CanonicalRequest, archived: ArchivedValues) -> CanonicalRequest:
    """Return the request with its conversation and its references resolved; raise the 400 for a
    missing earlier response, the 404 for a missing item."""
    own: ResponseFields = request.own
    names = [name for name in _earlier_names(own, archived) if not name.startswith(_CONVERSATION)]
    items = tuple(_resolve_item(item, archived) for item in own.items)
    data = archived.get(info_name(own.conversation)) if own.conversation is not None else None
    about = None if data is None else decode_info(data)
    gone = about.gone if about else ()
    called: dict[str, str] = {}
    before: list[Node] = []
    messages: list[Message] = []
    for name in reversed(names):
        record = find_record(name, archived)
        is_named = name == own.echoed.get("previous_response_id")
        if record is None or (is_named and record.response.maybe("id") is None):
            raise WireError(
                400,
                f"Previous response with id '{name}' not found.",
                param="previous_response_id",
                code="previous_response_not_found",
            )
        # Read separately, so that consecutive responses stay separate messages.
        for items_or_output in (record.items, record.output):
            kept_items = [item for item in items_or_output if item.get("id").value not in gone]
            before += kept_items
            messages += read_items(kept_items, called)
    previous = names[0] if names else None
    history = replace(own, before=tuple(before), items=items, previous=previous, about=about)
    if not archived:
        return replace(request, own=history)
    conversation = build_conversation(own.echoed, tuple(messages), items, called)
    tools = merge_tools(request.tools, loaded_tools((*before, *items)))
    return replace(request, messages=conversation, tools=tools, own=history)


def record_response(
    request: CanonicalRequest, response: CanonicalResponse, stream: bytes
) -> tuple[ArchiveWrite, ...]:
    """Return the writes for a response, none if it is not to be stored: the record under its id,
    also a scripted one, and that id as the conversation's latest."""
    own: ResponseFields = request.own
    if own.echoed.get("store") is False:
        return ()
    return _record_writes(own, response_body(request, response), hex_id=response.id, stream=stream)


def record_replayed(request: CanonicalRequest, data: bytes) -> tuple[ArchiveWrite, ...]:
    """Return the writes for a replayed recording, under the provider's id; none if it has no id, is
    not to be stored, or contains half of a surrogate pair."""
    own: ResponseFields = request.own
    body = _decode_response(data)
    name = body.get("id") if isinstance(body, dict) else None
    if own.echoed.get("store") is False or not isinstance(name, str):
        return ()
    try:
        hex_id = sha256(name.encode()).hexdigest()[:32]
        return _record_writes(own, body, hex_id=hex_id, stream=data if request.stream else b"")
    except UnicodeEncodeError:
        return ()


def _decode_response(data: bytes) -> Any:
    """Return the response in a recorded body: a whole one, or that of a stream's last event. None
    without one."""
    if data.lstrip().startswith(b"{"):
        return parse_json(data)
    responses = [event.get("response") for event in parse_events(data)]
    return next(filter(None, reversed(responses)), None)


def _record_writes(
    own: ResponseFields, body: dict[str, Json], *, hex_id: str, stream: bytes
) -> tuple[ArchiveWrite, ...]:
    """Return the writes that store a response under `resp_{hex_id}` and under its id, and as the
    latest one of its conversation."""
    name = str(body["id"])
    items = encode_items(hex_id, own.items)
    data = write_record(body, items=items, previous=own.previous, stream=stream)
    stored = [ArchiveWrite(each, data) for each in dict.fromkeys((f"resp_{hex_id}", name))]
    if own.conversation is not None:
        stored.append(ArchiveWrite(conversation_name(own.conversation), write_alias(name)))
    return tuple(stored)


HISTORY = ArchiveHooks(references, with_history)
RECORDING_HISTORY = ArchiveHooks(
    references, with_history, record=record_response, record_body=record_replayed
)


def conversation_name(conversation: str) -> str:
    """Return the archive name of the alias of a conversation's latest response."""
    return f"{_CONVERSATION}{conversation}"


def info_name(conversation: str) -> str:
    """Return the archive name of a conversation's ConversationInfo."""
    return f"{_INFO}{conversation}"


def find_record(name: str, archived: ArchivedValues) -> ResponseRecord | None:
    """Return the record of a response id, loaded or an example's; None without one."""
    data = _find_archived(name, archived)
    return read_record(data) if data is not None else None


def _earlier_names(own: ResponseFields, archived: ArchivedValues) -> Iterator[str]:
    """Yield the names of the responses before a request, the latest first. A conversation's own
    name comes before those in it; it wins over `previous_response_id`."""
    name = own.echoed.get("previous_response_id")
    if own.conversation is not None:
        name = conversation_name(own.conversation)
    # A scripted id may come again in the history of its response.
    seen: set[str] = set()
    while isinstance(name, str) and name not in seen:
        yield name
        seen.add(name)
        data = _find_archived(name, archived)
        name = None if data is None else read_previous(data)


def _find_archived(name: str, archived: ArchivedValues) -> bytes | None:
    """Return the loaded bytes of a name, or an example's record; None without one."""
    data = archived.get(name)
    return example_record(name) if data is None and name in EXAMPLE_IDS else data


def _resolve_item(item: Node, archived: ArchivedValues) -> Node:
    """Return the item that a reference names, and any other item unchanged; raise the 404 if the
    named one is missing."""
    if kind_of(item) != REFERENCE:
        return item
    item_id = item.need("id").text()
    owner = _ITEM.match(item_id)
    record = find_record(f"resp_{owner[1]}", archived) if owner else None
    value = record.item(item_id) if record else None
    if value is None:
        raise WireError(
            404,
            f"Item with id '{item_id}' not found. Items are kept with the response that they are "
            "of, unless 'store' is false.",
            param="input",
            code="item_not_found",
        )
    return Node(value, item.place)


@cache
def example_record(name: str) -> bytes:
    """Return the encoded record of an example response, which can be cancelled and streamed."""
    path = "/v1/responses"
    request = CanonicalRequest(
        PROVIDER, path, path, "gpt-4o", stream=True, own=ResponseFields({"background": True})
    )
    part = TextPart(_ANSWER)
    response = CanonicalResponse(
        id=name.removeprefix("resp_"),
        created=_CREATED,
        model=request.model,
        choices=(Choice((part,), "stop"),),
        usage=Usage(input_tokens=8, output_tokens=15),
        metadata={"id": name},
    )
    encoder = ResponseEncoder(request, response)
    events: tuple[StreamEvent, ...] = (
        PartStart(0, 0, part),
        PartDelta(0, 0, part, _ANSWER),
        PartEnd(0, 0, part),
        Finish(0, "stop"),
    )
    stream = [encoder.opening(), *map(encoder.event, events), encoder.closing()]
    question = Node({"role": "user", "content": _QUESTION})
    return write_record(
        response_body(request, response),
        items=encode_items(response.id, (question,)),
        previous=None,
        stream=b"".join(stream),
    )
