"""Documents as they come in and go out of the control API, wherever they are kept."""

from dataclasses import dataclass
from typing import Protocol

from scenarios_app.control.errors import ControlError
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import (
    DocumentError,
    Problem,
    ScenarioDocument,
    compile_scenario,
    dump,
    load_documents,
)
from scenarios_app.engine.document_forms import in_turns
from scenarios_app.rows import limits
from scenarios_app.snapshot import RowProblem


@dataclass(frozen=True, slots=True)
class Listed:
    """All scenarios of one place by name, and what is wrong with those that cannot be shown."""

    documents: tuple[ScenarioDocument, ...]
    problems: tuple[RowProblem, ...] = ()


class Scenarios(Protocol):
    """Where scenarios are kept. What is read is checked already; ControlError refuses the rest."""

    def listed(self) -> Listed: ...

    def get(self, name: str) -> ScenarioDocument:
        """Raises a 404."""

    def add(self, documents: list[ScenarioDocument]) -> None:
        """All or none; raises a 409 where a name is taken."""

    def put(self, document: ScenarioDocument) -> bool:
        """Keep a scenario in place of the one of its name; whether there was none."""

    def remove(self, name: str) -> None:
        """Raises a 404."""

    def push(self, name: str, step: Json) -> ScenarioDocument:
        """Add a step at the end, and give the whole; raises a 404."""


def read_documents(data: Json) -> list[ScenarioDocument]:
    """The scenarios of a document; raises DocumentError with all that is wrong with them."""
    documents = load_documents(data, limits=limits())
    for document in documents:
        compile_scenario(document)
    return documents


def read_document(data: Json, *, name: str) -> ScenarioDocument:
    """The one scenario of a document, which has to be of this name."""
    documents = read_documents(data)
    if len(documents) != 1:
        raise DocumentError("scenarios", f"expected one scenario, got {len(documents)}")
    if documents[0].name != name:
        place = "id" if in_turns(data) else "name"
        raise DocumentError(place, f"expected {name!r}, as in the path")
    return documents[0]


def with_step(document: ScenarioDocument, step: Json) -> ScenarioDocument:
    """A scenario with one more step; a DocumentError's places are those in the step."""
    number = len(document.steps)
    try:
        (longer,) = read_documents({**dump(document), "steps": [*_steps(document), step]})
    except DocumentError as error:
        raise DocumentError.of(_in_step(problem, number) for problem in error.problems) from None
    return longer


def unknown(name: str) -> ControlError:
    return ControlError(404, f"There is no scenario “{name}”.")


def taken(names: list[str]) -> ControlError:
    listed = ", ".join(f"“{name}”" for name in names)
    return ControlError(409, f"There is a scenario of this name already: {listed}.", field="name")


def _steps(document: ScenarioDocument) -> list[Json]:
    steps = dump(document).get("steps", [])
    return steps if isinstance(steps, list) else []


def _in_step(problem: Problem, number: int) -> Problem:
    prefix = f"steps[{number}]"
    if not problem.place.startswith(prefix):
        return problem
    return Problem(problem.place.removeprefix(prefix).removeprefix("."), problem.message)
