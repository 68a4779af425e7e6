"""Compiles validated scenario documents to the immutable values that the engine runs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from scenarios_app.engine.canonical import Json, compact_json, text_or_json
from scenarios_app.engine.document.answer import (
    AnswerDocument,
    ChoiceDocument,
    FinalReportDocument,
    ProduceDocument,
)
from scenarios_app.engine.document.fault import FaultDocument
from scenarios_app.engine.document.parts import (
    ChunkDocument,
    PartDocument,
    ProseDocument,
    ToolCallDocument,
    ToolCallPieceDocument,
)
from scenarios_app.engine.document.scenario import ScenarioDocument, StepDocument
from scenarios_app.engine.parts import (
    AnswerPart,
    Chunk,
    ReasoningPart,
    RefusalPart,
    ScriptedPart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.engine.producing.produce import final_report
from scenarios_app.engine.scenario import (
    CATCH_ALL,
    Answer,
    Expect,
    Failures,
    Fault,
    GeneratedAnswer,
    Pacing,
    Produce,
    RawAnswer,
    Scenario,
    ScriptedAnswer,
    ScriptedChoice,
    ScriptedUsage,
    SideEffects,
    Step,
)
from scenarios_app.engine.shapes import Document

# Shared by all steps without these sections.
_NO_EXPECT, _NO_SIDE_EFFECTS = Expect(), SideEffects()
_DEFAULT_PACING, _DEFAULT_USAGE = Pacing(), ScriptedUsage()

S = TypeVar("S", bound=Struct)


def compile_scenario(
    document: ScenarioDocument, *, step_keys: Sequence[str] | None = None
) -> Scenario:
    """Return the scenario as the engine runs it.

    `step_keys` identify the steps in the state of sessions. Without them a step's key is its number
    from 1, which is stable only while steps are added at the end.
    """
    keys = step_keys or [str(number) for number in range(1, len(document.steps) + 1)]
    by_turn = document.select == "first_user_message"
    return Scenario(
        name=document.name,
        steps=tuple(
            _compile_step(step, key=key, label=step.name or str(number), by_turn=by_turn)
            for number, (step, key) in enumerate(zip(document.steps, keys, strict=True), 1)
        ),
        priority=document.priority,
        select=document.select,
        variables=document.variables,
        system_prompt_must_include=tuple(document.system_prompt_must_include),
        catch_all=document.name == CATCH_ALL,
    )


def _compile_step(document: StepDocument, *, key: str, label: str, by_turn: bool) -> Step:
    failures, effects = document.failures, document.side_effects
    equivalent = {name: why for name, why in document.equivalent_changes if why is not None}
    return Step(
        key=key,
        label=label,
        match=document.match.compiled(),
        produce=compile_produce(document.produce),
        turn=document.turn,
        consume=document.consume and not by_turn,
        expect=_compile_section(_NO_EXPECT, document.expect, tools=tuple(document.expect.tools)),
        failures=Failures(failures.times, compile_fault(failures.fault)) if failures else None,
        side_effects=_compile_section(
            _NO_SIDE_EFFECTS,
            effects,
            headers=compile_headers(effects.headers),
            echo_headers=tuple(name.lower() for name in effects.echo_headers),
            asserts=tuple(match.compiled() for match in effects.asserts),
        ),
        equivalent_changes=equivalent,
    )


def _compile_section(default: S, document: Document, **changed: object) -> S:
    """Return the default with the document's values, or with those that `changed` has instead."""
    if not document.model_fields_set:
        return default
    return replace(default, **{**dict(document), **changed})


def compile_produce(document: ProduceDocument) -> Produce:
    """Compile an answer; an answer for one mode serves both."""
    first = document.streaming or document.non_streaming or document
    streaming = non_streaming = _compile_answer(first) if first.forms else None
    if document.streaming and document.non_streaming:
        non_streaming = _compile_answer(document.non_streaming)
    recorded = document.recorded if document.is_unedited_recording else None
    return Produce(
        streaming=streaming,
        non_streaming=non_streaming,
        fault=None if document.fault is None else compile_fault(document.fault),
        latency_ms=document.latency_ms,
        pacing=_compile_section(_DEFAULT_PACING, document.pacing),
        unoffered=document.unoffered,
        recorded=recorded.compiled() if recorded else None,
    )


def compile_fault(document: FaultDocument) -> Fault:
    return Fault(**{**dict(document), "headers": compile_headers(document.headers)})


