"""Reports of played conversations: text, JSON and JUnit cases."""

from collections.abc import Iterable, Iterator, Sequence

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.texts import shorten
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.play.player import PlayedConversation, PlayedTurn
from scenarios_app.verdict.reports import Case, line

_MAX_VALUE_CHARS = 200


def to_text(runs: Sequence[PlayedConversation]) -> str:
    """Return a line for each turn and each failed check."""
    lines: list[str] = []
    for run in runs:
        lines.append(f"{'ok' if run.passed else 'FAILED'}  {line(run.name)}")
        for turn in run.turns:
            response = turn.response
            step = f"{response.scenario}, step {response.step}" if response.step else "no step"
            mark = "ok    " if turn.passed else "FAILED"
            lines.append(f"  {turn.number}. {mark} {line(shorten(turn.request))} → {line(step)}")
            lines += [f"            {reason}" for reason in failure_reasons(turn)]
    passed = sum(run.passed for run in runs)
    lines.append(f"conversations: {len(runs)}, passed: {passed}, failed: {len(runs) - passed}")
    return "\n".join(lines)


def to_json(runs: Sequence[PlayedConversation]) -> Json:
    conversations: list[Json] = [
        {"name": run.name, "passed": run.passed, "turns": [*map(_turn_json, run.turns)]}
        for run in runs
    ]
    return {"passed": all(run.passed for run in runs), "conversations": conversations}


def to_cases(runs: Iterable[PlayedConversation]) -> Iterator[Case]:
    """Yield a JUnit case for each turn."""
    for run in runs:
        for turn in run.turns:
            name = f"{turn.number}. {shorten(turn.request)}"
            yield Case(run.name, name, tuple(failure_reasons(turn)))


def failure_reasons(turn: PlayedTurn) -> Iterator[str]:
    """Yield a text for each failed check; for a failed turn also the first mismatch of the nearest
    step."""
    for check in turn.checks:
        if not check.ok:
            expected = line(shorten(check.expected, _MAX_VALUE_CHARS))
            actual = line(shorten(check.actual, _MAX_VALUE_CHARS)) or "nothing"
            yield f"{check.name}: expected {expected}, got {actual}"
    if not turn.passed:
        for miss in turn.response.near[:1]:
            for mismatch in miss.mismatches[:1]:
                step = f"nearest: {miss.scenario.name}, step {miss.step.label}"
                yield line(f"{step} wanted {mismatch.expected}, got {mismatch.actual}")


def _turn_json(turn: PlayedTurn) -> Json:
    response = turn.response
    return {
        "turn": turn.number,
        "asked": turn.request,
        "passed": turn.passed,
        "checks": [
            {"what": check.name, "expected": check.expected, "got": check.actual, "ok": check.ok}
            for check in turn.checks
        ],
        "reasons": list(failure_reasons(turn)),
        "got": {
            "status": response.status,
            "scenario": response.scenario,
            "step": response.step,
            "text": response.text,
            "reasoning": response.reasoning,
            "tool_calls": [*map(_call_json, response.tool_calls)],
            "cut": response.cut,
        },
    }


def _call_json(call: ToolCallPart) -> Json:
    text = {"input" if call.custom else "arguments": call.arguments}
    namespace = {"namespace": call.namespace} if call.namespace else {}
    return {"name": call.name, **text, **namespace}
