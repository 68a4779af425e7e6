"""Turns a decision into a reply: produced, paced, encoded, with its faults."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from urllib.parse import quote

from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Choice, ErrorAnswer
from scenarios_app.engine.matching.expectations import VIOLATED
from scenarios_app.engine.matching.select import Decision
from scenarios_app.engine.parts import (
    RefusalPart,
    TextPart,
    ToolCallPart,
    produced_text,
)
from scenarios_app.engine.producing.faults import fault_error, fault_stage_of, kind_of
from scenarios_app.engine.producing.plan import MAX_PREPARED_CHARS, is_long, plan
from scenarios_app.engine.producing.produce import (
    build_response,
    error_turn,
    fallback_step,
    produce,
    scripted_answer,
)
from scenarios_app.engine.scenario import (
    Fault,
    GeneratedAnswer,
    Pacing,
    RawAnswer,
    ScriptedAnswer,
    ScriptedChoice,
    SideEffects,
    Step,
)
from scenarios_app.engine.secrets import is_secret, mask, secrets_of, without_pieces
from scenarios_app.serving.cors import merge_headers
from scenarios_app.serving.exchange import MAX_PREVIEW_CHARS, Exchange
from scenarios_app.serving.recorder.replay import replay
from scenarios_app.serving.reply import (
    FRAMING,
    PIECE_BYTES,
    Frame,
    LongFrames,
    Reply,
    broken_reply,
    encode_frames,
    malformed_reply,
    silent_reply,
    stream_reply,
    whole_reply,
)
from scenarios_app.wire.base import ArchiveHooks, ArchiveWrite, Headers
from scenarios_app.wire.sockets import SOCKET_KEY

_UPGRADE_REQUIRED = 426
_UPGRADE = "upgrade"
UNPACED = Pacing()
UNMATCHED_METADATA = {"mockllm_unmatched": "1"}
# Allowed in header values; other characters of the client's text are percent-encoded.
PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7F))


def provider_headers(exchange: Exchange, error: ErrorAnswer | None = None) -> Headers:
    """Return the provider's own headers; none if no provider owns the path."""
    if not exchange.target.is_owned:
        return ()
    request_id = exchange.seed.request_id
    return exchange.wire.headers(request_id=request_id, created=exchange.created, error=error)


def error_reply(exchange: Exchange, error: ErrorAnswer, *, delay: float = 0.0) -> Reply:
    """Return an error in the provider's envelope, or with the error's own body."""
    match error.body:
        case None:
            body = exchange.wire.error(error, request_id=exchange.seed.request_id)
        case str(text):
            body = text.encode("utf-8", "surrogatepass")
        case other:
            body = json.dumps(other, ensure_ascii=False, separators=(",", ":")).encode()
    headers = provider_headers(exchange, error)
    if error.status == _UPGRADE_REQUIRED and _UPGRADE in exchange.call.headers:
        # RFC 9110, 15.5.22: the answer names the protocol that the client may upgrade to.
        headers = (*headers, (_UPGRADE, "websocket"))
    reply = whole_reply(error.status, body, headers=headers, delay=delay)
    return replace(
        _with_scripted_headers(reply, error.headers), preview=error.message[:MAX_PREVIEW_CHARS]
    )


def refusal_reply(exchange: Exchange, error: ErrorAnswer) -> Reply:
    """Return the error reply to a request for which no scenario is looked for. One that no
    endpoint takes counts as unmatched."""
    exchange.refuse(error)
    return error_reply(exchange, error)


def computed_reply(
    exchange: Exchange, body: bytes, media_type: str, *, stream: bool = False
) -> Reply:
    """Return the response of a helper endpoint; a stream is sent whole."""
    media_type = exchange.wire.stream_type if stream else media_type
    return whole_reply(200, body, headers=provider_headers(exchange), media_type=media_type)


