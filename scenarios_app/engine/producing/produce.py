"""Builds the answer of a step: fills placeholders, assigns ids by a hash of the request, counts
tokens. Also builds the error turn and the fallback step of scenarios selected by id."""

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
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
    ScriptedUsage,
    compact_json,
)
from scenarios_app.engine.parts import (
    AnswerPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
    produced_text,
)
from scenarios_app.engine.producing.auto import auto_answer
from scenarios_app.engine.producing.calls import fit_calls
from scenarios_app.engine.producing.lorem import lorem_answer
from scenarios_app.engine.producing.placeholders import (
    PlaceholderFiller,
    TextTooLong,
    fill_choice,
    placeholder_values,
)
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
    Step,
)


class Seed(msgspec.Struct, frozen=True):
    """The hash of a request, from which the ids and random numbers of its answer derive. Ids are
    hexadecimal; a wire adds its prefixes. `request_id` is for headers and error envelopes."""

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
        """Yield endless numbers for jitter, from 0 to below 1, the same at each call."""
        block = 0
        while True:
            digest = bytes.fromhex(self._derive(f"draws {block}"))
            for (word,) in struct.iter_unpack(">Q", digest):
                yield (word >> 11) * 2.0**-53
            block += 1

    def _derive(self, purpose: str) -> str:
        """Return a hex digest of the seed and a purpose, which is the same in each run."""
        return sha256(f"{self.hex}/{purpose}".encode()).hexdigest()


def make_seed(session: str, method: str, path: str, body: bytes, ordinal: int) -> Seed:
    """Return the seed of a session's `ordinal`-th request: the hash of these values."""
    number = b"%d" % ordinal
    head = _framed_head(session, method, path)
    # Each part is prefixed with its length, so different requests cannot frame the same bytes.
    framed = b"%b%d:%b%d:%b" % (head, len(body), body, len(number), number)
    return Seed(sha256(framed).hexdigest())


@lru_cache(maxsize=1024)
def _framed_head(*texts: str) -> bytes:
    """Return the texts as bytes, each after its length in bytes and a colon. Cached."""
    parts = (text.encode("utf-8", "surrogatepass") for text in texts)
    return b"".join([b"%d:%b" % (len(part), part) for part in parts])


# Anthropic's prefixes, used on every wire: it has most of these tools.
SERVER_TOOL_PREFIX, MCP_TOOL_PREFIX = "srvtoolu_", "mcptoolu_"


def assign_ids(
    choices: Iterable[Choice], seed: Seed, *, tool_call_prefix: str
) -> tuple[Choice, ...]:
    """Return the choices with ids from the seed on calls without one; existing ids stay.

    `tool_call_prefix` begins the new ids of the client's tools. A result of a server tool without
    an id gets that of its tool's last use in the choices so far, or a new one.
    """
    fresh = (seed.tool_call_id(number) for number in count(1))
    used: dict[str, str] = {}

    def new_server_id(server: str) -> str:
        return (MCP_TOOL_PREFIX if server else SERVER_TOOL_PREFIX) + next(fresh)

    def with_id(part: AnswerPart) -> AnswerPart:
        """Return a part with an id, if it can have one; note the id of a server tool's use."""
        match part:
            case ToolCallPart(id=""):
                return replace(part, id=tool_call_prefix + next(fresh))
            case ServerToolUsePart():
                used[part.name] = part.id or new_server_id(part.server)
                return replace(part, id=used[part.name])
            case ServerToolResultPart(tool_use_id=""):
                use_id = used.get(part.name) or new_server_id(part.server)
                return replace(part, tool_use_id=use_id)
            case _:
                return part

    assigned = []
    for choice in choices:
        parts = tuple(map(with_id, choice.parts))
        assigned.append(choice if parts == choice.parts else replace(choice, parts=parts))
    return tuple(assigned)


MAX_CHOICES = 128
MAX_TEXT_BYTES = 2_097_152


def produce(
    scenario: Scenario,
    step: Step,
    request: CanonicalRequest,
    *,
    seed: Seed,
    created: int,
    tool_call_prefix: str,
    groups: Mapping[str, str],
    custom_tools: bool = False,
    max_text_bytes: int = MAX_TEXT_BYTES,
) -> CanonicalResponse | RawAnswer | ErrorAnswer:
    """Return the answer of a step to a request, without the step's faults and side effects.

    A raw answer is returned unchanged. Returns a 400 error if the answer would exceed a limit, or
    cannot be generated for the request. `created` is in Unix seconds. `groups` are the texts that
    the step's regexes captured. `build_response` explains the other arguments.
    """
    scripted = scripted_answer(step.produce, stream=request.stream)
    values: Callable[[], Mapping[str, str]] = dict
    match scripted:
        case RawAnswer():
            return scripted
        case GeneratedAnswer():
            message = request.last_user_text
            if _byte_length(message) > max_text_bytes:
                return _too_long_error(max_text_bytes)
            generated = auto_answer(request) if scripted.kind == "auto" else lorem_answer(message)
            if isinstance(generated, ErrorAnswer):
                return generated
            # Generated text has no placeholders.
            scripted = replace(
                generated, usage=scripted.usage, provider_metadata=scripted.provider_metadata
            )
        case _:
            values = partial(placeholder_values, scenario, request, groups)
    return build_response(
        scripted,
        request,
        seed=seed,
        created=created,
        tool_call_prefix=tool_call_prefix,
        values=values,
        custom_tools=custom_tools,
        max_text_bytes=max_text_bytes,
        spoken=_spoken_dialect(step, request) if request.also else "",
    )