def compile_headers(headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return headers with lower-case names."""
    return tuple((name.lower(), value) for name, value in headers.items())


def _compile_answer(document: AnswerDocument) -> Answer:
    if document.raw is not None:
        raw = document.raw
        body = b"" if raw.body is None else text_or_json(raw.body).encode()
        return RawAnswer(raw.status, compile_headers(raw.headers), body)
    if document.generate is not None:
        return GeneratedAnswer(
            kind=document.generate.kind,
            usage=_compile_section(_DEFAULT_USAGE, document.usage),
            provider_metadata=document.provider_metadata,
        )
    if document.choices is not None:
        choices = tuple(map(_compile_choice, document.choices))
    elif document.chunks is not None:
        parts, chunks = join_chunks(document.chunks)
        choices = (replace(_compile_choice(document), parts=parts, chunks=chunks),)
    else:
        choices = (_compile_choice(document),)
    return ScriptedAnswer(
        choices=choices,
        per_choice=document.choices is not None,
        usage=_compile_section(_DEFAULT_USAGE, document.usage),
        provider_metadata=document.provider_metadata,
    )


def _compile_choice(document: ChoiceDocument) -> ScriptedChoice:
    return ScriptedChoice(
        parts=tuple(_compile_parts(document)),
        finish_reason=document.finish_reason,
        stop_sequence=document.stop_sequence,
    )


def _compile_parts(document: ChoiceDocument) -> Iterator[AnswerPart]:
    """Yield reasoning, text or JSON, tool calls, final report and refusal, or the listed parts."""
    for part in document.parts or ():
        if part.hosted_tool is not None:
            yield from part.hosted_tool.compiled()
        else:
            yield _compile_part(part)
    for block in document.reasoning or ():
        yield _compile_reasoning(block.text, block.signature, block.redacted)
    if document.text is not None:
        yield TextPart(document.text)
    if document.json_value is not None:
        yield _compile_json(document.json_value)
    yield from map(_compile_call, document.tool_calls)
    if document.final_report is not None:
        yield final_report(report_arguments(document.final_report))
    if document.refusal is not None:
        yield RefusalPart(document.refusal)


def report_arguments(report: FinalReportDocument) -> dict[str, Json]:
    """Return the given keys of a final report in their order."""
    return {key: value for key, value in report.model_dump().items() if value is not None}


def _compile_call(document: ToolCallDocument) -> ToolCallPart:
    custom = document.input is not None
    text = text_or_json(document.arguments if document.input is None else document.input)
    return ToolCallPart(document.id or "", document.name, text, custom, document.namespace or "")


def _compile_json(value: Json) -> TextPart:
    return TextPart(compact_json(value), is_json=True)


def _compile_part(document: PartDocument) -> ScriptedPart:
    if document.tool_call is not None:
        return _compile_call(document.tool_call)
    if document.json_value is not None:
        return _compile_json(document.json_value)
    if document.citations:
        return TextPart(document.text or "", tuple(one.compiled() for one in document.citations))
    return _compile_prose(document)


def _compile_prose(document: ProseDocument) -> TextPart | ReasoningPart | RefusalPart:
    if document.text is not None:
        return TextPart(document.text)
    if document.refusal is not None:
        return RefusalPart(document.refusal)
    return _compile_reasoning(document.reasoning, document.signature, document.redacted)


def _compile_reasoning(
    text: str | None, signature: str | None, redacted: bool | str | None
) -> ReasoningPart:
    if redacted is True:
        return ReasoningPart("", signature, text)
    return ReasoningPart(text or "", signature, redacted or None)


def join_chunks(
    documents: Sequence[ChunkDocument],
) -> tuple[tuple[ScriptedPart, ...], tuple[Chunk, ...]]:
    """Return the parts that stream deltas form, and the deltas as pieces of those parts.

    Prose continues the previous part of its kind; pieces of a call belong to the call of their
    index. A call without arguments in any piece needs no delta.
    """
    parts: list[ScriptedPart] = []
    calls: list[int] = []
    calls_without_arguments: set[int] = set()
    chunks: list[Chunk] = []
    for document in documents:
        match document.tool_call:
            case None:
                part = _compile_prose(document)
                if parts and _can_join(parts[-1], part):
                    parts.pop()
                parts.append(part)
                chunks.append(Chunk(len(parts) - 1, part.text))
            case ToolCallPieceDocument(index=int(index), name=None):
                calls_without_arguments.discard(calls[index])
                chunks.append(Chunk(calls[index], document.tool_call.text))
            case first:
                calls.append(len(parts))
                custom = first.input is not None
                names = first.id or "", first.name or ""
                parts.append(ToolCallPart(*names, "", custom, first.namespace or ""))
                if first.arguments is None and not custom:
                    calls_without_arguments.add(calls[-1])
                chunks.append(Chunk(calls[-1], first.text))
    pieces: list[list[str]] = [[] for _ in parts]
    for chunk in chunks:
        pieces[chunk.part].append(chunk.text)
    for call in calls_without_arguments:
        pieces[call] = ["{}"]
    whole = (_with_text(part, "".join(texts)) for part, texts in zip(parts, pieces, strict=True))
    return tuple(whole), tuple(c for c in chunks if c.part not in calls_without_arguments)


def _can_join(part: ScriptedPart, more: ScriptedPart) -> bool:
    """Return True if `more` continues a part. A signature ends a block of reasoning, and redacted
    reasoning is a block by itself."""
    match part, more:
        case ReasoningPart(signature=None, redacted=None), ReasoningPart(redacted=None):
            return True
        case ReasoningPart(), _:
            return False
        case _:
            return type(part) is type(more)


def _with_text(part: ScriptedPart, text: str) -> ScriptedPart:
    key = "arguments" if isinstance(part, ToolCallPart) else "text"
    return replace(part, **{key: text})
