"""The interface of a wire (one provider's HTTP API) and the JSON and SSE encoding they share."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Protocol, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, ErrorAnswer, Message
from scenarios_app.engine.parts import MessagePart, StreamEvent, ToolResultPart
from scenarios_app.wire.body import Node
from scenarios_app.wire.decoded import ResponseDecoder
from scenarios_app.wire.samples import SampleCall, SampleRequest, SdkSetup
from scenarios_app.wire.sockets import SocketFactory, SocketLink
from scenarios_app.wire.upstream import Upstream

Headers: TypeAlias = tuple[tuple[str, str], ...]

encode_json = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Call(msgspec.Struct, frozen=True):
    """One HTTP request.

    `path` is raw (percent-encoded, without query). Header names are lower-case; repeated headers
    are joined by a comma. `raw_query` is the query as it was sent, `scheme` the scheme of the
    client's base URL as far as it is known. `session` is set only for calls that this process makes
    itself: clients name their session in a header or by their key. `link` is set for calls over a
    WebSocket. `siblings` is the number of other open connections whose latest request was of the
    same session and path; 1 where the transport does not know them, since there may be some.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    raw_query: str = ""
    scheme: str = "http"
    session: str = ""
    link: SocketLink | None = None
    siblings: int = 0


class SubResponse(msgspec.Struct, frozen=True):
    """The complete response to one sub-request; `body` is empty if the connection was cut."""

    status: int
    body: bytes


class ComputeContext(msgspec.Struct, frozen=True):
    """The input of computed responses.

    `models` maps each model to its owner, `created` is the time in Unix seconds. New ids contain
    `request_id`, 32 hex digits. `ordinal` is the request's number in its session; `sub_responses`
    are in the order of the sub-requests.
    """

    models: Mapping[str, str]
    created: int
    request_id: str
    ordinal: int = 0
    sub_responses: tuple[SubResponse, ...] = ()


class StreamEncoder(Protocol):
    """Encodes one stream. Each method returns the bytes of zero or more whole events."""

    def opening(self) -> bytes: ...
    def event(self, event: StreamEvent) -> bytes: ...
    def closing(self) -> bytes: ...


Params: TypeAlias = Mapping[str, str]
# Parses a call; raises WireError, and nothing else, for an invalid body.
RequestReader: TypeAlias = "Callable[[Call, Endpoint, Params, Node], CanonicalRequest]"
# Renders a response as one body, or as a stream.
BodyRenderer: TypeAlias = Callable[[CanonicalRequest, CanonicalResponse], bytes]
EncoderFactory: TypeAlias = Callable[[CanonicalRequest, CanonicalResponse], StreamEncoder]
# Returns the calls that a request contains (a batch).
SubRequestLister: TypeAlias = Callable[[CanonicalRequest], Sequence[Call]]


class ArchiveWrite(msgspec.Struct, frozen=True):
    """One write to a session's archive; without `data` the name is deleted."""

    name: str
    data: bytes | None


# The archived bytes of each name that a request refers to; None if nothing is stored there.
ArchivedValues: TypeAlias = Mapping[str, bytes | None]

ArchiveWrites: TypeAlias = tuple[ArchiveWrite, ...]


class ComputedResponse(msgspec.Struct, frozen=True):
    """The body of a computed response that is also written to the archive."""

    body: bytes
    writes: ArchiveWrites


# Returns a computed response, by its body if nothing is written; raises WireError (an unknown
# model).
BodyComputer: TypeAlias = Callable[[CanonicalRequest, ComputeContext], bytes | ComputedResponse]


def _record_nothing(*_: object) -> ArchiveWrites:
    return ()


class ArchiveHooks(msgspec.Struct, frozen=True):
    """The functions of an endpoint for the archive: the responses that later requests refer to.

    `references` returns the names that a request refers to, directly or through values already
    loaded; `resolve` returns the request with these values, or raises WireError if one is missing.
    `record` returns the writes for a response (with the bytes of its stream, if it was streamed),
    `record_body` those for a replayed recording's body. With a `prefix`, every value whose name
    begins with it is loaded too.
    """

    references: Callable[[CanonicalRequest, ArchivedValues], tuple[str, ...]]
    resolve: Callable[[CanonicalRequest, ArchivedValues], CanonicalRequest]
    record: Callable[[CanonicalRequest, CanonicalResponse, bytes], ArchiveWrites] = _record_nothing
    record_body: Callable[[CanonicalRequest, bytes], ArchiveWrites] = _record_nothing
    prefix: str = ""


