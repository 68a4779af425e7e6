"""From a checked scenario document to the frozen values that the engine runs. One way only."""

from collections.abc import Iterable, Sequence

from scenarios_app.engine.document.compile_answers import (
    compile_fault,
    compile_headers,
    compile_produce,
)
from scenarios_app.engine.document.fault import FailuresDocument
from scenarios_app.engine.document.match import (
    ExpectDocument,
    MatchDocument,
    MessageConditionDocument,
    TextConditionDocument,
    ToolCallConditionDocument,
    ToolResultConditionDocument,
)
from scenarios_app.engine.document.scenario import (
    ScenarioDocument,
    SideEffectsDocument,
    StepDocument,
)
from scenarios_app.engine.scenario import (
    CATCH_ALL,
    Expect,
    Failures,
    Match,
    MessageCondition,
    Scenario,
    SideEffects,
    Step,
    TextCondition,
    ToolCallCondition,
    ToolResultCondition,
)


def compile_scenario(
    document: ScenarioDocument, *, step_keys: Sequence[str] | None = None
) -> Scenario:
    """The scenario as the engine runs it.

    `step_keys` are the steps' identities in the state of sessions, one for each step; without
    them a step is its number from 1, which stays as long as steps are only added at the end.
    """
    keys = step_keys or [str(number) for number in range(1, len(document.steps) + 1)]
    by_turn = document.select == "first_user_message"
    return Scenario(
        name=document.name,
        steps=tuple(
            _step(step, key=key, label=step.name or str(number), by_turn=by_turn)
            for number, (step, key) in enumerate(zip(document.steps, keys, strict=True), 1)
        ),
        priority=document.priority,
        select=document.select,
        variables=document.variables,
        system_prompt_must_include=tuple(document.system_prompt_must_include),
        catch_all=document.name == CATCH_ALL,
    )


def match_of(document: MatchDocument) -> Match:
    """Conditions on a request, wherever in a document they stand."""
    return Match(
        provider=_texts(document.provider),
        path=_texts(document.path),
        model=_texts(document.model),
        stream=document.stream,
        messages=tuple(map(_message, document.messages)),
        tools=tuple(document.tools),
        tool_calls=tuple(map(_tool_call, document.tool_calls)),
        tool_results=tuple(map(_tool_result, document.tool_results)),
        headers=tuple((name.lower(), _text(c)) for name, c in document.headers.items()),
        metadata=tuple((key, _text(c)) for key, c in document.metadata.items()),
    )


def _step(document: StepDocument, *, key: str, label: str, by_turn: bool) -> Step:
    return Step(
        key=key,
        label=label,
        match=match_of(document.match),
        produce=compile_produce(document.produce),
        turn=document.turn,
        consume=document.consume and not by_turn,
        expect=_expect(document.expect),
        failures=_failures(document.failures),
        side_effects=_side_effects(document.side_effects),
    )


def _failures(document: FailuresDocument | None) -> Failures | None:
    return None if document is None else Failures(document.times, compile_fault(document.fault))


def _expect(document: ExpectDocument) -> Expect:
    return Expect(**{**dict(document), "tools": tuple(document.tools)})


def _side_effects(document: SideEffectsDocument) -> SideEffects:
    return SideEffects(
        counter=document.counter,
        status=document.status,
        headers=compile_headers(document.headers),
        echo_headers=tuple(name.lower() for name in document.echo_headers),
        asserts=tuple(map(match_of, document.asserts)),
    )


def _texts(documents: Iterable[TextConditionDocument]) -> tuple[TextCondition, ...]:
    return tuple(map(_text, documents))


def _text(document: TextConditionDocument) -> TextCondition:
    return TextCondition(
        equals=document.equals,
        contains=document.contains,
        startswith=document.startswith,
        regex=document.regex,
        ignore_case=document.ignore_case,
    )


def _message(document: MessageConditionDocument) -> MessageCondition:
    return MessageCondition(_text(document), document.role, document.which)


def _tool_call(document: ToolCallConditionDocument) -> ToolCallCondition:
    return ToolCallCondition(document.name, document.arguments)


def _tool_result(document: ToolResultConditionDocument) -> ToolResultCondition:
    return ToolResultCondition(
        _text(document), document.tool_call_id, document.name, document.is_error
    )
