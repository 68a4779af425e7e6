"""What is wrong with the document of a scenario's rows, and at which of them."""

import re
from dataclasses import dataclass

from scenarios_app.engine.document import DocumentError

_STEP = re.compile(r"steps\[(\d+)\]\.?")


@dataclass(frozen=True, slots=True)
class RowProblem:
    """Why a scenario is left out. `step` is the number from 1 of the step it is about, if it is
    about one, and `place` the place in that step's document, else in the scenario's."""

    scenario: str
    step: int | None
    place: str
    message: str

    def __str__(self) -> str:
        step = f"step {self.step}" if self.step else ""
        return ": ".join(part for part in (self.scenario, step, self.place, self.message) if part)


def problems_of(error: DocumentError, scenario: str) -> tuple[RowProblem, ...]:
    """What is wrong with a scenario's document, by step."""
    found: list[RowProblem] = []
    for problem in error.problems:
        step = _STEP.match(problem.place)
        place = problem.place[step.end() :] if step else problem.place
        number = int(step[1]) + 1 if step else None
        found.append(RowProblem(scenario, number, place, problem.message))
    return tuple(found)
