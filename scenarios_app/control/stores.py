"""Documents as they come in and go out of the control API: those of all sessions, in the database,
and those of one session alone, in its state."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from asgiref.sync import async_to_sync
from django.db import DEFAULT_DB_ALIAS, IntegrityError, transaction

from scenarios_app.control.kit import ControlError
from scenarios_app.engine.canonical import Json
from scenarios_app.engine.document import (
    DocumentError,
    Problem,
    ScenarioDocument,
    compile_scenario,
    dump,
    load_documents,
)
from scenarios_app.engine.document.load import is_in_turns
from scenarios_app.models import CatalogVersion, Scenario
from scenarios_app.serving.services import services
from scenarios_app.store import RowProblem, document_of, limits, problems_of, rows_of
from scenarios_app.store.documents import load

Kept: TypeAlias = Mapping[str, Json]


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
        place = "id" if is_in_turns(data) else "name"
        raise DocumentError(place, f"expected {name!r}, as in the path")
    return documents[0]


def check_step(step: Json) -> None:
    """Raises DocumentError with all that is wrong with a step, whichever scenario it is for."""
    try:
        read_documents({"name": "any", "steps": [step]})
    except DocumentError as error:
        raise DocumentError.of(_in_step(problem, 0) for problem in error.problems) from None


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


class CommonScenarios:
    """Once a change is committed the next request sees it."""

    def listed(self) -> Listed:
        documents: list[ScenarioDocument] = []
        problems: list[RowProblem] = []
        for row in Scenario.objects.order_by("name").prefetch_related("steps"):
            try:
                documents.append(document_of(row))
            except DocumentError as error:
                problems += problems_of(error, row.name)
        return Listed(tuple(documents), tuple(problems))

    def get(self, name: str) -> ScenarioDocument:
        return _document(_row(name))

    def add(self, documents: list[ScenarioDocument]) -> None:
        names = [document.name for document in documents]
        try:
            with transaction.atomic():
                CatalogVersion.bump(DEFAULT_DB_ALIAS)
                there = Scenario.objects.filter(name__in=names).order_by("name")
                if found := list(there.values_list("name", flat=True)):
                    raise taken(found)
                load(documents)
        except IntegrityError:
            raise taken(names) from None

    def put(self, document: ScenarioDocument) -> bool:
        loaded = load([document])
        for name in loaded.replaced:
            _forget(name)
        return not loaded.replaced

    def remove(self, name: str) -> None:
        _row(name).delete()
        _forget(name)

    def push(self, name: str, step: Json) -> ScenarioDocument:
        with transaction.atomic():
            # Steps that come in at the same time come one after the other.
            CatalogVersion.bump(DEFAULT_DB_ALIAS)
            row = _row(name)
            before = list(row.steps.all())
            document = with_step(_document(row), step)
            pushed = rows_of(document)[1][-1]
            pushed.scenario = row
            pushed.order = 1 + max((one.order for one in before), default=0)
            pushed.save()
        return document


def _row(name: str) -> Scenario:
    # A name is never longer, nor holds what no database takes.
    row = None if "\0" in name else Scenario.objects.filter(name=name).first()
    if row is None:
        raise unknown(name)
    return row


def _document(row: Scenario) -> ScenarioDocument:
    try:
        return document_of(row)
    except DocumentError as error:
        problems = "; ".join(str(problem) for problem in problems_of(error, row.name))
        raise ControlError(409, f"What is stored is no valid document: {problems}") from None


def _forget(name: str) -> None:
    async_to_sync(services().state.clear_scenario)(name)


class OwnScenarios:
    """A session's own scenarios hide the common ones of their names in it. What is read and then
    written is written only if nothing has changed in between; else it is read again."""

    def __init__(self, session: str) -> None:
        self._session = session

    def listed(self) -> Listed:
        _, kept = self._kept()
        return Listed(tuple(_own_document(kept[name]) for name in sorted(kept)))

    def get(self, name: str) -> ScenarioDocument:
        return _own_document(_one(self._kept()[1], name))

    def add(self, documents: list[ScenarioDocument]) -> None:
        def added(kept: Kept) -> Kept:
            if found := [document.name for document in documents if document.name in kept]:
                raise taken(found)
            return {**kept, **{document.name: dump(document) for document in documents}}

        self._know(documents)
        self._change(added)

    def put(self, document: ScenarioDocument) -> bool:
        self._know([document])
        return not _placed(self._session, document.name, dump(document))

    def remove(self, name: str) -> None:
        def without(kept: Kept) -> Kept:
            _one(kept, name)
            return {other: kept[other] for other in kept if other != name}

        self._change(without)
        # Steps of a later scenario of this name have the same keys.
        self._forget(name)

    def push(self, name: str, step: Json) -> ScenarioDocument:
        longer: list[ScenarioDocument] = []

        def pushed(kept: Kept) -> Kept:
            longer.append(with_step(_own_document(_one(kept, name)), step))
            return {**kept, name: dump(longer[-1])}

        self._change(pushed)
        self._know(longer[-1:])
        return longer[-1]

    def _kept(self) -> tuple[int, Kept]:
        kept: tuple[int, Kept] = _ask(services().state.scenarios_of, self._session)
        return kept

    def _change(self, change: Callable[[Kept], Kept]) -> None:
        keep = services().state.keep_scenarios
        while True:
            revision, kept = self._kept()
            if async_to_sync(keep)(self._session, change(kept), was=revision):
                return

    def _know(self, documents: list[ScenarioDocument]) -> None:
        for document in documents:
            if document.enabled:
                services().steps.add_session_scenario(compile_scenario(document))

    def _forget(self, name: str) -> None:
        async_to_sync(services().state.clear_scenario)(name, session=self._session)


@async_to_sync
async def _placed(session: str, name: str, document: Json) -> bool:
    """Put a document in its place in one go: each way to the event loop and back costs more than
    what is done there. Returns whether there was one of its name, which is then forgotten."""
    state = services().state
    while True:
        revision, kept = await state.scenarios_of(session)
        if await state.keep_scenarios(session, {**kept, name: document}, was=revision):
            break
    if name in kept:
        await state.clear_scenario(name, session=session)
    return name in kept


def _one(kept: Kept, name: str) -> Json:
    if name not in kept:
        raise unknown(name)
    return kept[name]


def _ask(operation: Callable[..., Any], *arguments: Any) -> Any:
    return async_to_sync(operation)(*arguments)


def _own_document(kept: Json) -> ScenarioDocument:
    (document,) = load_documents(kept, limits=limits())
    return document