def respond(exchange: Exchange, decision: Decision, request: CanonicalRequest) -> Reply:
    """Return the reply of a decision."""
    match decision.kind:
        case "unmatched":
            error = ErrorAnswer(404, decision.text, code="no_scenario_matched")
            return error_reply(exchange, error)
        case "violation":
            return error_reply(exchange, ErrorAnswer(400, decision.text, code=VIOLATED))
        case "error_turn":
            return _reply_without_step(exchange, error_turn(decision.text), request)
        case "fallback_step":
            return _reply_without_step(exchange, fallback_step(decision.text), request)
        case "in_band":
            assert decision.scripted is not None
            pacing = Pacing(words_per_second=exchange.options.words_per_second)
            fault = decision.cancel_fault(stream=request.stream)
            return _reply_without_step(
                exchange, decision.scripted, request, pacing=pacing, fault=fault
            )
        case "failure":
            return _reply_with_fault(exchange, decision, request, decision.fault, delay=0.0)
        case "step":
            return _reply_of_step(exchange, decision, request)


def _reply_of_step(exchange: Exchange, decision: Decision, request: CanonicalRequest) -> Reply:
    """Return the reply of a decision's step: recorded if that suits the request, else produced."""
    assert decision.step is not None
    if decision.fallback:
        # Of the APIs, only Responses returns metadata.
        request = replace(request, metadata={**request.metadata, **UNMATCHED_METADATA})
    script, numbered = decision.step.produce, decision.numbered
    delay = script.latency_ms / 1000
    is_changed = numbered is not None and numbered.change is not None
    if script.recorded is not None and script.recorded.suits(request) and not is_changed:
        headers = provider_headers(exchange)
        reply = replay(exchange, script.recorded, headers=headers, delay=delay)
        scripted = scripted_answer(script, stream=request.stream)
        choices = scripted.choices if isinstance(scripted, ScriptedAnswer) else ()
        reply = replace(reply, preview=_preview_text(choices))
        if numbered is not None and isinstance(
            response := produce_answer(exchange, decision, request), CanonicalResponse
        ):
            _alter_numbered(response, decision, request)
    else:
        fault = script.fault or decision.cancel_fault(stream=request.stream)
        reply = _reply_with_fault(exchange, decision, request, fault, delay=delay)
    return _with_scripted_headers(reply, _effect_headers(decision.step.side_effects, request))


def is_long_script(decision: Decision, *, stream: bool) -> bool:
    """Return whether a step's script has more than MAX_PREPARED_CHARS, which take a while."""
    step = decision.step
    scripted = scripted_answer(step.produce, stream=stream) if step else None
    if not isinstance(scripted, ScriptedAnswer):
        return False
    parts = (part for choice in scripted.choices for part in choice.parts)
    return sum(len(produced_text(part)) for part in parts) > MAX_PREPARED_CHARS


def is_generated_for_schemas(decision: Decision, request: CanonicalRequest) -> bool:
    """Return whether a step's answer is generated to fit the request's schemas, which may take
    long."""
    step = decision.step
    scripted = scripted_answer(step.produce, stream=request.stream) if step else None
    fitted = bool(request.tools) or request.json is not None
    return isinstance(scripted, GeneratedAnswer) and scripted.kind == "auto" and fitted


def with_headers(reply: Reply, *more: Headers) -> Reply:
    """Return the reply with more headers; later headers replace earlier ones of the same name."""
    return replace(reply, headers=merge_headers(reply.headers, *more))


def _reply_with_fault(
    exchange: Exchange,
    decision: Decision,
    request: CanonicalRequest,
    fault: Fault | None,
    *,
    delay: float,
) -> Reply:
    """Return a step's reply with a fault inside it or instead of it. A fault of the WebSocket that
    carries the reply is left to its transport."""
    if fault is None:
        return _encode_step_reply(exchange, decision, request, None, delay=delay)
    assert decision.step is not None
    if kind_of(fault).of_socket and SOCKET_KEY in exchange.call.headers:
        reply = silent_reply(fault, delay=delay)
        if kind_of(fault).inside:
            reply = _encode_step_reply(exchange, decision, request, None, delay=delay)
        return replace(reply, socket_fault=fault)
    stream = request.stream
    # A raw answer is never streamed, even if the request asks for a stream.
    raw = isinstance(scripted_answer(decision.step.produce, stream=stream), RawAnswer)
    match fault_stage_of(fault, stream=stream and not raw):
        case "silence":
            return silent_reply(fault, delay=delay)
        case "malformed":
            headers = provider_headers(exchange)
            return malformed_reply(exchange.wire, stream=stream, headers=headers, delay=delay)
        case "error":
            return error_reply(exchange, fault_error(fault, exchange.wire.own_errors), delay=delay)
        case "inside":
            return _encode_step_reply(exchange, decision, request, fault, delay=delay)


