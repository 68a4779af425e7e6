"""From a step and a request to the answer: templates filled, ids given, tokens counted."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import count

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Choice
from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.engine.filling import Filling, TooLong, fill_choice
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.engine.scenario import (
    Answer,
    Produce,
    RawAnswer,
    Scenario,
    ScriptedAnswer,
    ScriptedChoice,
    ScriptedUsage,
    Step,
)
from scenarios_app.engine.seed import Seed
from scenarios_app.engine.templating import template_values
from scenarios_app.engine.usage import usage_of

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
    if isinstance(scripted, RawAnswer):
        return scripted
    return answer(
        scripted,
        request,
        seed=seed,
        created=created,
        tool_call_prefix=tool_call_prefix,
        default_usage=scenario.default_usage,
        values=lambda: template_values(scenario, request, groups),
        max_text_bytes=max_text_bytes,
    )


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
    ids = (tool_call_prefix + seed.tool_call_id(number) for number in count(1))
    choices = tuple(_identified(choice, ids) for _ in range(copies) for choice in filled)
    return CanonicalResponse(
        id=seed.response_id,
        created=created,
        model=request.model,
        choices=choices,
        usage=usage_of(request, choices, scripted=scripted.usage, default=default_usage),
        metadata=scripted.provider_metadata.get(request.provider, {}),
    )


def _identified(choice: Choice, ids: Iterator[str]) -> Choice:
    if not any(isinstance(part, ToolCallPart) and not part.id for part in choice.parts):
        return choice
    parts = tuple(
        replace(part, id=next(ids)) if isinstance(part, ToolCallPart) and not part.id else part
        for part in choice.parts
    )
    return replace(choice, parts=parts)


def _size(choice: Choice) -> int:
    texts = (p.name + p.arguments if isinstance(p, ToolCallPart) else p.text for p in choice.parts)
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


def _too_long(limit: int) -> ErrorAnswer:
    return ErrorAnswer(500, f"The scripted answer holds more text than the limit of {limit} bytes.")
