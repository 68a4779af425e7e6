"""The results of fault sweeps, kept with the versions of their scenarios."""

from collections.abc import Collection, Iterable, Mapping

from django.db import transaction

from scenarios_app.catalog import catalog
from scenarios_app.engine.document import DocumentError, dump
from scenarios_app.models import FaultResult, Scenario
from scenarios_app.store import document_of
from scenarios_app.verdict.survival import Results, Survival, measure_survival, version_of

NOT_HERE = "this server does not have it"
CHANGED = "it has changed since the sweep"


def add_results(
    versions: Mapping[str, str], results: Mapping[str, Results]
) -> list[tuple[str, str]]:
    """Store results by scenario; return the scenarios that were skipped, with the reasons.

    Results of the same version are added to the stored ones or replace them; those of other
    versions go.
    """
    names = sorted(results)
    current = _current_versions(names)
    skipped = [
        (name, CHANGED if name in current else NOT_HERE)
        for name in names
        if current.get(name) != versions[name]
    ]
    kept = [name for name in names if current.get(name) == versions[name]]
    rows = [
        FaultResult(scenario=name, version=versions[name], step=step, kind=kind, outcome=outcome)
        for name in kept
        for (step, kind), outcome in results[name].items()
    ]
    with transaction.atomic():
        for name in kept:
            FaultResult.objects.filter(scenario=name).exclude(version=versions[name]).delete()
        FaultResult.objects.bulk_create(
            rows,
            batch_size=500,
            update_conflicts=True,
            unique_fields=["scenario", "step", "kind"],
            update_fields=["version", "outcome", "at"],
        )
    return skipped


def survival(names: Collection[str] | None = None) -> Survival:
    """Return which faults programs survived at the steps of these enabled scenarios, or of all.

    Catch-alls are left out. Results of other versions are counted as outdated only.
    """
    scenarios = catalog.snapshot().index.by_name
    rows = FaultResult.objects.order_by("pk")
    if names is not None:
        scenarios = {name: scenarios[name] for name in scenarios if name in names}
        rows = rows.filter(scenario__in=names)
    by_scenario: dict[str, list[FaultResult]] = {}
    for row in rows:
        by_scenario.setdefault(row.scenario, []).append(row)
    current = _current_versions(by_scenario)
    measured = []
    for name, scenario in sorted(scenarios.items()):
        if not scenario.catch_all:
            stored = by_scenario.get(name, [])
            valid = [row for row in stored if row.version == current.get(name)]
            results = {(row.step, row.kind): row.outcome for row in valid}
            outdated = len(stored) - len(valid)
            measured.append(measure_survival(scenario, results, outdated=outdated))
    return Survival(tuple(measured))


def _current_versions(names: Iterable[str]) -> dict[str, str]:
    """Return the versions of those of these scenarios that are stored and valid."""
    versions = {}
    for row in Scenario.objects.filter(name__in=list(names)).prefetch_related("steps"):
        try:
            versions[row.name] = version_of(dump(document_of(row)))
        except DocumentError:
            continue
    return versions