def _encode_step_reply(
    exchange: Exchange,
    decision: Decision,
    request: CanonicalRequest,
    fault: Fault | None,
    *,
    delay: float,
) -> Reply:
    """Return the reply of the decided step after `delay` seconds, with its fault if any."""
    step = decision.step
    assert step is not None
    response = produce_answer(exchange, decision, request)
    match response:
        case ErrorAnswer():
            return error_reply(exchange, response, delay=delay)
        case RawAnswer():
            headers = provider_headers(exchange)
            reply = whole_reply(response.status, response.body, headers=headers, delay=delay)
            reply = _with_scripted_headers(reply, response.headers)
            return broken_reply(reply, fault) if fault else reply
        case _:
            pacing = _pacing_of(exchange, step, stream=request.stream)
            if (numbered := decision.numbered) is not None:
                response = _alter_numbered(response, decision, request)
                if fault is not None:
                    sequential, words = exchange.wire.sequential, pacing.words_per_chunk
                    fault = numbered.move_fault(fault, response.choices, sequential, words)
            return _encode_reply(
                exchange,
                response,
                request,
                status=step.side_effects.status or 200,
                delay=delay,
                pacing=pacing,
                fault=fault,
            )


def _alter_numbered(
    response: CanonicalResponse, decision: Decision, request: CanonicalRequest
) -> CanonicalResponse:
    """Note a numbered answer's content and return its response, altered by its change, if any."""
    step, numbered = decision.step, decision.numbered
    assert step is not None and numbered is not None
    numbered.equivalent_changes = step.equivalent_changes
    return numbered.apply_alteration(response, request)


def produce_answer(
    exchange: Exchange, decision: Decision, request: CanonicalRequest
) -> CanonicalResponse | RawAnswer | ErrorAnswer:
    """Return the produced answer of a decision's step, before encoding; the same at each call."""
    scenario, step = decision.scenario, decision.step
    assert scenario is not None and step is not None
    return produce(
        scenario,
        step,
        request,
        seed=exchange.seed,
        created=exchange.created,
        tool_call_prefix=exchange.wire.tool_call_prefix,
        groups=decision.groups,
        custom_tools=_has_custom_tools(exchange),
        max_text_bytes=exchange.options.max_text_bytes,
    )


def _has_custom_tools(exchange: Exchange) -> bool:
    """Return True if the endpoint's API knows tools that take text instead of JSON."""
    endpoint = exchange.target.endpoint
    return endpoint is not None and endpoint.custom_tools


def _pacing_of(exchange: Exchange, step: Step, *, stream: bool) -> Pacing:
    """Return the step's pacing, or the server's for a generated answer without one."""
    own = step.produce.pacing
    if own.chunk_ms or own.words_per_second:
        return own
    if not isinstance(scripted_answer(step.produce, stream=stream), GeneratedAnswer):
        return own
    return replace(own, words_per_second=exchange.options.words_per_second)


def _reply_without_step(
    exchange: Exchange,
    scripted: ScriptedAnswer,
    request: CanonicalRequest,
    *,
    pacing: Pacing = UNPACED,
    fault: Fault | None = None,
) -> Reply:
    """Return the reply of an answer that no step scripted, such as an automatic one."""
    response = build_response(
        scripted,
        request,
        seed=exchange.seed,
        created=exchange.created,
        tool_call_prefix=exchange.wire.tool_call_prefix,
        custom_tools=_has_custom_tools(exchange),
        max_text_bytes=exchange.options.max_text_bytes,
    )
    if isinstance(response, ErrorAnswer):
        return error_reply(exchange, response)
    return _encode_reply(exchange, response, request, pacing=pacing, fault=fault)


