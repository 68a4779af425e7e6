"""From what was chosen to the reply: produced, paced, broken where a fault says so, encoded."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from urllib.parse import quote

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse
from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.engine.matching.expectations import VIOLATED
from scenarios_app.engine.parts import held_text
from scenarios_app.engine.producing.faults import fault_error, kind_of, strike_of
from scenarios_app.engine.producing.final_report import error_turn, fallback_step
from scenarios_app.engine.producing.plan import LONG_CHARACTERS, Timed, is_long, plan
from scenarios_app.engine.producing.produce import answer, produce, scripted_answer
from scenarios_app.engine.producing.seed import Seed
from scenarios_app.engine.scenario import (
    Fault,
    GeneratedAnswer,
    Pacing,
    RawAnswer,
    Scenario,
    ScriptedAnswer,
    SideEffects,
    Step,
)
from scenarios_app.engine.secrets import is_secret, mask, secrets_of, without_pieces
from scenarios_app.serving.choose import Chosen
from scenarios_app.serving.reply import (
    BODILESS,
    FRAMING,
    Reply,
    broken,
    malformed,
    silent,
    streamed,
    streamed_long,
    whole,
)
from scenarios_app.wire.base import Headers, KeepingWire, Kept, StreamEncoder, Wire
from scenarios_app.wire.registry import keeping

UNPACED = Pacing()
# Everything a header value may hold as it is; the rest of what a client sent is percent-encoded.
PRINTABLE = "".join(chr(code) for code in range(0x20, 0x7F))


@dataclass(frozen=True, slots=True)
class Speaker:
    """Whoever answers one request: its wire, and what the answer says of itself."""

    wire: Wire
    seed: Seed
    created: int
    max_text_bytes: int
    words_per_second: float

    def headers(self, error: ErrorAnswer | None = None) -> Headers:
        """The provider's own headers."""
        return self.wire.headers(request_id=self.seed.request_id, created=self.created, error=error)

    def error(self, error: ErrorAnswer, *, delay: float = 0.0) -> Reply:
        """An error in the provider's envelope, or with the body that it brings."""
        match error.body:
            case None:
                body = self.wire.error(error, request_id=self.seed.request_id)
            case str(text):
                body = text.encode("utf-8", "surrogatepass")
            case other:
                body = json.dumps(other, ensure_ascii=False, separators=(",", ":")).encode()
        return _with(
            whole(error.status, body, headers=self.headers(error), delay=delay), error.headers
        )

    def computed(self, body: bytes, *, stream: bool = False) -> Reply:
        """The answer of a helper endpoint, which may be a stream that has ended already."""
        media_type = self.wire.stream_type if stream else "application/json"
        return whole(200, body, headers=self.headers(), media_type=media_type)


def reply_to(chosen: Chosen, request: CanonicalRequest, speaker: Speaker) -> Reply:
    """The reply that a choice comes to."""
    scenario, step = chosen.decision.scenario, chosen.decision.step
    match chosen.kind:
        case "unmatched":
            return speaker.error(ErrorAnswer(404, chosen.text, code="no_scenario_matched"))
        case "violation":
            return speaker.error(ErrorAnswer(400, chosen.text, code=VIOLATED))
        case "error_turn":
            return _unscripted(error_turn(chosen.text), request, speaker)
        case "fallback_step":
            return _unscripted(fallback_step(chosen.text), request, speaker)
        case "in_band":
            assert chosen.scripted is not None
            fault = chosen.cancel(stream=request.stream)
            pacing = Pacing(words_per_second=speaker.words_per_second)
            return _unscripted(chosen.scripted, request, speaker, pacing=pacing, fault=fault)
        case "failure" | "step":
            assert scenario is not None and step is not None
            return _Stepping(scenario, step, chosen, request, speaker).reply()


def is_long_script(chosen: Chosen, *, stream: bool) -> bool:
    """Whether a step's answer holds so much text, or so much template, that it takes a while."""
    step = chosen.decision.step
    scripted = scripted_answer(step.produce, stream=stream) if step else None
    if not isinstance(scripted, ScriptedAnswer):
        return False
    parts = (part for choice in scripted.choices for part in choice.parts)
    return sum(len(held_text(part)) for part in parts) > LONG_CHARACTERS


def ours(scenario: str, step: str, request: str) -> Headers:
    """The headers that say what answered."""
    return (
        ("x-mockllm-scenario", _percent(scenario)),
        ("x-mockllm-step", _percent(step)),
        ("x-mockllm-request", request),
    )


def with_headers(reply: Reply, *more: Headers) -> Reply:
    """A reply with more headers; a later one takes the place of an earlier one of its name."""
    headers = reply.headers
    for group in more:
        names = {name for name, _ in group}
        headers = (*((k, v) for k, v in headers if k not in names), *group)
    return replace(reply, headers=headers)


