"""OpenAI's conversations, which Responses can continue: their metadata and items."""

from itertools import chain

from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.base import (
    ArchiveWrite,
    Call,
    ComputeContext,
    ComputedResponse,
    Endpoint,
    Params,
    encode_json,
    make_resource_request,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.fields import (
    ListPage,
    read_metadata,
    read_page,
    render_deletion,
    render_list,
    render_page,
)
from scenarios_app.wire.openai.responses.items import read_items, unpack_item
from scenarios_app.wire.openai.responses.memory import (
    EXAMPLE_ITEM,
    HISTORY,
    conversation_name,
    info_name,
)
from scenarios_app.wire.openai.responses.record import (
    ConversationInfo,
    encode_items,
    with_ids,
    write_alias,
    write_record,
)
from scenarios_app.wire.openai.responses.request import ResponseFields, loaded_tools, merge_tools
from scenarios_app.wire.openai.upstream import PROVIDER

PATH = "/v1/conversations"

_CONVERSATION, _ITEM = "conversation_id", "item_id"
_ONE_PATH = f"{PATH}/{{{_CONVERSATION}}}"
_ALL_ITEMS = f"{_ONE_PATH}/items"
_ONE_ITEM = f"{_ALL_ITEMS}/{{{_ITEM}}}"


class ConversationFields(ResponseFields, frozen=True):
    """A request about a conversation.

    It loads history as a request for a Response does; items to add are its input. It may name an
    item or a page of items.
    """

    item_id: str = ""
    page: ListPage | None = None


def _read_request(
    call: Call,
    endpoint: Endpoint,
    params: Params,
    body: Node,
    *,
    page: ListPage | None = None,
    items: tuple[Node, ...] = (),
) -> CanonicalRequest:
    """Return a request about the conversation and the item that a path names, if any."""
    conversation, item_id = params.get(_CONVERSATION), params.get(_ITEM, "")
    own = ConversationFields(conversation=conversation, items=items, item_id=item_id, page=page)
    metadata = read_metadata(body)
    return make_resource_request(call, endpoint, own, provider=PROVIDER, metadata=metadata)


def _read_list(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request for a page of items."""
    return _read_request(call, endpoint, params, body, page=read_page(call))


def _read_update(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request to replace the metadata; raise the 400 if the body has none."""
    body.need("metadata")
    return _read_request(call, endpoint, params, body)


def _read_items(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request to add items; a new conversation may have none."""
    if endpoint.canonical != PATH:
        body.need("items")
    items = tuple(chain.from_iterable(map(unpack_item, body.items_at("items"))))
    # An invalid item is refused before it is added.
    read_items(items, {})
    merge_tools(loaded_tools(items))
    return _read_request(call, endpoint, params, body, items=items)


def _list_items(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return a page of all items of a conversation."""
    own: ConversationFields = request.own
    assert own.page is not None
    return encode_json(render_page(own.before, own.page))


def _retrieve_item(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return an item of a conversation; raise a 404 for an unknown one."""
    return encode_json(_find_item(request.own).value)


def _create_items(request: CanonicalRequest, context: ComputeContext) -> ComputedResponse:
    """Return the added items and the writes that store them."""
    items = [Node(item) for item in with_ids(context.request_id, request.own.items)]
    return ComputedResponse(encode_json(render_list(items)), _write_items(request, context))


def _delete(request: CanonicalRequest, context: ComputeContext) -> ComputedResponse:
    """Return the confirmation and the writes that delete a conversation; its items stay."""
    name = _conversation_id(request, context)
    writes = tuple(ArchiveWrite(each, None) for each in (info_name(name), conversation_name(name)))
    return ComputedResponse(render_deletion(name, "conversation.deleted"), writes)


def _retrieve(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return a conversation, a new one if it is unknown."""
    return _render_conversation(request, context, _current_info(request, context))


def _create_or_update(request: CanonicalRequest, context: ComputeContext) -> ComputedResponse:
    """Return a conversation with the request's metadata and items, and the writes that store it."""
    about = _current_info(request, context)
    return _store_info(request, context, replace(about, metadata=request.metadata))


def _delete_item(request: CanonicalRequest, context: ComputeContext) -> ComputedResponse:
    """Return the conversation, and the write that marks an item as deleted; raise the 404 if it is
    missing."""
    about, deleted = _current_info(request, context), _find_item(request.own)
    gone = (*about.gone, str(deleted.get("id").value))
    return _store_info(request, context, replace(about, gone=gone))


def _render_conversation(
    request: CanonicalRequest, context: ComputeContext, about: ConversationInfo
) -> bytes:
    """Return a conversation as the API shows it, without items."""
    return encode_json(
        {
            "id": _conversation_id(request, context),
            "object": "conversation",
            "created_at": about.created_at,
            "metadata": about.metadata,
        }
    )


def _store_info(
    request: CanonicalRequest, context: ComputeContext, about: ConversationInfo
) -> ComputedResponse:
    """Return the conversation as body, and the writes of its information and new items."""
    write = ArchiveWrite(info_name(_conversation_id(request, context)), encode_json(about))
    writes = (write, *_write_items(request, context))
    return ComputedResponse(_render_conversation(request, context, about), writes)


def _write_items(request: CanonicalRequest, context: ComputeContext) -> tuple[ArchiveWrite, ...]:
    """Return the writes of a request's items: a record without output, and an alias that makes it
    the conversation's latest; no writes without items."""
    own: ConversationFields = request.own
    if not own.items:
        return ()
    name = f"resp_{context.request_id}"
    encoded = encode_items(context.request_id, own.items)
    data = write_record({"output": []}, items=encoded, previous=own.previous, stream=b"")
    alias = ArchiveWrite(conversation_name(_conversation_id(request, context)), write_alias(name))
    return (ArchiveWrite(name, data), alias)


def _conversation_id(request: CanonicalRequest, context: ComputeContext) -> str:
    """Return the id in the path, or that of a new conversation."""
    own: ConversationFields = request.own
    return own.conversation or f"conv_{context.request_id}"


def _current_info(request: CanonicalRequest, context: ComputeContext) -> ConversationInfo:
    """Return the stored information, or that of a new conversation."""
    own: ConversationFields = request.own
    return own.about or ConversationInfo(context.created)


def _find_item(own: ConversationFields) -> Node:
    """Return the item that a path names, from the conversation or the example of OpenAI's API
    description; raise the 404 if it is neither."""
    for item in (*own.before, Node(EXAMPLE_ITEM)):
        if item.get("id").value == own.item_id:
            return item
    message = f"Item with id '{own.item_id}' not found in conversation '{own.conversation}'."
    raise WireError(404, message, code="item_not_found")


# The first matching pattern wins, so the longer ones come first.
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", _ONE_ITEM, _read_request, compute=_retrieve_item, archival=HISTORY),
    Endpoint("DELETE", _ONE_ITEM, _read_request, compute=_delete_item, archival=HISTORY),
    Endpoint("GET", _ALL_ITEMS, _read_list, compute=_list_items, archival=HISTORY),
    Endpoint("POST", _ALL_ITEMS, _read_items, compute=_create_items, archival=HISTORY),
    Endpoint("GET", _ONE_PATH, _read_request, compute=_retrieve, archival=HISTORY),
    Endpoint("POST", _ONE_PATH, _read_update, compute=_create_or_update, archival=HISTORY),
    Endpoint("DELETE", _ONE_PATH, _read_request, compute=_delete, archival=HISTORY),
    Endpoint("POST", PATH, _read_items, compute=_create_or_update, archival=HISTORY),
)
