"""Compiled snapshots of the enabled scenarios, and the thread that polls for their changes."""

import gc
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import NamedTuple, TypeAlias

from django.db import connection
from msgspec.structs import replace

from scenarios_app.engine.document import DocumentError, ScenarioDocument, compile_scenario
from scenarios_app.engine.matching.index import Index, build_index
from scenarios_app.engine.scenario import Scenario as Compiled
from scenarios_app.engine.scenario import Step as CompiledStep
from scenarios_app.models import CatalogVersion, Scenario, Step
from scenarios_app.store import RowProblem, batches, document_of, problems_of

log = logging.getLogger(__name__)

_ATTEMPTS = 5
SECONDS = 0.25
# A query that takes longer is reported as a problem.
LOOK_SECONDS = 5.0


class KnownStep(NamedTuple):
    """A step's row at one version, compiled. A step that is not `named` is labelled by its
    number."""

    version: str
    compiled: CompiledStep
    named: bool

    def at_position(self, number: int, key: str) -> "KnownStep":
        """Return the step with this number and key."""
        label = self.compiled.label if self.named else str(number)
        if (label, key) == (self.compiled.label, self.compiled.key):
            return self
        return self._replace(compiled=replace(self.compiled, label=label, key=key))


Steps: TypeAlias = Mapping[int, KnownStep]


@dataclass(frozen=True, slots=True)
class CompiledRow:
    """A scenario's rows at one version: the compiled scenario with its steps by row id, or its
    problems."""

    version: str
    scenario: Compiled | None
    problems: tuple[RowProblem, ...] = ()
    steps: Steps = field(default_factory=dict)


Rows: TypeAlias = Mapping[int, CompiledRow]


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The compiled catalog at the version `number`. The next snapshot reuses unchanged `rows`."""

    index: Index
    problems: tuple[RowProblem, ...]
    number: int | None
    rows: Rows = field(default_factory=dict)


def take_snapshot(before: Snapshot | None) -> Snapshot:
    """Return a new snapshot; only rows that changed since `before` are read and compiled. No
    transaction is held, since it would block writers: a change meanwhile is noticed by the
    catalog's number, and read again."""
    rows, index = (before.rows, before.index) if before else ({}, None)
    with _without_garbage_collection():
        for _ in range(_ATTEMPTS):
            number = catalog_number()
            rows = _compile_enabled(rows)
            if catalog_number() == number:
                break
        scenarios = [row.scenario for row in rows.values() if row.scenario is not None]
        problems = tuple(problem for row in rows.values() for problem in row.problems)
        return Snapshot(build_index(scenarios, previous=index), problems, number, rows)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Pause garbage collection: scanning the new objects, which stay, would double the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def catalog_number() -> int | None:
    """Return the catalog's number, which every change increases; None before the first."""
    return CatalogVersion.objects.values_list("number", flat=True).filter(pk=1).first()


def _compile_enabled(rows_before: Rows) -> dict[int, CompiledRow]:
    """Return the enabled scenarios, compiled; unchanged ones are those of `rows_before`."""
    enabled = Scenario.objects.filter(enabled=True).order_by("name")
    versions = dict(enabled.values_list("pk", "version"))
    rows: dict[int, CompiledRow] = {}
    for pk, version in versions.items():
        before = rows_before.get(pk)
        if before and (
            row := before if before.version == version else _recompile_edited(pk, before)
        ):
            rows[pk] = row
    for part in batches([pk for pk in versions if pk not in rows]):
        for scenario in Scenario.objects.filter(pk__in=part).prefetch_related("steps"):
            rows[scenario.pk] = _compile_row(scenario)
    return {pk: rows[pk] for pk in versions if pk in rows}


