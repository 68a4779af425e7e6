"""From a step and a request to the answer: templates filled, ids given by a hash of the request,
tokens counted; and the answers that end a turn script."""

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from itertools import count

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    CanonicalResponse,
    Choice,
    ErrorAnswer,
    Json,
)
from scenarios_app.engine.parts import (
    AnswerPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
    held_text,
)
from scenarios_app.engine.producing.auto import auto_answer
from scenarios_app.engine.producing.lorem import lorem_answer
from scenarios_app.engine.producing.templates import Filling, TooLong, fill_choice, template_values
from scenarios_app.engine.producing.usage import usage_of
from scenarios_app.engine.scenario import (
    ANY_PROVIDER,
    Answer,
    GeneratedAnswer,
    Produce,
    RawAnswer,
    Scenario,
    ScriptedAnswer,
    ScriptedChoice,
    ScriptedUsage,
    Step,
)


class Seed(msgspec.Struct, frozen=True):
    """What one request makes of itself; every id is hexadecimal, without a provider's prefix."""

    hex: str

    @property
    def response_id(self) -> str:
        return self._derive("response")[:32]

    @property
    def request_id(self) -> str:
        return self._derive("request")[:32]

    def tool_call_id(self, number: int) -> str:
        return self._derive(f"tool call {number}")[:24]

    def draws(self) -> Iterator[float]:
        """Numbers from 0 up to but not including 1, without end and the same every time."""
        block = 0
        while True:
            digest = bytes.fromhex(self._derive(f"draws {block}"))
            for (word,) in struct.iter_unpack(">Q", digest):
                yield (word >> 11) * 2.0**-53
            block += 1

    def _derive(self, purpose: str) -> str:
        return sha256(f"{self.hex}/{purpose}".encode()).hexdigest()


def make_seed(session: str, method: str, path: str, body: bytes, ordinal: int) -> Seed:
    """The seed of the `ordinal`-th request of a session. Nothing else of a request counts."""
    own = session.encode("utf-8", "surrogatepass")
    said = method.encode("utf-8", "surrogatepass")
    at = path.encode("utf-8", "surrogatepass")
    number = b"%d" % ordinal
    # Each part with its length before it: no two requests can frame the same bytes.
    framed = b"%d:%b%d:%b%d:%b%d:%b%d:%b" % (
        *(len(own), own, len(said), said, len(at), at),
        *(len(body), body, len(number), number),
    )
    return Seed(sha256(framed).hexdigest())


# Anthropic has most of such tools, so its prefix stands for every wire.
SERVER_TOOL_PREFIX = "srvtoolu_"


def identified(
    choices: Iterable[Choice], seed: Seed, *, tool_call_prefix: str
) -> tuple[Choice, ...]:
    """The choices with an id on every call. A result without one belongs to the last use of its
    tool."""
    ids = _Ids((seed.tool_call_id(number) for number in count(1)), tool_call_prefix)
    return tuple(ids.choice(choice) for choice in choices)


class _Ids(msgspec.Struct):
    """What is given so far, in the order of the answer."""

    fresh: Iterator[str]
    prefix: str
    used: dict[str, str] = {}

    def choice(self, choice: Choice) -> Choice:
        parts = tuple(map(self.part, choice.parts))
        return choice if parts == choice.parts else replace(choice, parts=parts)

    def part(self, part: AnswerPart) -> AnswerPart:
        match part:
            case ToolCallPart(id=""):
                return replace(part, id=self.prefix + next(self.fresh))
            case ServerToolUsePart():
                called = self.used[part.name] = part.id or self.server_id()
                return replace(part, id=called)
            case ServerToolResultPart(tool_use_id=""):
                return replace(part, tool_use_id=self.used.get(part.name) or self.server_id())
            case _:
                return part

    def server_id(self) -> str:
        return SERVER_TOOL_PREFIX + next(self.fresh)


MAX_CHOICES = 128
MAX_TEXT_BYTES = 2_097_152
UNSCRIPTED = ScriptedUsage()


def produce(
    scenario: Scenario,
    step: Step,
    request: CanonicalRequest,
    *,
    seed: Seed,
    created: int,
    tool_call_prefix: str,
    groups: Mapping[str, str],
    max_text_bytes: int = MAX_TEXT_BYTES,
) -> CanonicalResponse | RawAnswer | ErrorAnswer:
    """The answer of a step to a request; an error where the two ask for too much of it."""
    scripted = scripted_answer(step.produce, stream=request.stream)
    values: Callable[[], Mapping[str, str]] | None = None
    match scripted:
        case RawAnswer():
            return scripted
        case GeneratedAnswer():
            message = request.last_user_text
            if _bytes(message) > max_text_bytes:
                return _too_long(max_text_bytes)
            made = auto_answer(request) if scripted.kind == "auto" else lorem_answer(message)
            if isinstance(made, ErrorAnswer):
                return made
            # What is made is never a template.
            scripted = replace(
                made, usage=scripted.usage, provider_metadata=scripted.provider_metadata
            )
        case _:
            values = partial(template_values, scenario, request, groups)
    return answer(
        scripted,
        request,
        seed=seed,
        created=created,
        tool_call_prefix=tool_call_prefix,
        default_usage=scenario.default_usage,
        values=values,
        max_text_bytes=max_text_bytes,
        spoken=_spoken(step, request) if request.also else "",
    )


