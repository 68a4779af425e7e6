"""The wire of OpenAI's Responses: create, retrieve (whole or streamed), cancel and delete."""

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    CanonicalResponse,
    Choice,
    ErrorAnswer,
    Usage,
)
from scenarios_app.engine.producing.usage import count_input
from scenarios_app.wire.base import (
    ArchivedValues,
    ArchiveHooks,
    ArchiveWrite,
    Call,
    ComputeContext,
    ComputedResponse,
    Endpoint,
    Params,
    Wire,
    encode_json,
    encode_line,
    make_resource_request,
    named_sse,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.dialects.rows import OWNED_PREFIXES, PATH_PREFIXES
from scenarios_app.wire.openai.fields import (
    ListPage,
    read_integer,
    read_page,
    render_deletion,
    render_page,
)
from scenarios_app.wire.openai.responses import conversations
from scenarios_app.wire.openai.responses.answer import response_body, usage_fields
from scenarios_app.wire.openai.responses.decode import DECODER
from scenarios_app.wire.openai.responses.hosted import HOSTED_TOOLS
from scenarios_app.wire.openai.responses.items import pack_items
from scenarios_app.wire.openai.responses.memory import (
    HISTORY,
    RECORDING_HISTORY,
    find_record,
    record_response,
)
from scenarios_app.wire.openai.responses.record import ResponseRecord, write_without_id
from scenarios_app.wire.openai.responses.request import ResponseFields, read_response
from scenarios_app.wire.openai.responses.socket import EVENT_END, ResponsesSocket
from scenarios_app.wire.openai.responses.stream import ResponseEncoder
from scenarios_app.wire.openai.sample import sample_responses_call
from scenarios_app.wire.openai.shared import (
    AZURE,
    AZURE_PREFIXES,
    OpenAIWire,
    stream_error_code,
    with_prefixes,
)
from scenarios_app.wire.openai.upstream import PROVIDER
from scenarios_app.wire.samples import SdkSetup
from scenarios_app.wire.sockets import SOCKET_KEY

_PATH = "/v1/responses"
_PATH_STARTS = tuple(
    f"{start}{what}/"
    for start in ("/v1/", f"{AZURE}v1/", AZURE, *PATH_PREFIXES)
    for what in ("responses", "conversations")
)
_RESPONSE = "response_id"
_ONE_PATH = f"{_PATH}/{{{_RESPONSE}}}"


class StoredFields(msgspec.Struct, frozen=True):
    """A request about a stored response: its name, the number of the event to stream after (-1 for
    all events), the page of its input, and its record, once loaded."""

    name: str
    starting_after: int
    page: ListPage
    record: ResponseRecord | None = None


def _read(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request about a stored response; its options are in the query."""
    after = read_integer(Node(dict(call.query)), "starting_after", default=-1)
    own = StoredFields(params[_RESPONSE], after, read_page(call))
    return make_resource_request(call, endpoint, own, provider=PROVIDER)


def _read_retrieval(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request for a stored response, as a stream if the query says so."""
    request = _read(call, endpoint, params, body)
    return replace(request, stream=call.query.get("stream", "").lower() == "true")


def _load_record(request: CanonicalRequest, archived: ArchivedValues) -> CanonicalRequest:
    """Return the request with its record, or unchanged if no response is stored under the name."""
    own: StoredFields = request.own
    record = find_record(own.name, archived)
    if record is None or record.response.maybe("id") is None:
        return request
    return replace(request, own=replace(own, record=record))


def _require_record(own: StoredFields) -> ResponseRecord:
    """Return the record of a stored response; raise the 404 if it is missing."""
    if own.record is None:
        message = f"Response with id '{own.name}' not found."
        raise WireError(404, message, code="response_not_found")
    return own.record


def _list_input(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return a page of a stored response's input items; raise the 404 without the response."""
    return encode_json(render_page(_require_record(request.own).items, request.own.page))


def _cancel(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return a background response unchanged; raise the 400 for any other response, the 404 without
    one."""
    response = _require_record(request.own).response
    if response.get("background").value is True:
        return encode_json(response.value)
    raise WireError(400, "Cannot cancel a synchronous response.")


def _delete(request: CanonicalRequest, context: ComputeContext) -> ComputedResponse:
    """Return the confirmation and the write that deletes a response, but not from its conversation;
    raise the 404 without one."""
    own: StoredFields = request.own
    record = _require_record(own)
    data = write_without_id(record) if record.response.maybe("conversation") else None
    return ComputedResponse(render_deletion(own.name, "response"), (ArchiveWrite(own.name, data),))


def _retrieve(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return a stored response, or its stream after an event; raise the 404 without the response,
    the 400 without a stream."""
    own: StoredFields = request.own
    record = _require_record(own)
    if not request.stream:
        return encode_json(record.response.value)
    if not record.events:
        raise WireError(
            400,
            "This response was not created with 'stream: true', so there is no stream of it.",
            param="stream",
        )
    events = EVENT_END.split(record.events)[own.starting_after + 1 : -1]
    return b"".join(event + b"\n\n" for event in events)


_LOAD = ArchiveHooks(lambda request, archived: (request.own.name,), _load_record)

# The first matching pattern wins, so the longer ones come first.
_STORED_ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", f"{_ONE_PATH}/input_items", _read, compute=_list_input, archival=_LOAD),
    Endpoint("POST", f"{_ONE_PATH}/cancel", _read, compute=_cancel, archival=_LOAD, bodiless=True),
    Endpoint("GET", _ONE_PATH, _read_retrieval, compute=_retrieve, archival=_LOAD),
    Endpoint("DELETE", _ONE_PATH, _read, compute=_delete, archival=_LOAD),
)


def _read_create(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request for a Response; over a WebSocket `"generate": false` makes it computed."""
    request = read_response(call, endpoint, params, body)
    warms_up = SOCKET_KEY in call.headers and body.get("generate").value is False
    return replace(request, computed=True) if warms_up else request


def _warm_up(request: CanonicalRequest, context: ComputeContext) -> ComputedResponse:
    """Return a stream of a response without output, and the writes by which later requests can
    continue it."""
    usage = Usage(count_input(request), 0)
    choices = (Choice((), "stop"),)
    response = CanonicalResponse(context.request_id, context.created, request.model, choices, usage)
    encoder = ResponseEncoder(request, response)
    body = encoder.opening() + encoder.closing()
    return ComputedResponse(body, record_response(request, response, b""))


def _count(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return the number of input tokens."""
    return encode_json({"object": "response.input_tokens", "input_tokens": count_input(request)})


def _compact(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return the whole conversation as one item, with which the next request can begin."""
    own: ResponseFields = request.own
    items = [item.value for item in (*own.before, *own.items)]
    item = pack_items(items, item_id=f"cmp_{context.request_id}")
    return encode_json(
        {
            "id": f"resp_{context.request_id}",
            "object": "response.compaction",
            "created_at": context.created,
            "output": [item],
            "usage": usage_fields(Usage(count_input(request), 1)),
        }
    )


_ENDPOINTS = (
    Endpoint(
        "POST",
        _PATH,
        _read_create,
        render=lambda request, response: encode_json(response_body(request, response)),
        encode=ResponseEncoder,
        compute=_warm_up,
        decoder=DECODER,
        archival=RECORDING_HISTORY,
        custom_tools=True,
        sends=HOSTED_TOOLS | {"citations"},
        socket=ResponsesSocket,
    ),
    Endpoint("POST", f"{_PATH}/input_tokens", read_response, compute=_count, archival=HISTORY),
    Endpoint("POST", f"{_PATH}/compact", read_response, compute=_compact, archival=HISTORY),
    *_STORED_ENDPOINTS,
    *conversations.ENDPOINTS,
)


class OpenAIResponses(OpenAIWire):
    """OpenAI's Responses API, with its conversations, token counts and compaction."""

    name = "responses"
    title = "OpenAI Responses"
    endpoints: tuple[Endpoint, ...] = (
        *_ENDPOINTS,
        *with_prefixes(_ENDPOINTS, AZURE_PREFIXES),
        *with_prefixes(_ENDPOINTS[:1], PATH_PREFIXES),
    )
    prefixes = ("/v1/", AZURE, *OWNED_PREFIXES)
    sequential = True
    malformed_body = b'{"id":"resp_broken","object":"response","output":[{"type":"mess'
    malformed_event = named_sse(
        "response.output_text.delta", b'{"type":"response.output_text.delta","sequence_num'
    )
    sample = staticmethod(sample_responses_call)

    def sdk_setups(self, origin: str) -> tuple[SdkSetup, ...]:
        """Return nothing: the chat wire lists OpenAI's clients."""
        return ()

    def claims(self, call: Call) -> bool:
        """Return True for a path of responses or conversations, also on Azure or in a dialect."""
        return f"{call.path}/".startswith(_PATH_STARTS)

    def stream_error(self, error: ErrorAnswer, *, events_sent: int) -> bytes:
        """Return an error event, which is flat and numbered as every event is."""
        fields = {
            "type": "error",
            "sequence_number": events_sent,
            "code": stream_error_code(error),
            "message": error.message,
            "param": error.param,
        }
        return named_sse("error", encode_line(fields))


WIRE: Wire = OpenAIResponses()