def _recompile_edited(pk: int, before: CompiledRow) -> CompiledRow | None:
    """Return a row's new state if only a few of its steps have changed, reading only these. None if
    the whole scenario has to be read, such as to report problems."""
    scenario = Scenario.objects.filter(pk=pk).first()
    if scenario is None or before.scenario is None:
        return None
    there = list(scenario.steps.values_list("pk", "key", "version"))
    loaded_versions = {(pk, step.version) for pk, step in before.steps.items()}
    new = [pk for pk, _, version in there if (pk, version) not in loaded_versions]
    if len(new) > len(there) / 2:
        return None
    read = {row.pk: row for part in batches(new) for row in Step.objects.filter(pk__in=part)}
    try:
        document = document_of(scenario, read.values())
        compiled = compile_scenario(document, step_keys=[row.key for row in read.values()])
    except Exception:
        return None
    if _step_context(compiled) != _step_context(before.scenario) or len(read) != len(new):
        return None
    steps_by_row = {**before.steps, **_known_steps(read.values(), document, compiled)}
    places = enumerate(there, start=1)
    steps = {pk: steps_by_row[pk].at_position(number, key) for number, (pk, key, _) in places}
    turns = [step.compiled.turn for step in steps.values()]
    if compiled.select != "match" and len(set(turns)) < len(turns):
        return None
    whole = replace(compiled, steps=tuple(step.compiled for step in steps.values()))
    return CompiledRow(scenario.version, whole, steps=steps)


def _step_context(scenario: Compiled) -> tuple[object, ...]:
    """Return the values of a scenario that the validity and compilation of its steps depend on."""
    return scenario.select, scenario.variables


def _known_steps(
    rows: Iterable[Step], document: ScenarioDocument, compiled: Compiled
) -> dict[int, KnownStep]:
    """Return the compiled steps by the primary key of their rows."""
    steps = zip(rows, document.steps, compiled.steps, strict=True)
    return {
        row.pk: KnownStep(row.version, step, data.name is not None) for row, data, step in steps
    }


def _compile_row(scenario: Scenario) -> CompiledRow:
    """Return a scenario, compiled, or its problems if that fails."""
    steps = list(scenario.steps.all())
    try:
        document = document_of(scenario, steps)
        compiled = compile_scenario(document, step_keys=[step.key for step in steps])
    except DocumentError as error:
        problems = problems_of(error, scenario.name)
    except Exception as error:
        log.exception("catalog: %s cannot be compiled", scenario.name)
        problems = (RowProblem(scenario.name, None, "", f"cannot be compiled: {error}"),)
    else:
        known_steps = _known_steps(steps, document, compiled)
        return CompiledRow(scenario.version, compiled, steps=known_steps)
    for problem in problems:
        log.warning("catalog: left out: %s", problem)
    return CompiledRow(scenario.version, None, problems)


class Poller:
    """A thread that calls `reload` when the catalog's number in the database differs from the
    current one."""

    def __init__(
        self, current_change: Callable[[], int | None], reload: Callable[[], None]
    ) -> None:
        self._current_change = current_change
        self._reload = reload
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="mockllm-catalog", daemon=True)
        self._file: int | None = None
        self._error: str | None = None
        self._looking_since: float | None = None

    def start(self) -> None:
        self._thread.start()

    @property
    def problem(self) -> str | None:
        """Return why the last poll of the database failed or still waits, or None."""
        since = self._looking_since
        if since is not None and time.monotonic() - since > LOOK_SECONDS:
            return f"no answer within {LOOK_SECONDS:g} s"
        return self._error

    def stop(self) -> None:
        """End the thread; its connection is closed when this returns."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        """Look for changes of other processes at intervals; errors are logged once."""
        while not self._stopping.wait(SECONDS):
            self._looking_since = time.monotonic()
            try:
                self._reload_if_changed()
                self._error = None
            except Exception as error:
                if self._error is None:
                    log.exception("catalog: other processes' changes cannot be seen")
                self._error = type(error).__name__
                connection.close()
                # Data versions are counted per connection, so a new one may repeat the last.
                self._file = None
            self._looking_since = None
        connection.close()

    def _reload_if_changed(self) -> None:
        """Reload if another process has changed the catalog; a SQLite file tells that without a
        query."""
        file = _data_version()
        if file is not None and file == self._file:
            return
        number = catalog_number()
        if number != self._current_change():
            self._reload()
        if number == self._current_change():
            self._file = file


def can_be_shared() -> bool:
    """Return whether other processes can open the database: not if SQLite has it in memory."""
    name = str(connection.settings_dict["NAME"])
    in_memory = any(part in name for part in (":memory:", "mode=memory", "vfs=memdb"))
    return connection.vendor != "sqlite" or not in_memory


def _data_version() -> int | None:
    """Return SQLite's count of other connections' commits; None for other databases."""
    if connection.vendor != "sqlite":
        return None
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA data_version")
        (version,) = cursor.fetchone()
    return int(version)
