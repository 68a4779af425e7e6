"""The enabled scenarios as they were at one moment, compiled or with what is wrong with them; and
the thread that looks whether another process has changed them."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TypeAlias

from django.db import connection

from scenarios_app.engine.document import DocumentError, compile_scenario
from scenarios_app.engine.matching.index import Index, build_index
from scenarios_app.engine.scenario import Scenario as Compiled
from scenarios_app.models import CatalogVersion, Scenario
from scenarios_app.store.rows import RowProblem, document_of, problems_of

log = logging.getLogger(__name__)

_ATTEMPTS = 5
_PART = 500


@dataclass(frozen=True, slots=True)
class CompiledRow:
    """A scenario's rows at one version: compiled, or its problems."""

    version: str
    scenario: Compiled | None
    problems: tuple[RowProblem, ...] = ()


Rows: TypeAlias = Mapping[int, CompiledRow]


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Immutable. `number` is the catalog version that it shows; `rows` are for the next one."""

    index: Index
    problems: tuple[RowProblem, ...]
    number: int | None
    rows: Rows = field(default_factory=dict)


def take_snapshot(known: Rows) -> Snapshot:
    """Read and compile what has changed since `known`; a row of a known version is not even read.

    No transaction is held, since one would stop every writer; a change that comes in between is
    seen by the catalog's number and read again.
    """
    for _ in range(_ATTEMPTS):
        number = catalog_number()
        rows = _compile(known)
        if catalog_number() == number:
            break
        known = rows
    scenarios = [row.scenario for row in rows.values() if row.scenario is not None]
    problems = tuple(problem for row in rows.values() for problem in row.problems)
    return Snapshot(build_index(scenarios), problems, number, rows)


def catalog_number() -> int | None:
    """The number that every change of the catalog moves on; none before the first."""
    return CatalogVersion.objects.values_list("number", flat=True).filter(pk=1).first()


def _compile(known: Rows) -> dict[int, CompiledRow]:
    enabled = Scenario.objects.filter(enabled=True).order_by("name")
    versions = dict(enabled.values_list("pk", "version"))
    rows = {pk: known[pk] for pk, version in versions.items() if _is(known.get(pk), version)}
    missing = [pk for pk in versions if pk not in rows]
    for start in range(0, len(missing), _PART):
        part = Scenario.objects.filter(pk__in=missing[start : start + _PART])
        for scenario in part.prefetch_related("steps"):
            rows[scenario.pk] = _compiled(scenario)
    return {pk: rows[pk] for pk in versions if pk in rows}


def _is(row: CompiledRow | None, version: str) -> bool:
    return row is not None and row.version == version


def _compiled(scenario: Scenario) -> CompiledRow:
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
        return CompiledRow(scenario.version, compiled)
    for problem in problems:
        log.warning("catalog: left out: %s", problem)
    return CompiledRow(scenario.version, None, problems)


log = logging.getLogger(__name__)

SECONDS = 0.25


class Poller:
    """A thread that compares the catalog's number in the database with the one that is `shown`,
    and calls `reload` until they are the same."""

    def __init__(self, shown: Callable[[], int | None], reload: Callable[[], None]) -> None:
        self._shown = shown
        self._reload = reload
        self._stopping = Event()
        self._thread = Thread(target=self._run, name="mockllm-catalog", daemon=True)
        self._file: int | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; it has no connection any more when this returns."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        works = True
        while not self._stopping.wait(SECONDS):
            try:
                self._look()
                works = True
            except Exception:
                if works:
                    log.exception("catalog: other processes' changes cannot be seen")
                works = False
                connection.close()
                # Each connection counts from the beginning: its number may be the one seen last.
                self._file = None
        connection.close()

    def _look(self) -> None:
        file = _data_version()
        if file is not None and file == self._file:
            return
        number = catalog_number()
        if number != self._shown():
            self._reload()
        if number == self._shown():
            self._file = file


def can_be_shared() -> bool:
    """Whether another process can reach the database at all."""
    name = str(connection.settings_dict["NAME"])
    return connection.vendor != "sqlite" or not ("memory" in name or "vfs=memdb" in name)


def _data_version() -> int | None:
    """A number that SQLite changes for this connection when another one commits, without I/O of
    ours; other databases have none."""
    if connection.vendor != "sqlite":
        return None
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA data_version")
        (version,) = cursor.fetchone()
    return int(version)
