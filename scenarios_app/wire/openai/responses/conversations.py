"""OpenAI's conversations, which requests for Responses can go on with: what is known of one, and
its items, listed, added and taken out."""

from collections.abc import Mapping
from dataclasses import replace

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.wire.base import Call, Facts, Kept, Route, encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.dialect import PROVIDER
from scenarios_app.wire.openai.fields import read_metadata
from scenarios_app.wire.openai.pages import list_of, page_of, read_page
from scenarios_app.wire.openai.responses.example import ITEM as EXAMPLE
from scenarios_app.wire.openai.responses.items import read_items
from scenarios_app.wire.openai.responses.memory import (
    ABOUT,
    BEFORE,
    ITEMS,
    PREVIOUS,
    about_name,
    conversation_name,
)
from scenarios_app.wire.openai.responses.record import (
    About,
    read_about,
    with_ids,
    write_about,
    write_alias,
    write_record,
)

PATH = "/v1/conversations"

_CONVERSATION, _ITEM = "conversation_id", "item_id"
_ONE = f"{PATH}/{{{_CONVERSATION}}}"
_ALL_ITEMS = f"{_ONE}/items"
_ONE_ITEM = f"{_ALL_ITEMS}/{{{_ITEM}}}"

# The first pattern that fits a path has it, so the longer ones stand first.
ROUTES: tuple[Route, ...] = (
    Route("GET", _ONE_ITEM, "retrieve_item", "compute"),
    Route("DELETE", _ONE_ITEM, "delete_item", "compute"),
    Route("GET", _ALL_ITEMS, "list_items", "compute"),
    Route("POST", _ALL_ITEMS, "create_items", "compute"),
    Route("GET", _ONE, "retrieve_conversation", "compute"),
    Route("POST", _ONE, "update_conversation", "compute"),
    Route("DELETE", _ONE, "delete_conversation", "compute"),
    Route("POST", PATH, "create_conversation", "compute"),
)
OPERATIONS = frozenset(route.operation for route in ROUTES)


def read_conversation(
    call: Call, route: Route, params: Mapping[str, str], body: Node
) -> CanonicalRequest:
    """A request about a conversation; items to add are its input."""
    extra: dict[str, Json] = {}
    if _CONVERSATION in params:
        extra["conversation"] = params[_CONVERSATION]
    match route.operation:
        case "retrieve_item" | "delete_item":
            extra[_ITEM] = params[_ITEM]
        case "list_items":
            extra |= read_page(call)
        case "create_items":
            extra["input"] = _items(body.need("items"))
        case "update_conversation":
            body.need("metadata")
        case "create_conversation" if items := body.maybe("items"):
            extra["input"] = _items(items)
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=route.canonical,
        model="",
        headers=call.headers,
        metadata=read_metadata(body),
        extra=extra,
    )


def answer_conversation(route: Route, request: CanonicalRequest, facts: Facts) -> bytes:
    """The answer of one of `ROUTES`."""
    match route.operation:
        case "retrieve_item":
            return encode_json(_item(request).value)
        case "list_items":
            extra = Node(dict(request.extra))
            return encode_json(page_of(extra.get(BEFORE).items(), extra))
        case "create_items":
            return encode_json(list_of(_added(request, facts)))
        case "delete_conversation":
            name = _name(request, facts)
            return encode_json({"id": name, "object": "conversation.deleted", "deleted": True})
        case _:
            about = _about(route, request, facts)
            return encode_json(
                {
                    "id": _name(request, facts),
                    "object": "conversation",
                    "created_at": about.created_at,
                    "metadata": about.metadata,
                }
            )


def kept_conversation(route: Route, request: CanonicalRequest, facts: Facts) -> tuple[Kept, ...]:
    """What is kept once one of `ROUTES` has answered."""
    name = _name(request, facts)
    match route.operation:
        case "delete_conversation":
            return (Kept(about_name(name), None), Kept(conversation_name(name), None))
        case "create_items":
            return _kept_items(request, facts)
        case "create_conversation" | "update_conversation" | "delete_item":
            about = write_about(_about(route, request, facts))
            return (Kept(about_name(name), about), *_kept_items(request, facts))
        case _:
            return ()


def _name(request: CanonicalRequest, facts: Facts) -> str:
    return str(request.extra.get("conversation", f"conv_{facts.request_id}"))


def _about(route: Route, request: CanonicalRequest, facts: Facts) -> About:
    """What is known of a conversation once a route has answered. One that nobody has told of is as
    if it were new."""
    about = read_about(request.extra.get(ABOUT)) or About(facts.created)
    match route.operation:
        case "create_conversation" | "update_conversation":
            return replace(about, metadata=request.metadata)
        case "delete_item":
            return replace(about, gone=(*about.gone, str(_item(request).get("id").value)))
        case _:
            return about


def _added(request: CanonicalRequest, facts: Facts) -> list[Node]:
    return [Node(i) for i in with_ids(facts.request_id, Node(request.extra.get(ITEMS)).items())]


def _kept_items(request: CanonicalRequest, facts: Facts) -> tuple[Kept, ...]:
    """Items are kept as an answer is that has no words of its own."""
    items, previous = _added(request, facts), request.extra.get(PREVIOUS)
    if not items:
        return ()
    name = f"resp_{facts.request_id}"
    data = write_record(
        facts.request_id,
        {"output": []},
        items=items,
        previous=previous if isinstance(previous, str) else None,
        stream=b"",
    )
    alias = Kept(conversation_name(_name(request, facts)), write_alias(name))
    return (Kept(name, data), alias)


def _item(request: CanonicalRequest) -> Node:
    """The item that a path names."""
    item_id = request.extra[_ITEM]
    said = Node(request.extra.get(BEFORE)).items()
    for item in (*said, Node(EXAMPLE)):
        if item.get("id").value == item_id:
            return item
    raise WireError(
        404,
        f"Item with id '{item_id}' not found in conversation '{request.extra['conversation']}'.",
        code="item_not_found",
    )


def _items(node: Node) -> Json:
    """Items as they are given, once they are seen to be some."""
    read_items(node.items(), {})
    return node.value
