"""What a wire is: the shape every provider module has, and the framing they share."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Protocol, TypeAlias

import msgspec
from msgspec.structs import force_setattr

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, ErrorAnswer
from scenarios_app.engine.parts import StreamEvent
from scenarios_app.wire.body import Node
from scenarios_app.wire.samples import Asked, Sdk, Sent

Headers: TypeAlias = tuple[tuple[str, str], ...]

encode_json = msgspec.json.Encoder().encode


class Call(msgspec.Struct, frozen=True):
    """One HTTP request. `path` is raw (percent-encoded, without query); header names are
    lower-case and repeated headers joined by a comma. `raw_query` is `query` as it was sent, and
    `scheme` what its client was told to speak, as far as that is known. `session` names the session
    of a call that this process makes itself; clients name theirs in a header or by their key."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    raw_query: str = ""
    scheme: str = "http"
    session: str = ""


class Answered(msgspec.Struct, frozen=True):
    """The whole answer to a call that another call carried; without a body where none came."""

    status: int
    body: bytes


class Facts(msgspec.Struct, frozen=True):
    """What computed answers are made of: the known models with their owners, the clock, the
    request's number in its session, and the answers to the calls that it carried, in order."""

    models: Mapping[str, str]
    created: int
    request_id: str
    ordinal: int = 0
    answers: tuple[Answered, ...] = ()


class StreamEncoder(Protocol):
    """Encodes one stream. Each call gives the bytes of zero or more whole events."""

    def opening(self) -> bytes: ...
    def event(self, event: StreamEvent) -> bytes: ...
    def closing(self) -> bytes: ...


Params: TypeAlias = Mapping[str, str]
# A request read off a call; raises WireError, and nothing else, for a body that it cannot be.
Read: TypeAlias = "Callable[[Call, Endpoint, Params, Node], CanonicalRequest]"
# A whole answer's body, and the same answer as a stream.
Render: TypeAlias = Callable[[CanonicalRequest, CanonicalResponse], bytes]
Encode: TypeAlias = Callable[[CanonicalRequest, CanonicalResponse], StreamEncoder]
# The body of a computed answer; raises WireError (an unknown model).
Compute: TypeAlias = Callable[[CanonicalRequest, Facts], bytes]
# The calls that a request brings with it (a batch).
Carries: TypeAlias = Callable[[CanonicalRequest], Sequence[Call]]


class Stored(msgspec.Struct, frozen=True):
    """What a session stores under a name; without `data` it gives up what is there."""

    name: str
    data: bytes | None


# What is stored under the names that a request leads to, None where nothing is.
Found: TypeAlias = Mapping[str, bytes | None]


def _records_nothing(
    request: CanonicalRequest, response: CanonicalResponse, stream: bytes
) -> tuple[Stored, ...]:
    return ()


def _keeps_nothing(request: CanonicalRequest, body: bytes) -> tuple[Stored, ...]:
    return ()


def _leaves_nothing(request: CanonicalRequest, facts: Facts) -> tuple[Stored, ...]:
    return ()


class Archival(msgspec.Struct, frozen=True):
    """How an endpoint uses the archive of answers that later requests can name.

    `references` gives the names that a request leads to, as far as what is found is known;
    `resolve` the request with what it names in it, or raises WireError where that is not stored.
    `record` gives what is stored of an answer, whose stream is all of it as it was streamed, if it
    was; `keep` the same of a recorded answer, which is bytes alone; `after` what is stored, or
    given up, once an answer is computed. All that is stored under a name that begins with `prefix`,
    if there is one, is found as well.
    """

    references: Callable[[CanonicalRequest, Found], tuple[str, ...]]
    resolve: Callable[[CanonicalRequest, Found], CanonicalRequest]
    record: Callable[[CanonicalRequest, CanonicalResponse, bytes], tuple[Stored, ...]] = (
        _records_nothing
    )
    keep: Callable[[CanonicalRequest, bytes], tuple[Stored, ...]] = _keeps_nothing
    after: Callable[[CanonicalRequest, Facts], tuple[Stored, ...]] = _leaves_nothing
    prefix: str = ""


