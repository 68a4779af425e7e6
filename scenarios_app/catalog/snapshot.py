"""The enabled scenarios as they were at one moment: compiled, or with what is wrong with them."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

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
