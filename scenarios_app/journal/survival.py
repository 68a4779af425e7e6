"""The results of fault sweeps, kept with the versions of their scenarios."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress

from django.db import transaction

from scenarios_app.catalog import catalog
from scenarios_app.engine.document import DocumentError
from scenarios_app.models import FaultResult, Scenario
from scenarios_app.store import batches, document_of
from scenarios_app.verdict.survival import Results, Survival, measure_survival, version_of


def add_results(
    versions: Mapping[str, str], results: Mapping[str, Results]
) -> list[tuple[str, str]]:
    """Store results by scenario; return the scenarios that were skipped, with the reasons. Results
    of the same version are added to the stored ones or replace them; those of other versions are
    deleted."""
    current = _current_steps(results)
    skipped = []
    for name in sorted(results):
        version, labels = current.get(name, ("", set()))
        if not version:
            skipped.append((name, "this server does not have it"))
        elif version != versions[name]:
            skipped.append((name, "it has changed since the sweep"))
        elif strange := sorted({step for step, _ in results[name]} - labels):
            skipped.append((name, f"it has no step “{strange[0]}”"))
    accepted = sorted(results.keys() - {name for name, _ in skipped})
    rows = [
        FaultResult(scenario=name, version=versions[name], step=step, kind=kind, outcome=outcome)
        for name in accepted
        for (step, kind), outcome in results[name].items()
    ]
    with transaction.atomic():
        for name in accepted:
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
    Catch-alls are left out. Results of other versions are counted as outdated only."""
    rows = FaultResult.objects.order_by("pk")
    stored: defaultdict[str, list[FaultResult]] = defaultdict(list)
    for row in rows if names is None else rows.filter(scenario__in=names):
        stored[row.scenario].append(row)
    current = _current_steps(stored)
    measured = []
    for name, scenario in sorted(catalog.snapshot().index.by_name.items()):
        if not scenario.catch_all and (names is None or name in names):
            version, _ = current.get(name, ("", set()))
            valid = [row for row in stored[name] if row.version == version]
            results = {(row.step, row.kind): row.outcome for row in valid}
            outdated = len(stored[name]) - len(valid)
            measured.append(measure_survival(scenario, results, outdated=outdated))
    return Survival(tuple(measured))


def _current_steps(names: Iterable[str]) -> dict[str, tuple[str, set[str]]]:
    """Return the version and the step names of those of these scenarios that are stored."""
    current = {}
    for part in batches(list(names)):
        for row in Scenario.objects.filter(name__in=part).prefetch_related("steps"):
            with suppress(DocumentError):
                document = document_of(row)
                labels = {step.name or str(n) for n, step in enumerate(document.steps, 1)}
                current[row.name] = version_of(document.dump_shortest()), labels
    return current