class Endpoint(msgspec.Struct, frozen=True):
    """A method and path of a provider, and what is done there.

    In its `pattern` a `{name}` before a slash takes one segment, any other what is there. The
    engine answers where there is `render` and `encode`; else `compute` does, unless a step names
    the path. Where the path is a generating endpoint's too, a step that names it means that one:
    such a computed one is `fixed`. A generating endpoint computes what asks for no answer of a
    model. `alias_of` is the pattern by which steps name this endpoint where they name it by
    another's. A `bodiless` one takes no JSON, `archival` is how it uses the archive.

    `form` is what of a request, beside its model and its length in tokens, decides the bytes of an
    answer to it, ids aside: answers of one form are encoded once. Without it those of `alike` ones
    are that are asked for by the same bytes and name no earlier answers, all others each time.
    What a request `carries` is answered before it is, each call as if it had come by itself. A
    computed answer is of `media_type`.
    """

    method: str
    pattern: str
    read: Read
    render: Render | None = None
    encode: Encode | None = None
    compute: Compute | None = None
    sub_requests: Carries | None = None
    archival: Archival | None = None
    cache_key: Callable[[CanonicalRequest], Hashable] | None = None
    cacheable_by_body: bool = False
    always_computed: bool = False
    alias_of: str | None = None
    bodiless: bool = False
    media_type: str = "application/json"
    canonical: str = ""
    """The path as steps name it, with its variable places."""
    generates: bool = False
    """Whether the engine answers."""

    def __post_init__(self) -> None:
        force_setattr(self, "canonical", self.alias_of or self.pattern)
        force_setattr(self, "generates", self.render is not None)


class Wire(Protocol):
    """One provider's HTTP dialect. Stateless: a wire is one shared value.

    `name` is the wire's own, `title` how people call it. `models` are those that its list names
    without any script, `key_headers` the headers in which clients send their keys.
    `prefixes` are the path prefixes under which every answer, errors too, is a provider's; one
    without a slash at its end is that path alone, with or without a slash at its own end.
    `sequential` says that parts stream strictly one after another, `signs_reasoning` that thinking
    comes with a signature, without which it is not taken back. `malformed_body` and
    `malformed_event` are what broken answers look like on it.
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

    def sample(self, asked: Asked) -> Sent:
        """What this provider's own client sends for a request."""

    def clients(self, origin: str) -> tuple[Sdk, ...]:
        """How SDKs are pointed at a server of this origin."""

    def claims(self, call: Call) -> bool:
        """Whether a call under a prefix that wires share is meant for this one."""

    def api_key(self, call: Call) -> str | None:
        """The key that the client sent, by any header or query that this provider takes."""

    def authorise(self, call: Call) -> None:
        """Raise the provider's 401 (or its own status) unless some key was sent."""

    def check(self, call: Call) -> None:
        """Raise for what else must be there before the body is read (a version header)."""

    def error(self, error: ErrorAnswer, *, request_id: str) -> bytes:
        """An error's body in the provider's envelope (`error.body` is already dealt with)."""

    def stream_error(self, error: ErrorAnswer, *, sent: int) -> bytes:
        """The provider's in-stream error; `sent` is the number of events sent before it."""

    def headers(self, *, request_id: str, created: int, error: ErrorAnswer | None) -> Headers:
        """The provider's own headers: request id, rate limits, and for errors when to retry."""


def about(
    call: Call,
    endpoint: Endpoint,
    own: object = None,
    *,
    provider: str,
    model: str = "",
    metadata: Mapping[str, str] | None = None,
) -> CanonicalRequest:
    """A request about what is listed or stored: no message in it goes to a model."""
    return CanonicalRequest(
        provider=provider,
        path=call.path,
        route=endpoint.canonical,
        model=model,
        headers=call.headers,
        metadata=metadata or {},
        own=own,
    )


def sse(data: bytes) -> bytes:
    """One server-sent event of a single `data:` line."""
    return b"data: " + data + b"\n\n"


def named_sse(event: str, data: bytes) -> bytes:
    """One server-sent event with its name."""
    return b"event: " + event.encode() + b"\ndata: " + data + b"\n\n"


def encoded(value: object) -> msgspec.Raw:
    """A value that is JSON already when what it is part of is encoded. A long list is made of such:
    as values it would take many times the memory, and as one piece let no other thread compute."""
    return msgspec.Raw(encode_json(value))


def encode_text(text: str) -> bytes:
    """A JSON string on one line for every reader."""
    return encode_json(text) if text.isascii() else encode_line(text)


def encode_line(value: object) -> bytes:
    """JSON in which line separators beyond ASCII are escaped: some readers split lines at them."""
    return (
        encode_json(value)
        .replace(b"\xe2\x80\xa8", rb"\u2028")
        .replace(b"\xe2\x80\xa9", rb"\u2029")
        .replace(b"\xc2\x85", rb"\u0085")
    )


def retry_after_seconds(retry_after_ms: int) -> str:
    """Retry-After in whole seconds, rounded up."""
    return str(-(-retry_after_ms // 1000))