def _spoken(step: Step, request: CanonicalRequest) -> str:
    """The one of the names that a request may go by under which the step calls its provider."""
    named = (text.equals for text in step.match.provider)
    return next((name for name in named if name and name in request.also), "")


def scripted_answer(produce: Produce, *, stream: bool) -> Answer:
    """The answer scripted for streams or for whole answers; with just one of them, that one."""
    wanted, other = produce.streaming, produce.non_streaming
    if not stream:
        wanted, other = other, wanted
    return wanted or other or ScriptedAnswer(choices=(ScriptedChoice(),))


def answer(
    scripted: ScriptedAnswer,
    request: CanonicalRequest,
    *,
    seed: Seed,
    created: int,
    tool_call_prefix: str,
    default_usage: ScriptedUsage = UNSCRIPTED,
    values: Callable[[], Mapping[str, str]] | None = None,
    max_text_bytes: int = MAX_TEXT_BYTES,
    spoken: str = "",
) -> CanonicalResponse | ErrorAnswer:
    """A scripted answer made the answer to a request. Without `values` its text is no template."""
    copies = 1 if scripted.per_choice else request.n
    if not 1 <= copies <= MAX_CHOICES:
        message = f"Invalid 'n': expected a number from 1 to {MAX_CHOICES}, but got {copies}."
        return ErrorAnswer(400, message, param="n")
    filling = Filling(values, max_text_bytes)
    try:
        filled = [fill_choice(choice, filling) for choice in scripted.choices]
    except TooLong:
        return _too_long(max_text_bytes)
    if sum(map(_size, filled)) * copies > max_text_bytes:
        return _too_long(max_text_bytes)
    choices = identified(filled * copies, seed, tool_call_prefix=tool_call_prefix)
    return CanonicalResponse(
        id=seed.response_id,
        created=created,
        model=request.model,
        choices=choices,
        usage=usage_of(request, choices, scripted=scripted.usage, default=default_usage),
        metadata=_metadata(scripted, request.provider, spoken),
        consecutive=scripted.consecutive,
        spoken=spoken,
    )


def _metadata(scripted: ScriptedAnswer, provider: str, spoken: str) -> Mapping[str, Json]:
    """A provider's own fields go before those of every provider."""
    given = scripted.provider_metadata
    if not given:
        return {}
    return {**given.get(ANY_PROVIDER, {}), **given.get(provider, {}), **given.get(spoken, {})}


def _size(choice: Choice) -> int:
    return sum(map(_bytes, map(held_text, choice.parts)))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _too_long(limit: int) -> ErrorAnswer:
    # A script that is too long by itself is not loaded: it is the request that asks for too much.
    return ErrorAnswer(400, f"The answer would hold more text than the limit of {limit} bytes.")


REPORT_ID = "agent-final-report"
REPORT_TOOL = "agent__final_report"
# What an answer costs that says nothing of its usage.
INPUT_TOKENS, OUTPUT_TOKENS = 64, 32


def final_report(report: Mapping[str, Json]) -> ToolCallPart:
    """A report as the tool call that hands it in."""
    arguments = json.dumps(report, ensure_ascii=False, separators=(",", ":"))
    return ToolCallPart(REPORT_ID, REPORT_TOOL, arguments)


def error_turn(message: str) -> ScriptedAnswer:
    """The answer to a request that was matched but is not as its step expects."""
    return _failure("Scenario validation failed.", f"# Test Harness Error\n\n{message}")


def fallback_step(message: str) -> ScriptedAnswer:
    """The answer for a turn that its scenario does not have."""
    return _failure("Encountered scenario mismatch.", f"# Scenario Failure\n\n{message}")


def _failure(text: str, content: str) -> ScriptedAnswer:
    report: Mapping[str, Json] = {
        "status": "failure",
        "report_format": "markdown",
        "report_content": content,
    }
    parts = (TextPart(text), final_report(report))
    return ScriptedAnswer(
        choices=(ScriptedChoice(parts),),
        usage=ScriptedUsage(input_tokens=INPUT_TOKENS, output_tokens=OUTPUT_TOKENS),
    )