class Endpoint(msgspec.Struct, frozen=True):
    """A method and path of a provider, with its handlers.

    In its `pattern` a `{name}` before a slash takes one segment, any other takes the rest. With
    `render` and `encode` the engine answers, and `compute` only answers requests that need no
    model. Without them `compute` answers unless a step names the path; an endpoint whose path is a
    generating endpoint's too is `always_computed`, since a step that names the path means the other
    one. `alias_of` is the pattern by which steps name this endpoint, if it is another's. A
    `bodiless` endpoint takes no JSON. `media_type` is that of a computed response.

    `sub_requests` returns calls that are answered first, each as if it had been sent by itself.
    `decoder` decodes recorded responses; without it recordings are replayed byte for byte, but
    cannot be edited. `custom_tools` is true if the API has custom tools, whose calls are no
    function calls. `socket` makes the rules of a WebSocket that is opened at this path and sends
    requests to this endpoint. `sends` names the hosted tools of documents that the API has, and
    `citations` if it has these.
    """

    method: str
    pattern: str
    read: RequestReader
    render: BodyRenderer | None = None
    encode: EncoderFactory | None = None
    compute: BodyComputer | None = None
    sub_requests: SubRequestLister | None = None
    decoder: ResponseDecoder | None = None
    archival: ArchiveHooks | None = None
    always_computed: bool = False
    alias_of: str | None = None
    socket: SocketFactory | None = None
    bodiless: bool = False
    custom_tools: bool = False
    sends: frozenset[str] = frozenset()
    media_type: str = "application/json"
    canonical: str = ""
    """The path as steps name it, with its placeholders."""
    generates: bool = False
    """True if the engine answers."""

    def __post_init__(self) -> None:
        force_setattr(self, "canonical", self.alias_of or self.pattern)
        force_setattr(self, "generates", self.render is not None)


class Wire(Protocol):
    """One provider's HTTP API. Stateless: a wire is one shared value.

    `title` is its name for people. `models` are listed even without any scenario, `key_headers` are
    the headers in which clients send their keys. `stream_type` is the media type of streams, and
    new ids of tool calls begin with `tool_call_prefix`. All responses under `prefixes`, errors too,
    are in the provider's format; a prefix without a slash at its end is that path alone, with or
    without a trailing slash. `sequential` is true if parts stream strictly one after another,
    `signs_reasoning` if reasoning carries a signature that the API requires when it is sent back.
    `malformed_body` and `malformed_event` are sent by the fault `invalid_response`. `own_errors`
    are the provider's own errors by the kind of fault that stands for each. `upstream` is the real
    API, to which recorded requests are forwarded; None if another wire has it.
    """

    name: str
    title: str
    provider: str
    models: tuple[str, ...]
    key_headers: tuple[str, ...]
    prefixes: tuple[str, ...]
    endpoints: tuple[Endpoint, ...]
    tool_call_prefix: str
    sequential: bool
    signs_reasoning: bool
    stream_type: str
    malformed_body: bytes
    malformed_event: bytes
    own_errors: Mapping[str, ErrorAnswer]
    upstream: Upstream | None

    def sample(self, request: SampleRequest) -> SampleCall:
        """Return the call that this provider's official client would send for a request."""

    def sdk_setups(self, origin: str) -> tuple[SdkSetup, ...]:
        """Return the base URL and code by which each SDK uses a server of this origin."""

    def claims(self, call: Call) -> bool:
        """Return whether a call under a prefix that several wires share is for this one."""

    def api_key(self, call: Call) -> str | None:
        """Return the client's key from any header or query parameter of the provider, or None."""

    def authorise(self, call: Call) -> None:
        """Raise the provider's 401 (or its equivalent) if it needs a key and none was sent."""
        return None

    def check_headers(self, call: Call) -> None:
        """Raise WireError if another required header is missing (Anthropic's version)."""
        return None

    def error(self, error: ErrorAnswer, *, request_id: str) -> bytes:
        """Return an error's body in the provider's envelope, without regard to `error.body`."""

    def stream_error(self, error: ErrorAnswer, *, events_sent: int) -> bytes:
        """Return the error as an event of a stream, after `events_sent` others."""

    def headers(self, *, request_id: str, created: int, error: ErrorAnswer | None) -> Headers:
        """Return the provider's headers: request id, rate limits, and for errors retries."""
        return retry_headers(error)


