"""Constructors of observations of runs, for tests of a sweep without processes."""

from collections.abc import Mapping, Sequence
from typing import Any

from scenarios_app.proof import plan
from scenarios_app.proof.experiment import CellResult, Sweep
from scenarios_app.proof.outcome import Judgement, Observation
from scenarios_app.proof.plan import Cell, Place
from scenarios_app.proof.program import ProgramRun
from scenarios_app.proof.torture import TORTURE, cells_of
from scenarios_app.verdict.fault_kinds import KINDS, Answer

TEXT = "It is 21 degrees in Paris."


def answer(number: int = 1, *, text: str = TEXT, **keys: Any) -> dict[str, Any]:
    """Return an answer in the format of `/control/changes`."""
    common = {"session": "a", "scenario": "s", "step": str(number), "provider": "openai"}
    rest = {"stream": False, "socket": False, "results": [], "calls": [], "change": None}
    return {"number": number, "text": text, **common, **rest, **keys}


def cell(kind: str, number: int = 1, session: str = "a") -> Cell:
    return Cell(f"{kind}@{number}", TORTURE.kind(kind), Place(session, number, f"s/{number}"))


def all_cells(answers: Sequence[Answer], **keys: Any) -> list[Cell]:
    """Return the cells of a fault sweep."""
    return plan.all_cells(answers, KINDS, cells_of, **keys)


def make_observation(
    output: str = TEXT,
    *,
    code: int = 0,
    hung: bool = False,
    answers: Sequence[Answer] = (),
    findings: Sequence[tuple[str, str]] = (),
    unmatched: Sequence[str] = (),
    violations: Sequence[str] = (),
    requests: Sequence[tuple[str, bool]] = (),
) -> Observation:
    verdict: Mapping[str, Any] = {
        "findings": [{"level": level, "rule": rule, "message": "m"} for level, rule in findings],
        "unmatched": [{"path": path} for path in unmatched],
        "violations": [{"text": text} for text in violations],
    }
    program = ProgramRun(code, output, 1.0, hung)
    return Observation(program, answers or [answer()], verdict, requests)


def changed_answer(change: str = "http", **keys: Any) -> dict[str, Any]:
    return answer(change=change, **keys)


def make_result(swept_cell: Cell, outcome: Any, reason: str = "r") -> CellResult:
    return CellResult(swept_cell, Judgement(outcome, reason), ProgramRun(1, "output", 1.0), ())


def make_sweep(*outcomes: Any, **keys: Any) -> Sweep:
    """Return a sweep of two answers whose first cells have these outcomes."""
    cells = all_cells([answer(1), answer(2, text="", calls=["f"])])
    results = {
        swept_cell: make_result(swept_cell, outcome)
        for swept_cell, outcome in zip(cells, outcomes, strict=False)
    }
    return Sweep(cells, results=results, **keys)


def repeat_command(*cells: Cell) -> str:
    return f"run {cells[0].name}"
