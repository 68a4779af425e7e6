"""What came of conversations that were played: as text, as JSON, and as cases of a report."""

from collections.abc import Iterable, Iterator, Sequence

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.texts import shorten
from scenarios_app.play.player import Check, Run, Turn
from scenarios_app.verdict.reports import Case, line

_SHOWN = 200


def text_of(runs: Sequence[Run]) -> str:
    """A line for each turn, and one more for each thing that is not as it should be."""
    lines: list[str] = []
    for run in runs:
        lines.append(f"{'ok' if run.passed else 'FAILED'}  {line(run.name)}")
        for turn in run.turns:
            by = f"{turn.got.scenario}, step {turn.got.step}" if turn.got.step else "no step"
            mark = "ok    " if turn.passed else "FAILED"
            lines.append(f"  {turn.number}. {mark} {line(shorten(turn.asked))} → {line(by)}")
            lines += [f"            {told}" for told in reasons(turn)]
    passed = sum(run.passed for run in runs)
    lines.append(f"conversations: {len(runs)}, passed: {passed}, failed: {len(runs) - passed}")
    return "\n".join(lines)


def json_of(runs: Sequence[Run]) -> Json:
    return {"passed": all(run.passed for run in runs), "conversations": [_run(run) for run in runs]}


def cases_of(runs: Iterable[Run]) -> Iterator[Case]:
    """A case for each turn."""
    for run in runs:
        for turn in run.turns:
            name = f"{turn.number}. {shorten(turn.asked)}"
            yield Case(run.name, name, tuple(reasons(turn)))


def reasons(turn: Turn) -> Iterator[str]:
    """What is not as it should be, and what kept the nearest step from answering."""
    for check in turn.checks:
        if not check.ok:
            got = line(shorten(check.got, _SHOWN)) or "nothing"
            yield f"{check.what}: expected {line(shorten(check.expected, _SHOWN))}, got {got}"
    if not turn.passed:
        for miss in turn.got.near[:1]:
            for mismatch in miss.mismatches[:1]:
                where = f"nearest: {miss.scenario.name}, step {miss.step.label}"
                yield line(f"{where} wanted {mismatch.expected}, got {mismatch.actual}")


def _run(run: Run) -> Json:
    return {"name": run.name, "passed": run.passed, "turns": [_turn(turn) for turn in run.turns]}


def _turn(turn: Turn) -> Json:
    got = turn.got
    calls: list[Json] = [
        {"name": call.name, "arguments": call.arguments} for call in got.tool_calls
    ]
    return {
        "turn": turn.number,
        "asked": turn.asked,
        "passed": turn.passed,
        "checks": [_check(check) for check in turn.checks],
        "reasons": list(reasons(turn)),
        "got": {
            "status": got.status,
            "scenario": got.scenario,
            "step": got.step,
            "text": got.text,
            "reasoning": got.reasoning,
            "tool_calls": calls,
            "cut": got.cut,
        },
    }


def _check(check: Check) -> Json:
    return {
        "what": check.what,
        "expected": check.expected,
        "got": check.got,
        "ok": check.ok,
    }
