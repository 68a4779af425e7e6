"""What only a whole scenario can tell of its steps: turns, template names, limits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scenarios_app.engine.conditions.match import match_model
from scenarios_app.engine.document.answer import AnswerDocument, ProduceDocument
from scenarios_app.engine.document.compile import compile_produce, encode, join_chunks
from scenarios_app.engine.document.parts import ChunkDocument
from scenarios_app.engine.document.scenario import ScenarioDocument, StepDocument
from scenarios_app.engine.parts import streamed_text
from scenarios_app.engine.producing.templates import template_names, unknown_names
from scenarios_app.engine.scenario import Answer, GeneratedAnswer, RawAnswer
from scenarios_app.engine.shapes import Finding, Loc

# The request's own names go before a variable's keys: these would never be seen.
_TAKEN = ("request", "match")
# More bytes than an answer has that its document leaves out.
_DEFAULTS = 1_000
_TEMPLATED = frozenset(
    {
        "choices",
        "chunks",
        "name",
        "non_streaming",
        "parts",
        "reasoning",
        "refusal",
        "result",
        "streaming",
        "text",
        "tool_call",
        "tool_calls",
    }
)


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """The most that a step may ask for."""

    text_bytes: int = 2_097_152
    latency_ms: int = 600_000


LIMITS = DocumentLimits()


def check_scenario(document: ScenarioDocument, limits: DocumentLimits) -> Iterator[Finding]:
    """What is wrong with a scenario although each of its parts is right by itself."""
    for name in _TAKEN:
        if isinstance(document.variables.get(name), dict):
            yield ("variables", name), "an object of this name would never be seen in an answer"
    if document.select == "first_user_message":
        yield from _check_turns(document)
    for number, step in enumerate(document.steps):
        for loc, text in _check_step(document, step, limits):
            yield ("steps", number, *loc), text


def _check_step(
    document: ScenarioDocument, step: StepDocument, limits: DocumentLimits
) -> Iterator[Finding]:
    written = step.produce.model_dump_json(exclude_defaults=True)
    if "{{" in written:
        yield from _check_templates(document, step)
    yield from _check_chunks(step)
    yield from _check_times(step, limits)
    # What is written down is no shorter than half of what is sent, defaults apart.
    if 2 * len(written.encode()) + _DEFAULTS > limits.text_bytes:
        yield from _check_size(step, limits)


def _check_turns(document: ScenarioDocument) -> Iterator[Finding]:
    seen: set[int] = set()
    for number, step in enumerate(document.steps):
        if step.turn is None:
            yield ("steps", number, "turn"), "missing: select first_user_message chooses by turn"
        elif step.turn in seen:
            yield ("steps", number, "turn"), f"another step has turn {step.turn}"
        else:
            seen.add(step.turn)
        if step.match != match_model()():
            yield ("steps", number, "match"), "has no place beside select first_user_message"
        if "consume" in step.model_fields_set:
            yield ("steps", number, "consume"), "has no place beside select first_user_message"


def _check_templates(document: ScenarioDocument, step: StepDocument) -> Iterator[Finding]:
    groups = step.match.compiled().group_names
    for loc, text in _templates(step.produce.model_dump(exclude_defaults=True), ("produce",)):
        for name in unknown_names(text, document.variables, groups=groups):
            yield loc, f"unknown name in {{{{ {name} }}}}"


def _check_chunks(step: StepDocument) -> Iterator[Finding]:
    for loc, answer in _answers(step.produce):
        for name in _torn_names(answer.chunks) if answer.chunks else ():
            yield (*loc, "chunks"), f"{{{{ {name} }}}} is torn apart by the end of a chunk"


def _templates(written: Any, loc: Loc) -> Iterator[tuple[Loc, str]]:
    """Every text of a dumped answer that may hold templates, and where it stands."""
    match written:
        case str():
            yield loc, written
        case list():
            for number, item in enumerate(written):
                yield from _templates(item, (*loc, number))
        case _:
            for key, item in written.items():
                if key in ("arguments", "final_report"):
                    yield (*loc, key), encode(item)
                elif key in _TEMPLATED:
                    yield from _templates(item, (*loc, key))


def _answers(produce: ProduceDocument) -> Iterator[tuple[Loc, AnswerDocument]]:
    yield ("produce",), produce
    if produce.streaming is not None:
        yield ("produce", "streaming"), produce.streaming
    if produce.non_streaming is not None:
        yield ("produce", "non_streaming"), produce.non_streaming


def _torn_names(documents: Sequence[ChunkDocument]) -> Iterator[str]:
    """Names that only the join of chunks has; chunks are filled one by one."""
    parts, chunks = join_chunks(documents)
    filled: dict[int, set[str]] = {}
    for chunk in chunks:
        filled.setdefault(chunk.part, set()).update(template_names(chunk.text))
    for number, part in enumerate(parts):
        names = template_names(streamed_text(part))
        yield from (name for name in names if name not in filled.get(number, ()))


def _check_times(step: StepDocument, limits: DocumentLimits) -> Iterator[Finding]:
    for loc, milliseconds in _times(step):
        if milliseconds > limits.latency_ms:
            yield loc, f"expected at most {limits.latency_ms} milliseconds"


def _check_size(step: StepDocument, limits: DocumentLimits) -> Iterator[Finding]:
    produce = compile_produce(step.produce)
    size = max(_size(produce.streaming), _size(produce.non_streaming))
    if size > limits.text_bytes:
        yield ("produce",), f"holds {size} bytes of text, expected at most {limits.text_bytes}"


def _times(step: StepDocument) -> Iterator[tuple[Loc, int]]:
    produce = step.produce
    yield ("produce", "latency_ms"), produce.latency_ms
    yield ("produce", "pacing", "first_ms"), produce.pacing.first_ms
    yield ("produce", "pacing", "chunk_ms"), produce.pacing.chunk_ms
    if produce.fault is not None:
        yield ("produce", "fault", "hold_ms"), produce.fault.hold_ms
    if step.failures is not None:
        yield ("failures", "fault", "hold_ms"), step.failures.fault.hold_ms


def _size(answer: Answer | None) -> int:
    match answer:
        case None | GeneratedAnswer():
            return 0
        case RawAnswer():
            return len(answer.body)
        case _:
            parts = (part for choice in answer.choices for part in choice.parts)
            return sum(len(streamed_text(part).encode()) for part in parts)