def _spoken_dialect(step: Step, request: CanonicalRequest) -> str:
    """Return the dialect to answer in: the first provider of the step's match that is among the
    request's dialects (`also`), else ""."""
    named = (text.equals for text in step.match.alternatives("provider"))
    return next((name for name in named if name and name in request.also), "")


def scripted_answer(produce: Produce, *, stream: bool) -> Answer:
    """Return the answer scripted for streams or for whole answers, else the one for the other mode,
    else an empty answer."""
    wanted, other = produce.streaming, produce.non_streaming
    if not stream:
        wanted, other = other, wanted
    return wanted or other or ScriptedAnswer(choices=(ScriptedChoice(),))


def build_response(
    scripted: ScriptedAnswer,
    request: CanonicalRequest,
    *,
    seed: Seed,
    created: int,
    tool_call_prefix: str,
    values: Callable[[], Mapping[str, str]] = dict,
    custom_tools: bool = False,
    max_text_bytes: int = MAX_TEXT_BYTES,
    spoken: str = "",
) -> CanonicalResponse | ErrorAnswer:
    """Return the response for a scripted answer, with placeholders filled, ids and usage.

    Returns a 400 error if the request's `n` or the answer's text exceeds a limit. `values` makes
    the values of placeholders; without it, all of them stay. `custom_tools` is true if the API
    has such tools. `spoken` is the dialect to answer in, or "".
    """
    copies = 1 if scripted.per_choice else request.n
    if not 1 <= copies <= MAX_CHOICES:
        message = f"Invalid 'n': expected a number from 1 to {MAX_CHOICES}, but got {copies}."
        return ErrorAnswer(400, message, param="n")
    filler = PlaceholderFiller(values, max_text_bytes)
    try:
        filled = [fill_choice(choice, filler) for choice in scripted.choices]
    except TextTooLong:
        return _too_long_error(max_text_bytes)
    if any(isinstance(part, ToolCallPart) for choice in filled for part in choice.parts):
        filled = [fit_calls(choice, request.tools, custom_tools=custom_tools) for choice in filled]
    size = sum(_byte_length(produced_text(part)) for choice in filled for part in choice.parts)
    if size * copies > max_text_bytes:
        return _too_long_error(max_text_bytes)
    choices = assign_ids(filled * copies, seed, tool_call_prefix=tool_call_prefix)
    return CanonicalResponse(
        id=seed.response_id,
        created=created,
        model=request.model,
        choices=choices,
        usage=usage_of(request, choices, scripted.usage),
        metadata=_metadata(scripted, request.provider, spoken),
        consecutive=scripted.consecutive,
        spoken=spoken,
    )


def _metadata(scripted: ScriptedAnswer, provider: str, spoken: str) -> Mapping[str, Json]:
    """Return the extra top-level fields of a response: those for any provider, overridden by those
    for the request's provider, then by those for the spoken dialect."""
    metadata = scripted.provider_metadata
    return {
        **metadata.get(ANY_PROVIDER, {}),
        **metadata.get(provider, {}),
        **metadata.get(spoken, {}),
    }


def _byte_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _too_long_error(limit: int) -> ErrorAnswer:
    # A script that is too long by itself is rejected on load, so the request is the cause.
    return ErrorAnswer(400, f"The answer would hold more text than the limit of {limit} bytes.")


REPORT_ID = "agent-final-report"
REPORT_TOOL = "agent__final_report"
# Usage of error turns, fallback steps and scenarios in turns form without scripted counts.
INPUT_TOKENS, OUTPUT_TOKENS = 64, 32


def final_report(report: Mapping[str, Json]) -> ToolCallPart:
    """Return the call of the tool for final reports; the report becomes its arguments as JSON."""
    return ToolCallPart(REPORT_ID, REPORT_TOOL, compact_json(report))


def error_turn(message: str) -> ScriptedAnswer:
    """Return the answer to a request that violates an expectation of a scenario selected by id, or
    that must name such a scenario and names none."""
    return _failure_answer("Scenario validation failed.", f"# Test Harness Error\n\n{message}")


def fallback_step(message: str) -> ScriptedAnswer:
    """Return a failed final report with a message, for a turn that a scenario by id lacks."""
    return _failure_answer("Encountered scenario mismatch.", f"# Scenario Failure\n\n{message}")


def _failure_answer(text: str, content: str) -> ScriptedAnswer:
    """Return an answer with this text and a final report of failure whose content is Markdown."""
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