@dataclass(frozen=True, slots=True)
class _Stepping:
    """A step at work on a request."""

    scenario: Scenario
    step: Step
    chosen: Chosen
    request: CanonicalRequest
    speaker: Speaker

    def reply(self) -> Reply:
        if self.chosen.kind == "failure":
            return self._struck(self.chosen.fault, delay=0.0)
        delay = self.step.produce.latency_ms / 1000
        cancel = self.chosen.cancel(stream=self.request.stream)
        reply = self._struck(self.step.produce.fault or cancel, delay=delay)
        return _with(reply, _effects(self.step.side_effects, self.request))

    def _struck(self, fault: Fault | None, *, delay: float) -> Reply:
        if fault is None:
            return self._produced(None, delay=delay)
        wire, stream = self.speaker.wire, self.request.stream
        # A raw answer is whole, whoever asks for it.
        raw = isinstance(scripted_answer(self.step.produce, stream=stream), RawAnswer)
        match strike_of(fault, stream=stream and not raw):
            case "silence":
                return silent(fault, delay=delay)
            case "malformed":
                headers = self.speaker.headers()
                return malformed(wire, stream=stream, headers=headers, delay=delay)
            case "error":
                return self.speaker.error(fault_error(fault), delay=delay)
            case "inside":
                return self._produced(fault, delay=delay)

    def _produced(self, fault: Fault | None, *, delay: float) -> Reply:
        speaker, request = self.speaker, self.request
        response = produce(
            self.scenario,
            self.step,
            request,
            seed=speaker.seed,
            created=speaker.created,
            tool_call_prefix=speaker.wire.tool_call_prefix,
            groups=self.chosen.decision.groups,
            max_text_bytes=speaker.max_text_bytes,
        )
        status = self.step.side_effects.status or 200
        match response:
            case ErrorAnswer():
                return speaker.error(response, delay=delay)
            case RawAnswer():
                reply = _with(
                    whole(response.status, response.body, headers=speaker.headers(), delay=delay),
                    response.headers,
                )
                return broken(reply, fault) if fault else reply
            case _:
                return _encoded(
                    response,
                    request,
                    speaker,
                    status=status,
                    delay=delay,
                    pacing=self._pacing(),
                    fault=fault,
                )

    def _pacing(self) -> Pacing:
        """The step's own, or the server's where a generated answer has none."""
        produced = self.step.produce
        scripted, own = scripted_answer(produced, stream=self.request.stream), produced.pacing
        if own.chunk_ms or own.words_per_second or not isinstance(scripted, GeneratedAnswer):
            return own
        return replace(own, words_per_second=self.speaker.words_per_second)


def _unscripted(
    scripted: ScriptedAnswer,
    request: CanonicalRequest,
    speaker: Speaker,
    *,
    pacing: Pacing = UNPACED,
    fault: Fault | None = None,
) -> Reply:
    response = answer(
        scripted,
        request,
        seed=speaker.seed,
        created=speaker.created,
        tool_call_prefix=speaker.wire.tool_call_prefix,
        max_text_bytes=speaker.max_text_bytes,
    )
    if isinstance(response, ErrorAnswer):
        return speaker.error(response)
    return _encoded(response, request, speaker, pacing=pacing, fault=fault)


def _encoded(
    response: CanonicalResponse,
    request: CanonicalRequest,
    speaker: Speaker,
    *,
    status: int = 200,
    delay: float = 0.0,
    pacing: Pacing = UNPACED,
    fault: Fault | None = None,
) -> Reply:
    wire, headers = speaker.wire, speaker.headers()

    def stream(fault: Fault | None) -> Reply:
        def make() -> tuple[StreamEncoder, Iterable[Timed]]:
            timed = plan(
                response,
                pacing=pacing,
                sequential=wire.sequential,
                fault=fault,
                draws=speaker.seed.draws(),
            )
            return wire.encoder(request, response), timed

        if is_long(response):
            cut = fault is not None and kind_of(fault).stream == "cut"
            return streamed_long(wire, make, cut=cut, status=status, headers=headers, delay=delay)
        return streamed(wire, *make(), status=status, headers=headers, delay=delay)

    def kept(keeper: KeepingWire) -> tuple[Kept, ...]:
        sent = (stream(None) if fault else reply).body if request.stream else b""
        return keeper.keeps(request, response, sent)

    if status in BODILESS:
        return whole(status, b"", headers=headers, delay=delay)
    if not request.stream:
        body = wire.render(request, response)
        reply = whole(status, body, headers=headers, delay=delay)
        reply = broken(reply, fault) if fault else reply
    else:
        reply = stream(fault)
    # An answer that fails has not been given; one that was lost on its way can be asked for again.
    if (keeper := keeping(wire)) and (fault is None or kind_of(fault).stream != "error_event"):
        long = request.stream and is_long(response)
        return replace(reply, kept=partial(kept, keeper) if long else kept(keeper))
    return reply


def _effects(effects: SideEffects, request: CanonicalRequest) -> Headers:
    """Scripted headers, and those that are echoed; of a secret only what the journal may show."""
    names = [name.lower() for name in effects.echo_headers if name.lower() in request.headers]
    secrets = secrets_of(request.headers) if names else ()
    echoed = (
        mask(value) if is_secret(name) else without_pieces(value, secrets)
        for name in names
        for value in (request.headers[name],)
    )
    return (
        *effects.headers,
        *((name, quote(value, safe=PRINTABLE)) for name, value in zip(names, echoed, strict=True)),
    )


def _with(reply: Reply, scripted: Headers) -> Reply:
    """A reply with scripted headers, but for those that its bytes decide."""
    if not scripted:
        return reply
    return with_headers(
        reply, tuple((k.lower(), v) for k, v in scripted if k.lower() not in FRAMING)
    )


@lru_cache(maxsize=1024)
def _percent(name: str) -> str:
    return quote(name, safe="")
