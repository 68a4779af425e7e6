"""Proposes a conversation that a scenario answers, made from the conditions of its steps."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from random import Random
from typing import Any

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.messages import MessageCondition
from scenarios_app.engine.conditions.request import StreamCondition
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.conditions.tools import OfferedToolCondition, ToolResultCondition
from scenarios_app.engine.matching.index import Index
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.engine.scenario import Scenario, Step
from scenarios_app.engine.schemas.keywords import SchemaError
from scenarios_app.engine.schemas.patterns import make_sample
from scenarios_app.play.conversation import load_conversation
from scenarios_app.play.player import FixedCatalog, PlayedConversation, play
from scenarios_app.play.report import failure_reasons
from scenarios_app.serving.options import Options
from scenarios_app.wire.registry import wires_by_name
from scenarios_app.wire.samples import SampleRequest

# Candidates are played one after the other while the page loads.
MAX_CANDIDATES = 20
MAX_TURNS = 6
_DEFAULT_USER = "Hello"
_DEFAULT_TOOL, _DEFAULT_RESULT = "tool", "ok"


async def propose_conversation(
    scenario: Scenario, *, index: Index, options: Options
) -> tuple[dict[str, Json], str]:
    """Return a conversation (JSON) and why it fails, "" if it passes. It begins with the first step
    that answers a user message. Tool calls get results for as long as the scenario answers them. A
    scenario whose steps need a tool result that it never asked for gets one complete request."""
    catalog = FixedCatalog(index)

    async def play_candidate(candidate: dict[str, Any]) -> PlayedConversation:
        """Play a conversation given as JSON; raises DocumentError."""
        conversation = load_conversation(candidate)
        return await play(conversation, catalog=catalog, options=options, scenario=scenario.name)

    candidates = list(islice(_candidates(scenario), MAX_CANDIDATES))
    first_failure = ""
    for candidate in candidates:
        run = await play_candidate(candidate)
        if not _is_answered_by(run, scenario):
            first_failure = first_failure or _failure_text(run, scenario)
            continue
        while calls := run.turns[-1].response.tool_calls:
            turns = [*candidate["turns"], {"tool_results": _tool_results(scenario, calls)}]
            longer = {**candidate, "turns": turns}
            longer_run = await play_candidate(longer)
            if len(turns) > MAX_TURNS or not _is_answered_by(longer_run, scenario):
                break
            candidate, run = longer, longer_run
        return candidate, ""
    return candidates[0], first_failure


def _candidates(scenario: Scenario) -> Iterator[dict[str, Any]]:
    """Yield conversations (JSON) of one turn: user messages first, then requests with results."""
    for step in scenario.steps:
        yield _conversation_fields(scenario, step, {"user": _user_text(scenario, step)})
    for step in scenario.steps:
        if any(condition.requires_tool_result for condition in step.match.conditions):
            request = _request_with_result(scenario, step)
            yield _conversation_fields(scenario, step, {"request": request})
    if not scenario.steps:
        yield {"name": scenario.name, "turns": [{"user": _DEFAULT_USER}]}


def _conversation_fields(scenario: Scenario, step: Step, turn: Json) -> dict[str, Any]:
    """Return a conversation (JSON) of this turn, with the settings that the step needs."""
    optional = {
        "model": _first_text(step.match.alternatives("model")),
        "system": _message_text(step, "system"),
        "tools": _required_tools(scenario),
        "provider": _first_provider(step),
        "stream": _wants_stream(step),
    }
    fields = {"name": scenario.name, "turns": [turn]}
    return fields | {name: value for name, value in optional.items() if value}


def _request_with_result(scenario: Scenario, step: Step) -> dict[str, Json]:
    """Return a complete raw request with the tool result that the step needs."""
    tool, content = _tool_result(step)
    request = SampleRequest(
        _user_text(scenario, step),
        model=_first_text(step.match.alternatives("model")) or "gpt-4o",
        system=_message_text(step, "system"),
        tools=(*_required_tools(scenario), tool),
        tool_name=tool,
        tool_result=content,
        turn=2,
        stream=_wants_stream(step),
    )
    sent = wires_by_name()[_first_provider(step) or next(iter(wires_by_name()))].sample(request)
    headers = {name.lower(): value for name, value in sent.headers.items()}
    return {"path": sent.path, "headers": {**headers}, "body": sent.body}


def _is_answered_by(run: PlayedConversation, scenario: Scenario) -> bool:
    """Return True if the run passed and the scenario answered every turn."""
    return run.passed and all(turn.response.scenario == scenario.name for turn in run.turns)


def _failure_text(run: PlayedConversation, scenario: Scenario) -> str:
    """Return why the last turn failed; without a reason, that another scenario answered."""
    turn = run.turns[-1]
    if reason := ", ".join(failure_reasons(turn)):
        return f"{reason[0].upper()}{reason[1:]}."
    return f"The scenario {turn.response.scenario} answers before {scenario.name}."


def _tool_results(scenario: Scenario, calls: Iterable[ToolCallPart]) -> list[Json]:
    """Return a result (JSON) for each call; its text is the `_tool_result` of the first step that
    names the tool, else of the first that names none."""
    texts: dict[str, str] = {}
    for step in scenario.steps:
        tool, content = _tool_result(step)
        texts.setdefault(tool, content)
    default = texts.get(_DEFAULT_TOOL, _DEFAULT_RESULT)
    return [{"name": call.name, "content": texts.get(call.name, default)} for call in calls]


def _tool_result(step: Step) -> tuple[str, str]:
    """Return tool and text of the result that a step needs; defaults where it names none."""
    text = _message_text(step, "tool") or _DEFAULT_RESULT
    for condition in step.match.of(ToolResultCondition):
        tool = condition.name or ""
        return tool or _DEFAULT_TOOL, _text_for(condition.text) or text
    return _DEFAULT_TOOL, text


def _required_tools(scenario: Scenario) -> list[str]:
    """Return the names of the tools that steps require to be offered, each once."""
    conditions = (c for step in scenario.steps for c in step.match.of(OfferedToolCondition))
    return list(dict.fromkeys(condition.name for condition in conditions))


def _user_text(scenario: Scenario, step: Step) -> str:
    """Return the scenario's name if it is selected by that, else a text that the step matches, or a
    default text if the step has no condition on it."""
    if scenario.select == "first_user_message":
        return scenario.name
    return _message_text(step, "user") or _message_text(step, "") or _DEFAULT_USER


def _message_text(step: Step, role: str) -> str:
    """Return a text for the step's conditions on messages of this role, or ""."""
    for condition in step.match.of(MessageCondition):
        if condition.subject.name == role and (text := _first_text(condition.alternatives)):
            return text
    return ""


def _first_provider(step: Step) -> str:
    """Return the first provider that the step matches by name, or "" if it names none."""
    named = step.match.alternatives("provider")
    return next(
        (name for name in wires_by_name() if any(condition.test(name) for condition in named)), ""
    )


def _wants_stream(step: Step) -> bool:
    """Return True if the step answers streams only."""
    conditions = step.match.of(StreamCondition)
    return any(condition.alternatives[0].equals == "true" for condition in conditions)


def _first_text(conditions: Iterable[TextCondition]) -> str:
    """Return a text that one of the conditions accepts, or ""."""
    return next(filter(None, map(_text_for, conditions)), "")


def _text_for(condition: TextCondition) -> str:
    """Return a text that the condition accepts, or "" if none is found."""
    candidates: list[Any] = [condition.equals, condition.startswith, condition.contains]
    candidates.append((condition.startswith or "") + (condition.contains or ""))
    if condition.regex:
        pattern = condition.regex.removeprefix("(?i)")
        with suppress(SchemaError):
            candidates += [make_sample(pattern, Random(seed), 1) for seed in range(5)]
    return next((text for text in candidates if text and condition.test(text)), "")