def make_resource_request(
    call: Call,
    endpoint: Endpoint,
    own: object = None,
    *,
    provider: str,
    model: str = "",
    messages: tuple[Message, ...] = (),
    metadata: Mapping[str, str] | None = None,
) -> CanonicalRequest:
    """Return the request to an endpoint that computes its response, such as embeddings or a list of
    files; `own` are the fields of this endpoint alone."""
    return CanonicalRequest(
        provider=provider,
        path=call.path,
        route=endpoint.canonical,
        model=model,
        messages=messages,
        headers=call.headers,
        metadata=metadata or {},
        own=own,
    )


def user_messages(parts: Sequence[MessagePart]) -> Iterator[Message]:
    """Yield a user's parts as messages: each tool result, and each run of other parts, is one.
    Without parts there is one empty message."""
    if not parts:
        yield Message("user", ())
    for results, run in groupby(parts, lambda part: isinstance(part, ToolResultPart)):
        if results:
            yield from (Message("tool", (part,)) for part in run)
        else:
            yield Message("user", tuple(run))


def sse(data: bytes) -> bytes:
    """Return a server-sent event with a single `data:` line."""
    return b"data: " + data + b"\n\n"


def named_sse(event: str, data: bytes) -> bytes:
    """Return a server-sent event with an `event:` name."""
    return b"event: " + event.encode() + b"\ndata: " + data + b"\n\n"


def to_raw_json(value: object) -> msgspec.Raw:
    """Encode a value that becomes part of a larger document.

    Long lists are built of these: decoded values would take many times the memory, and encoding the
    whole list in one piece would hold the GIL.
    """
    return msgspec.Raw(encode_json(value))


def object_json(text: str) -> msgspec.Raw:
    """Return the JSON of an object unchanged, and `{}` for any other text."""
    try:
        is_object = isinstance(_decode(text), dict)
    except (msgspec.MsgspecError, RecursionError):
        is_object = False
    return msgspec.Raw(text.encode() if is_object else b"{}")


def encode_text(text: str) -> bytes:
    """Encode a JSON string with every line separator escaped."""
    return encode_json(text) if text.isascii() else encode_line(text)


def encode_line(value: object) -> bytes:
    """Encode JSON without the line separators at which some SSE parsers split; adds no newline."""
    return (
        encode_json(value)
        .replace(b"\xe2\x80\xa8", rb"\u2028")
        .replace(b"\xe2\x80\xa9", rb"\u2029")
        .replace(b"\xc2\x85", rb"\u0085")
    )


def format_time(seconds: int) -> str:
    """Return a time in the ISO format that APIs use, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def retry_after_seconds(retry_after_ms: int) -> str:
    """Return a Retry-After value in whole seconds, rounded up."""
    return str(-(-retry_after_ms // 1000))


def retry_headers(error: ErrorAnswer | None, *extra: tuple[str, str]) -> Headers:
    """Return an error's Retry-After, followed by `extra`, and its x-should-retry, each only if the
    error has it. Without a Retry-After `extra` is left out."""
    if error is None:
        return ()
    headers: Headers = ()
    if error.retry_after_ms is not None:
        headers = (("retry-after", retry_after_seconds(error.retry_after_ms)), *extra)
    if error.retryable is not None:
        headers += (("x-should-retry", "true" if error.retryable else "false"),)
    return headers


def bearer_token(call: Call) -> str | None:
    """Return the key in the header Authorization, or None."""
    scheme, _, token = call.headers.get("authorization", "").partition(" ")
    return (token.strip() or None) if scheme.lower() == "bearer" else None
