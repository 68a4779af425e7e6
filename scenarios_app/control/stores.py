"""Stores of scenario documents: common ones in the database, private ones in a session's state."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

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
from scenarios_app.engine.state import drop_scenario, put_scenario
from scenarios_app.models import CatalogVersion, Scenario
from scenarios_app.serving.services import services
from scenarios_app.store import RowProblem, document_of, limits, problems_of, rows_of
from scenarios_app.store.documents import load

T = TypeVar("T")
StoredDocuments: TypeAlias = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ScenarioList:
    """The valid scenarios of a store, ordered by name, and the problems of the others."""

    documents: tuple[ScenarioDocument, ...]
    problems: tuple[RowProblem, ...] = ()


def read_documents(data: Json) -> list[ScenarioDocument]:
    """Return the scenarios of a document; DocumentError lists every problem."""
    documents = load_documents(data, limits=limits())
    for document in documents:
        compile_scenario(document)
    return documents


def read_document(data: Json, *, name: str) -> ScenarioDocument:
    """Return the only scenario of a document; DocumentError unless it has this name."""
    documents = read_documents(data)
    if len(documents) != 1:
        raise DocumentError("scenarios", f"expected one scenario, got {len(documents)}")
    if documents[0].name != name:
        place = "id" if is_in_turns(data) else "name"
        raise DocumentError(place, f"expected {name!r}, as in the path")
    return documents[0]


def check_step(step: Json) -> None:
    """Validate a step on its own; DocumentError lists every problem."""
    _with_step({"name": "any"}, step)


def append_step(document: ScenarioDocument, step: Json) -> ScenarioDocument:
    """Return the scenario with one more step; places in a DocumentError are relative to it."""
    return _with_step(dump(document), step)


def _with_step(document: Mapping[str, Json], step: Json) -> ScenarioDocument:
    """Return the document with one more step; raise DocumentError with places in that step."""
    steps = document.get("steps", [])
    assert isinstance(steps, list)
    try:
        (longer,) = read_documents({**document, "steps": [*steps, step]})
    except DocumentError as error:
        problems = (_place_in_step(problem, len(steps)) for problem in error.problems)
        raise DocumentError.of(problems) from None
    return longer


def not_found_error(name: str) -> ControlError:
    return ControlError(404, f"There is no scenario “{name}”.")


def name_conflict_error(names: list[str]) -> ControlError:
    listed = ", ".join(f"“{name}”" for name in names)
    return ControlError(409, f"There is a scenario of this name already: {listed}.", field="name")


def _place_in_step(problem: Problem, number: int) -> Problem:
    """Return a problem of the document with its place as seen from the step."""
    prefix = f"steps[{number}]"
    if not problem.place.startswith(prefix):
        return problem
    return Problem(problem.place.removeprefix(prefix).removeprefix("."), problem.message)


def _parse_all(
    stored: Iterable[tuple[str, T]], parse: Callable[[T], ScenarioDocument]
) -> ScenarioList:
    """Parse named values; return the documents, and the problems of each DocumentError."""
    documents: list[ScenarioDocument] = []
    problems: list[RowProblem] = []
    for name, value in stored:
        try:
            documents.append(parse(value))
        except DocumentError as error:
            problems += problems_of(error, name)
    return ScenarioList(tuple(documents), tuple(problems))


def _parse_one(name: str, value: T, parse: Callable[[T], ScenarioDocument]) -> ScenarioDocument:
    """Parse a stored value; raise ControlError 409 instead of DocumentError."""
    parsed = _parse_all([(name, value)], parse)
    if parsed.problems:
        problems = "; ".join(map(str, parsed.problems))
        raise ControlError(409, f"What is stored is no valid document: {problems}")
    return parsed.documents[0]


class CommonScenarios:
    """The scenarios of all sessions, in the database; the next request sees a committed change.
    Methods raise ControlError: 404 for an unknown name, 409 for a taken one or an invalid row.
    Writes begin with `CatalogVersion.increase`, which lets one at a time go on."""

    def list_all(self) -> ScenarioList:
        """Return the scenarios, enabled or not, and the problems of invalid ones."""
        rows = Scenario.objects.order_by("name").prefetch_related("steps")
        return _parse_all(((row.name, row) for row in rows), document_of)

    def get(self, name: str) -> ScenarioDocument:
        """Return a stored scenario; raise ControlError 404 or 409."""
        return _parse_one(name, _find_row(name), document_of)

    def add(self, documents: list[ScenarioDocument]) -> None:
        """Add all or none. Raises ControlError 409 for a name that exists."""
        names = [document.name for document in documents]
        try:
            with transaction.atomic():
                CatalogVersion.increase(DEFAULT_DB_ALIAS)
                rows = Scenario.objects.filter(name__in=names).order_by("name")
                if taken_names := list(rows.values_list("name", flat=True)):
                    raise name_conflict_error(taken_names)
                load(documents)
        except IntegrityError:
            raise name_conflict_error(names) from None

    def put(self, document: ScenarioDocument) -> bool:
        """Create or replace a scenario; sessions forget its steps. Returns True if it is new."""
        with transaction.atomic():
            CatalogVersion.increase(DEFAULT_DB_ALIAS)
            loaded = load([document])
        for name in loaded.replaced:
            _forget_steps(name)
        return not loaded.replaced

    def remove(self, name: str) -> None:
        """Move a scenario to the trash and forget its steps; raise ControlError 404."""
        _find_row(name).delete()
        _forget_steps(name)

    def push(self, name: str, step: Json) -> ScenarioDocument:
        """Append a step and return the longer scenario; raise ControlError 404 or 409."""
        with transaction.atomic():
            CatalogVersion.increase(DEFAULT_DB_ALIAS)
            row = _find_row(name)
            before = list(row.steps.all())
            document = append_step(_parse_one(name, row, document_of), step)
            pushed = rows_of(document)[1][-1]
            pushed.scenario = row
            pushed.order = 1 + max((step.order for step in before), default=0)
            pushed.save()
        return document


def _find_row(name: str) -> Scenario:
    """Return the row of a common scenario. Raises ControlError 404."""
    # No stored name holds a NUL character, and PostgreSQL refuses one in a query.
    row = None if "\0" in name else Scenario.objects.filter(name=name).first()
    if row is None:
        raise not_found_error(name)
    return row


def _forget_steps(name: str) -> None:
    """Forget in all sessions that steps of the scenario were used."""
    async_to_sync(services().state.clear_scenario)(name)


class SessionScenarios:
    """The private scenarios of a session, in its state; they hide common ones of the same names.
    Its methods are those of CommonScenarios."""

    def __init__(self, session: str) -> None:
        self._session = session

    def list_all(self) -> ScenarioList:
        """Return the session's scenarios, enabled or not, and the problems of invalid ones."""
        _, stored = self._read()
        return _parse_all(sorted(stored.items()), _parse_document)

    def get(self, name: str) -> ScenarioDocument:
        """Return a scenario of the session; raise ControlError 404 or 409."""
        _, stored = self._read()
        return _parse_stored(stored, name)

    def add(self, documents: list[ScenarioDocument]) -> None:
        """Add scenarios, all or none; raise ControlError 409 for a name that exists."""

        def add_to(stored: StoredDocuments) -> StoredDocuments:
            if taken_names := [document.name for document in documents if document.name in stored]:
                raise name_conflict_error(taken_names)
            return {**stored, **{document.name: dump(document) for document in documents}}

        self._change(add_to)
        self._record_for_coverage(documents)

    def put(self, document: ScenarioDocument) -> bool:
        """Create or replace a scenario; the session forgets its steps. Returns True if new."""
        self._record_for_coverage([document])
        return _put_own_document(self._session, document.name, dump(document))

    def remove(self, name: str) -> None:
        """Delete a scenario of the session and forget its steps; raise ControlError 404."""
        if not async_to_sync(drop_scenario)(services().state, self._session, name):
            raise not_found_error(name)
        # A later scenario of this name would have the same step keys.
        async_to_sync(services().state.clear_scenario)(name, session=self._session)

    def push(self, name: str, step: Json) -> ScenarioDocument:
        """Append a step and return the longer scenario; raise ControlError 404 or 409."""
        longer: list[ScenarioDocument] = []

        def push_to(stored: StoredDocuments) -> StoredDocuments:
            longer.append(append_step(_parse_stored(stored, name), step))
            return {**stored, name: dump(longer[-1])}

        self._change(push_to)
        self._record_for_coverage(longer[-1:])
        return longer[-1]

    def _read(self) -> tuple[int, StoredDocuments]:
        """Return the revision of the session's scenarios, and their documents by name."""
        return async_to_sync(services().state.scenarios_of)(self._session)

    def _change(self, change: Callable[[StoredDocuments], StoredDocuments]) -> None:
        """Store what `change` makes of the documents; repeat if they changed since the read."""
        replace = async_to_sync(services().state.replace_scenarios)
        revision, stored = self._read()
        while not replace(self._session, change(stored), revision=revision):
            revision, stored = self._read()

    def _record_for_coverage(self, documents: list[ScenarioDocument]) -> None:
        """Record the enabled ones for the coverage of the run; the session stays unchanged."""
        for document in documents:
            if document.enabled:
                services().steps.add_session_scenario(compile_scenario(document))


ScenarioStore: TypeAlias = CommonScenarios | SessionScenarios


@async_to_sync
async def _put_own_document(session: str, name: str, document: Json) -> bool:
    """Create or replace a document in one switch to the event loop, which costs more than the work.
    Returns True if it is new; else the session forgets the steps of the one that it replaced."""
    state = services().state
    is_new = await put_scenario(state, session, name, document)
    if not is_new:
        await state.clear_scenario(name, session=session)
    return is_new


def _parse_stored(stored: StoredDocuments, name: str) -> ScenarioDocument:
    """Return a private scenario. Raises ControlError: 404 if there is none, 409 if invalid."""
    if name not in stored:
        raise not_found_error(name)
    return _parse_one(name, stored[name], _parse_document)


def _parse_document(data: Json) -> ScenarioDocument:
    """Return the scenario of a document of one. Raises DocumentError."""
    (document,) = load_documents(data, limits=limits())
    return document
