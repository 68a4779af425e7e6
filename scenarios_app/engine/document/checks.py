"""Checks that need a whole scenario: turns, placeholder names and limits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scenarios_app.engine.canonical import text_or_json
from scenarios_app.engine.conditions.match import match_model
from scenarios_app.engine.document.answer import ProduceDocument
from scenarios_app.engine.document.parts import ChunkDocument, join_chunks
from scenarios_app.engine.document.regular_files import MAX_FILE_BYTES
from scenarios_app.engine.document.scenario import ScenarioDocument, StepDocument
from scenarios_app.engine.parts import streamed_text
from scenarios_app.engine.producing.placeholders import placeholder_names, unknown_names
from scenarios_app.engine.scenario import Answer, GeneratedAnswer, RawAnswer
from scenarios_app.engine.shapes import KeyProblem, Loc

# Names of the request, which hide variables of the same name.
_RESERVED_NAMES = ("request", "match")
# Upper bound of the bytes that default values add to an answer.
_DEFAULTS_BYTES = 1_000
_FILLED_KEYS = frozenset(
    {"choices", "chunks", "input", "name", "non_streaming", "parts", "reasoning", "refusal"}
    | {"result", "streaming", "text", "tool_call", "tool_calls"}
)


@dataclass(frozen=True, slots=True)
class DocumentLimits:
    """Upper limits for one step, and for a file of scenarios."""

    text_bytes: int = 2_097_152
    latency_ms: int = 600_000
    file_bytes: int = MAX_FILE_BYTES


LIMITS = DocumentLimits()


def check_scenario(document: ScenarioDocument, limits: DocumentLimits) -> Iterator[KeyProblem]:
    """Yield the problems of a scenario that its parts alone do not show, such as missing turns."""
    for name in _RESERVED_NAMES:
        if isinstance(document.variables.get(name), dict):
            yield ("variables", name), "an object of this name would never be seen in an answer"
    if document.select == "first_user_message":
        yield from _check_turns(document)
    for number, step in enumerate(document.steps):
        for loc, text in _check_step(document, step, limits):
            yield ("steps", number, *loc), text


def _check_step(
    document: ScenarioDocument, step: StepDocument, limits: DocumentLimits
) -> Iterator[KeyProblem]:
    """Yield the problems of one step: its placeholders, durations and size."""
    dumped = step.produce.model_dump_json(exclude_defaults=True)
    if "{{" in dumped:
        yield from _check_placeholders(document, step)
    yield from _check_torn_placeholders(step.produce)
    yield from _check_durations(step, limits)
    # The dumped step has at least half of the bytes that are sent, apart from defaults.
    if 2 * len(dumped.encode()) + _DEFAULTS_BYTES > limits.text_bytes:
        yield from _check_size(step, limits)


def _check_turns(document: ScenarioDocument) -> Iterator[KeyProblem]:
    """Yield the problems of steps that are chosen by turn: no turn, a turn used twice, and the keys
    `match` and `consume`."""
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


def _check_placeholders(document: ScenarioDocument, step: StepDocument) -> Iterator[KeyProblem]:
    """Yield a problem for each unknown name in a placeholder of the step's answer."""
    groups = step.match.compile().group_names
    dumped = step.produce.model_dump(exclude_defaults=True, by_alias=True)
    for loc, text in _find_texts(dumped, ("produce",)):
        for name in unknown_names(text, document.variables, groups=groups):
            yield loc, f"unknown name in {{{{ {name} }}}}"


def _check_torn_placeholders(produce: ProduceDocument) -> Iterator[KeyProblem]:
    """Yield a problem for each placeholder name that is split between two chunks."""
    modes = ("streaming", produce.streaming), ("non_streaming", produce.non_streaming)
    answers = ((), produce), *(((mode,), answer) for mode, answer in modes)
    for loc, answer in answers:
        for name in _find_torn_names(answer.chunks) if answer and answer.chunks else ():
            text = f"{{{{ {name} }}}} is split by the end of a chunk"
            yield ("produce", *loc, "chunks"), text


def _find_texts(dumped: Any, loc: Loc) -> Iterator[tuple[Loc, str]]:
    """Yield each text of a dumped answer that can hold placeholders, with its location."""
    match dumped:
        case str():
            yield loc, dumped
        case list():
            for number, item in enumerate(dumped):
                yield from _find_texts(item, (*loc, number))
        case _:
            for key, item in dumped.items():
                if key in ("arguments", "final_report", "hosted_tool", "json"):
                    yield (*loc, key), text_or_json(item)
                elif key in _FILLED_KEYS:
                    yield from _find_texts(item, (*loc, key))


def _find_torn_names(documents: Sequence[ChunkDocument]) -> Iterator[str]:
    """Yield the names that only the joined chunks contain, since chunks are filled one by one."""
    parts, chunks = join_chunks(documents)
    names_by_part: dict[int, set[str]] = {}
    for chunk in chunks:
        names_by_part.setdefault(chunk.part, set()).update(placeholder_names(chunk.text))
    for number, part in enumerate(parts):
        names = placeholder_names(streamed_text(part))
        yield from (name for name in names if name not in names_by_part.get(number, ()))


def _check_durations(step: StepDocument, limits: DocumentLimits) -> Iterator[KeyProblem]:
    """Yield a problem for each single duration above the limit."""
    produce = step.produce
    durations: list[tuple[Loc, int]] = [
        (("produce", "latency_ms"), produce.latency_ms),
        (("produce", "pacing", "first_ms"), produce.pacing.first_ms),
        (("produce", "pacing", "chunk_ms"), produce.pacing.chunk_ms),
    ]
    if produce.fault is not None:
        durations.append((("produce", "fault", "hold_ms"), produce.fault.hold_ms))
    if step.failures is not None:
        durations.append((("failures", "fault", "hold_ms"), step.failures.fault.hold_ms))
    for loc, milliseconds in durations:
        if milliseconds > limits.latency_ms:
            yield loc, f"expected at most {limits.latency_ms} milliseconds"


def _check_size(step: StepDocument, limits: DocumentLimits) -> Iterator[KeyProblem]:
    """Yield a problem if an answer of the step has more bytes of text than the limit."""
    produce = step.produce.compile()
    size = max(_text_bytes(produce.streaming), _text_bytes(produce.non_streaming))
    if size > limits.text_bytes:
        yield ("produce",), f"holds {size} bytes of text, expected at most {limits.text_bytes}"


def _text_bytes(answer: Answer | None) -> int:
    """Return the size of an answer's parts or raw body in bytes; 0 if it is generated or None."""
    match answer:
        case None | GeneratedAnswer():
            return 0
        case RawAnswer():
            return len(answer.body)
        case _:
            parts = (part for choice in answer.choices for part in choice.parts)
            return sum(len(streamed_text(part).encode()) for part in parts)
