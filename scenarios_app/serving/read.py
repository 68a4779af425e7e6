"""Parses a call's request, or refuses it: limits, key, version, JSON, fields, in this order."""

from msgspec.structs import replace

from mockllm_site.kit.api.admin_host import NO_PROVIDERS, is_host
from scenarios_app.engine.canonical import CanonicalRequest, Message, SentRequest, attach_sent
from scenarios_app.engine.parts import ReasoningPart, ToolCallPart
from scenarios_app.engine.state import is_key_session, key_session
from scenarios_app.serving.exchange import MAX_SESSION_CHARS, SESSION_HEADER
from scenarios_app.serving.options import Options
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import Target

# RFC 9110, 15.5.20: the request was sent to a host that has no answer to it.
MISDIRECTED = 421
# Bytes around the name and value of a header line.
_AROUND = len(": \r\n")


def read_call(call: Call, target: Target, options: Options) -> CanonicalRequest:
    """Check the head of a call, and return its parsed request; raises WireError."""
    admit_head(call, target, options)
    return read(call, target, options)


def read(call: Call, target: Target, options: Options) -> CanonicalRequest:
    """Return the parsed request of a call whose head was checked before; raises WireError."""
    endpoint, limits = target.endpoint, options.limits
    assert endpoint is not None
    if endpoint.bodiless or call.method != "POST":
        body = Node({})
    else:
        if "content-encoding" in call.headers:
            check_encoding(call)
        body = read_body(call.body, limits)
    request = endpoint.read(call, endpoint, target.params, body)
    return complete_request(request, call, target, limits)


def complete_request(
    request: CanonicalRequest, call: Call, target: Target, limits: Limits
) -> CanonicalRequest:
    """Return a request that was just parsed from a call, with what every wire needs of it; raises
    WireError if it has too many messages."""
    attach_sent(request, SentRequest(call.method, call.query, call.body))
    check_size(request, limits)
    if target.wire.signs_reasoning and target.endpoint and target.endpoint.generates:
        return without_unsigned(request)
    return request


def admit_unread(call: Call, target: Target, options: Options) -> CanonicalRequest:
    """Return a request for a call that its wire cannot parse, to look for a recorded step. Raises
    WireError if the head is refused."""
    check_host(call, options)
    check_header_bytes(call, options)
    if options.require_auth:
        target.wire.authorise(call)
    check_session(call, target)
    endpoint = target.endpoint
    request = CanonicalRequest(
        provider=target.wire.provider,
        path=call.path,
        route=endpoint.canonical if endpoint else call.path,
        model=target.params.get("model", ""),
        headers=call.headers,
    )
    return attach_sent(request, SentRequest(call.method, call.query, call.body, unread=True))


def admit_head(call: Call, target: Target, options: Options, *, has_api_key: bool = False) -> None:
    """Check the head of a call: host, size, URL, key, version and session. Raises WireError.
    `has_api_key` skips the search for a key."""
    check_host(call, options)
    check_header_bytes(call, options)
    if target.endpoint is None:
        raise target.error or WireError(404, f"Unknown request URL: {call.method} {call.path}.")
    if options.require_auth and not has_api_key:
        target.wire.authorise(call)
    target.wire.check_headers(call)
    check_session(call, target)


def check_host(call: Call, options: Options) -> None:
    """Refuse calls on the host of the admin; raises WireError."""
    if options.admin_host and is_host(call.headers.get("host", ""), options.admin_host):
        raise WireError(MISDIRECTED, NO_PROVIDERS)


def check_header_bytes(call: Call, options: Options) -> None:
    """Refuse headers that are too large; raises WireError."""
    if header_bytes(call) > options.max_header_bytes:
        raise WireError(
            431, f"The request's headers are larger than {options.max_header_bytes} bytes."
        )


def check_encoding(call: Call) -> None:
    """Raise WireError for a compressed body, which would look like broken JSON."""
    encoding = call.headers["content-encoding"].strip()
    if encoding.lower() not in ("", "identity"):
        raise WireError(
            415,
            f"The request's body is compressed (Content-Encoding: {encoding[:40]}); this server "
            "reads only uncompressed ones. Turn off the client's compression of requests.",
        )


def check_session(call: Call, target: Target) -> None:
    """Raise WireError if a session name is too long or belongs to another client's key."""
    name = call.headers.get(SESSION_HEADER, "").strip()
    if not name:
        return
    if len(name) > MAX_SESSION_CHARS:
        raise WireError(400, f"X-MockLLM-Session is longer than {MAX_SESSION_CHARS} characters.")
    if is_key_session(name) and key_session(target.wire.api_key(call) or "") != name:
        raise WireError(
            400,
            f"X-MockLLM-Session cannot be {name}: that is the session of an API key. "
            "Send that key, or choose another name.",
        )


def check_size(request: CanonicalRequest, limits: Limits) -> None:
    """Refuse a conversation with too many messages; raises WireError."""
    if len(request.messages) > limits.messages:
        raise WireError(
            400, f"The request holds more than {limits.messages} messages.", param="messages"
        )


def header_bytes(call: Call) -> int:
    """Return the approximate size of the request line and the headers as they were sent."""
    headers, query = call.headers, call.query
    text = "".join((call.path, *headers, *headers.values(), *query, *query.values()))
    size = len(text) if text.isascii() else len(text.encode())
    return size + _AROUND * (len(headers) + len(query))


def without_unsigned(request: CanonicalRequest) -> CanonicalRequest:
    """Return the request without unsigned reasoning of assistant messages that call tools.

    If any was removed, reasoning counts as disabled.
    """
    if request.turn == 1:
        return request
    messages = tuple(map(_without_unsigned_thinking, request.messages))
    if messages == request.messages:
        return request
    return replace(request, messages=messages, reasoning=False)


def _without_unsigned_thinking(message: Message) -> Message:
    """Return an assistant's message that calls tools without its reasoning, if no part of that is
    signed or redacted. Return any other message unchanged."""
    if message.role != "assistant" or not any(isinstance(p, ToolCallPart) for p in message.parts):
        return message
    thinking = [part for part in message.parts if isinstance(part, ReasoningPart)]
    if not thinking or any(part.signature or part.redacted for part in thinking):
        return message
    others = (part for part in message.parts if not isinstance(part, ReasoningPart))
    return replace(message, parts=tuple(others))
