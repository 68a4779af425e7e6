"""Reads a request off a call, or refuses it: limits, key, version, JSON, fields, in this order."""

from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, Message, SentRequest, as_sent
from scenarios_app.engine.parts import ReasoningPart, ToolCallPart
from scenarios_app.engine.state import is_key_session, key_session
from scenarios_app.serving.exchange import LONGEST_SESSION, SESSION_HEADER
from scenarios_app.serving.options import Options
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import Target

# What stands around a name and a value in a header line.
_AROUND = len(": \r\n")


def admit(call: Call, target: Target, options: Options) -> CanonicalRequest:
    """The request that a call makes of its target; raises WireError."""
    admit_head(call, target, options)
    return read(call, target, options)


def read(call: Call, target: Target, options: Options) -> CanonicalRequest:
    """The request of a call whose head is admitted; raises WireError."""
    endpoint, limits = target.endpoint, options.limits
    assert endpoint is not None
    bodiless = endpoint.bodiless or call.method != "POST"
    body = Node({}) if bodiless else read_body(call.body, limits)
    request = endpoint.read(call, endpoint, target.params, body)
    as_sent(request, SentRequest(call.method, call.query, call.body))
    check_size(request, limits)
    if target.wire.signs_reasoning and endpoint.generates:
        return without_unsigned(request)
    return request


def admit_unread(call: Call, target: Target, options: Options) -> CanonicalRequest:
    """What is known of a call that its wire does not read, to be looked for among recorded ones;
    raises WireError where it would be refused for its head alone."""
    check_head(call, options)
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
    return as_sent(request, SentRequest(call.method, call.query, call.body, unread=True))


def admit_head(call: Call, target: Target, options: Options, *, has_api_key: bool = False) -> None:
    """Refuse a call whose head is not as it must be; raises WireError. Looks at no body. It is
    `has_api_key` if it is known to have a key."""
    check_head(call, options)
    if target.endpoint is None:
        raise target.error or WireError(404, f"Unknown request URL: {call.method} {call.path}.")
    if options.require_auth and not has_api_key:
        target.wire.authorise(call)
    target.wire.check(call)
    check_session(call, target)


def check_head(call: Call, options: Options) -> None:
    """Refuse headers that are too large."""
    if header_bytes(call) > options.max_header_bytes:
        raise WireError(
            431, f"The request's headers are larger than {options.max_header_bytes} bytes."
        )


def check_session(call: Call, target: Target) -> None:
    """Refuse the name of a session that is too long, or that stands for another client's key."""
    name = call.headers.get(SESSION_HEADER, "").strip()
    if not name:
        return
    if len(name) > LONGEST_SESSION:
        raise WireError(400, f"X-MockLLM-Session is longer than {LONGEST_SESSION} characters.")
    if is_key_session(name) and key_session(target.wire.api_key(call) or "") != name:
        raise WireError(
            400,
            f"X-MockLLM-Session cannot be {name}: that is the session of an API key. "
            "Send that key, or choose another name.",
        )


def check_size(request: CanonicalRequest, limits: Limits) -> None:
    """Refuse a conversation that is too long."""
    if len(request.messages) > limits.messages:
        raise WireError(
            400, f"The request holds more than {limits.messages} messages.", param="messages"
        )


def header_bytes(call: Call) -> int:
    """The size of the request line and the headers, about as they were sent."""
    given, query = call.headers, call.query
    text = "".join((call.path, *given, *given.values(), *query, *query.values()))
    size = len(text) if text.isascii() else len(text.encode())
    return size + _AROUND * (len(given) + len(query))


def without_unsigned(request: CanonicalRequest) -> CanonicalRequest:
    """The request without the thinking of assistant messages that call tools and have no block of
    it with a signature or in encrypted form. Where there was some, reasoning counts as disabled."""
    if request.turn == 1:
        return request
    kept = tuple(map(_signed, request.messages))
    if kept == request.messages:
        return request
    return replace(request, messages=kept, reasoning=False)


def _signed(message: Message) -> Message:
    if message.role != "assistant" or not any(isinstance(p, ToolCallPart) for p in message.parts):
        return message
    thinking = [part for part in message.parts if isinstance(part, ReasoningPart)]
    if not thinking or any(part.signature or part.redacted for part in thinking):
        return message
    others = (part for part in message.parts if not isinstance(part, ReasoningPart))
    return replace(message, parts=tuple(others))
