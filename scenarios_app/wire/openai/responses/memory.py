"""How a request takes up what its session keeps of OpenAI's Responses: the answer before it, a
conversation, single items; and what is kept of its own answer."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Json, Message
from scenarios_app.wire.base import Kept
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.responses.answer import response_body
from scenarios_app.wire.openai.responses.example import IDS, example
from scenarios_app.wire.openai.responses.items import REFERENCE, kind_of, read_items
from scenarios_app.wire.openai.responses.record import (
    Record,
    decode_about,
    previous_of,
    read_about,
    read_record,
    write_alias,
    write_record,
)
from scenarios_app.wire.openai.responses.request import conversation_of, read_input

KeptData: TypeAlias = Mapping[str, bytes | None]

# What a request carries once it has been told: items of the answers before it, its own, and the
# name of the latest of those answers; and what is known of the conversation that it names.
BEFORE, ITEMS, PREVIOUS, ABOUT = "before", "items", "previous", "about"
# Stand before the id of a conversation, under which there is never a record.
_CONVERSATION, _ABOUT = "conversation ", "about "
_ITEM = re.compile(r"[a-z]+_([0-9a-f]{32})")


def names_of(request: CanonicalRequest, kept: KeptData) -> Iterator[str]:
    """The names that a request leads to: of the answers before it, and of those that the items are
    from which it refers to."""
    if "conversation" in request.extra:
        yield about_name(str(request.extra["conversation"]))
    yield from _before(request.extra, kept)
    for item in read_input(request.extra):
        if kind_of(item) == REFERENCE and (owner := _ITEM.match(item.need("id").text())):
            yield f"resp_{owner[1]}"


def with_history(request: CanonicalRequest, kept: KeptData) -> CanonicalRequest:
    """The request with the conversation that it goes on with, and with its references resolved."""
    extra = request.extra
    names = [name for name in _before(extra, kept) if not name.startswith(_CONVERSATION)]
    items = [_resolved(item, kept) for item in read_input(extra)]
    known = _about(extra, kept)
    about = read_about(known)
    gone = about.gone if about else ()
    called: dict[str, str] = {}
    before: list[Node] = []
    messages: list[Message] = []
    for name in reversed(names):
        record = found(name, kept)
        if record is None:
            raise _lost(name)
        # Apart from each other: where one answer ends and the next begins is known here.
        for items_or_output in (record.items, record.output):
            said = [item for item in items_or_output if item.get("id").value not in gone]
            before += said
            messages += read_items(said, called)
    return replace(
        request,
        messages=conversation_of(extra, tuple(messages), items, called)
        if kept
        else request.messages,
        extra={
            **extra,
            BEFORE: [item.value for item in before],
            ITEMS: [item.value for item in items],
            PREVIOUS: names[0] if names else None,
            ABOUT: known,
        },
    )


def kept_of(
    request: CanonicalRequest, response: CanonicalResponse, stream: bytes
) -> tuple[Kept, ...]:
    """What is kept of an answer: the record under its id, also where a script made that up, and
    that id under the conversation's name."""
    extra = request.extra
    if extra.get("store") is False:
        return ()
    body, previous = response_body(request, response), extra.get(PREVIOUS)
    name = str(body["id"])
    data = write_record(
        response.id,
        body,
        items=Node(extra.get(ITEMS)).items(),
        previous=previous if isinstance(previous, str) else None,
        stream=stream,
    )
    kept = [Kept(each, data) for each in dict.fromkeys((f"resp_{response.id}", name))]
    if "conversation" in extra:
        kept.append(Kept(conversation_name(str(extra["conversation"])), write_alias(name)))
    return tuple(kept)


def conversation_name(conversation: str) -> str:
    """The name under which the latest of a conversation is kept."""
    return f"{_CONVERSATION}{conversation}"


def about_name(conversation: str) -> str:
    """The name under which it is kept what is known of a conversation."""
    return f"{_ABOUT}{conversation}"


def found(name: str, kept: KeptData) -> Record | None:
    """What is kept under the id of a response."""
    data = _data(name, kept)
    return read_record(data) if data is not None else None


def _before(extra: Mapping[str, Json], kept: KeptData) -> Iterator[str]:
    """The names of the answers before a request, the latest first; a conversation's own name
    comes before those in it. Where both are given, the conversation is what goes on."""
    name = extra.get("previous_response_id")
    if "conversation" in extra:
        name = conversation_name(str(extra["conversation"]))
    while isinstance(name, str):
        yield name
        data = _data(name, kept)
        name = None if data is None else previous_of(data)


def _about(extra: Mapping[str, Json], kept: KeptData) -> Json:
    data = kept.get(about_name(str(extra.get("conversation"))))
    return None if data is None else decode_about(data)


def _data(name: str, kept: KeptData) -> bytes | None:
    data = kept.get(name)
    return example(name) if data is None and name in IDS else data


def _resolved(item: Node, kept: KeptData) -> Node:
    """The item that a reference means, and any other as it is."""
    if kind_of(item) != REFERENCE:
        return item
    item_id = item.need("id").text()
    owner = _ITEM.match(item_id)
    record = found(f"resp_{owner[1]}", kept) if owner else None
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


def _lost(name: str) -> WireError:
    return WireError(
        400,
        f"Previous response with id '{name}' not found.",
        param="previous_response_id",
        code="previous_response_not_found",
    )