def _encode_reply(
    exchange: Exchange,
    response: CanonicalResponse,
    request: CanonicalRequest,
    *,
    status: int = 200,
    delay: float = 0.0,
    pacing: Pacing = UNPACED,
    fault: Fault | None = None,
) -> Reply:
    """Return the reply of a produced response, whole or as a stream, with this fault. Return an
    error if the endpoint sends no messages."""
    wire, endpoint, headers = exchange.wire, exchange.target.endpoint, provider_headers(exchange)
    if endpoint is None or endpoint.render is None:
        (scenario, step), call = exchange.answered_by, exchange.call
        message = (
            f"Step “{step}” of scenario “{scenario}” answers this request with a message, which "
            f"{call.method} {call.path} cannot send. Give the step a `raw` answer."
        )
        return error_reply(exchange, ErrorAnswer(500, message, retryable=False), delay=delay)
    # A long stream releases the request's body meanwhile.
    is_long_stream = request.stream and is_long(response)
    encoded_request = replace(request, sent=None) if is_long_stream else request

    def make_stream(fault: Fault | None) -> Reply:
        """Return the stream of the response, broken by a fault if one is given."""

        def make_frames() -> Iterator[Frame]:
            """Encode the response and its fault anew."""
            assert endpoint is not None and endpoint.encode is not None
            timed = plan(
                response,
                pacing=pacing,
                sequential=wire.sequential,
                fault=fault,
                draws=exchange.seed.draws(),
            )
            encoder = endpoint.encode(encoded_request, response)
            return encode_frames(
                wire, encoder, timed, max_bytes=PIECE_BYTES if is_long_stream else None
            )

        frames = LongFrames(make_frames) if is_long_stream else tuple(make_frames())
        cut = fault is not None and kind_of(fault).stream == "cut"
        return stream_reply(wire, frames, cut=cut, status=status, headers=headers, delay=delay)

    def archive_writes(archival: ArchiveHooks) -> tuple[ArchiveWrite, ...]:
        """Return what this response stores for later requests, with its stream as bytes."""
        sent = (make_stream(None) if fault else reply).body if request.stream else b""
        return archival.record(request, response, sent)

    if request.stream:
        reply = make_stream(fault)
    else:
        body = endpoint.render(request, response)
        reply = whole_reply(status, body, headers=headers, delay=delay)
        reply = broken_reply(reply, fault) if fault else reply
    reply = replace(reply, preview=_preview_text(response.choices))
    # A failed answer is not stored; one that was lost on the way is, since clients can retrieve it.
    archival = endpoint.archival
    if archival is not None and (fault is None or kind_of(fault).stream != "error_event"):
        stores = partial(archive_writes, archival) if is_long_stream else archive_writes(archival)
        return replace(reply, stored=stores)
    return reply


def _preview_text(choices: Sequence[Choice | ScriptedChoice]) -> str:
    """Return the beginning of an answer: its first text, or else its tool calls."""
    parts = choices[0].parts if choices else ()
    for part in parts:
        if isinstance(part, TextPart | RefusalPart) and part.text:
            return part.text[:MAX_PREVIEW_CHARS]
    calls = [f"{part.name}({part.arguments})" for part in parts if isinstance(part, ToolCallPart)]
    return ", ".join(calls)[:MAX_PREVIEW_CHARS]


def _effect_headers(effects: SideEffects, request: CanonicalRequest) -> Headers:
    """Return the scripted headers and the echoed ones, with secrets masked as in the journal."""
    headers = list(effects.headers)
    secrets = secrets_of(request.headers) if effects.echo_headers else ()
    for name in map(str.lower, effects.echo_headers):
        if (value := request.headers.get(name)) is not None:
            masked = mask(value) if is_secret(name) else without_pieces(value, secrets)
            headers.append((name, quote(masked, safe=PRINTABLE)))
    return tuple(headers)


def _with_scripted_headers(reply: Reply, scripted: Headers) -> Reply:
    """Return the reply with scripted headers, except those that follow from its bytes."""
    if not scripted:
        return reply
    return with_headers(
        reply, tuple((k.lower(), v) for k, v in scripted if k.lower() not in FRAMING)
    )
