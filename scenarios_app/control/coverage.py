"""The coverage of scenarios in a run: steps that answered, conditions that held, faults applied."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.catalog import catalog
from scenarios_app.control.kit import ControlView, documented, flush_journal, rows_of_session
from scenarios_app.control.matches import record_met_conditions, rows_of_coverage_run
from scenarios_app.control.verdict import NAMES_HELP, check_enabled, parse_names
from scenarios_app.engine.scenario import Scenario
from scenarios_app.serving.services import services
from scenarios_app.verdict.coverage import coverage_text, measure_coverage
from scenarios_app.verdict.judge import ALL

UNSEEN = "{:,} requests left the journal unchecked: conditions may have held for them"


class NeverTrueBody(Shape):
    """A condition that no request met."""

    field = Text(help_text="The key in the step document.")
    expected = Text(allow_blank=True, help_text="The expected value.")


class FaultCoverageBody(Shape):
    """A fault that a step scripts."""

    kind = Text(help_text="The kind of fault.")
    place = serializers.ChoiceField(
        ["failures", "produce"], help_text="`failures`: before the answer; `produce`: in it."
    )
    triggered = Flag(help_text="True if it was sent.")


class StepCoverageBody(Shape):
    """A step, and how often it answered."""

    step = Text(help_text="The step's name, or its number from 1.")
    served = Whole(help_text="The number of answers, faults included.")
    never_true = NeverTrueBody(
        many=True, help_text="For a step that never answered: conditions that no request met."
    )
    faults = FaultCoverageBody(many=True, help_text="The scripted faults.")


class ScenarioCoverageBody(Shape):
    """A scenario with its steps in order."""

    scenario = Text(help_text="The scenario's name.")
    steps = StepCoverageBody(many=True, help_text="The steps in order.")


class CoverageBody(Shape):
    """Coverage since the server started or the run was reset."""

    since = serializers.DateTimeField(help_text="The start of the run.")
    requests = Whole(help_text="The number of requests since then.")
    percent = serializers.FloatField(help_text="The percentage of steps that answered.")
    steps = Whole(help_text="The number of steps.")
    served = Whole(help_text="The number of steps that answered.")
    faults = Whole(help_text="The number of scripted faults.")
    triggered = Whole(help_text="The number of faults that were sent.")
    scenarios = ScenarioCoverageBody(many=True, help_text="The scenarios by name.")
    complete = Flag(help_text="True if every request was checked against the conditions.")
    text = Text(help_text="The report as text.")


class CoverageQuery(Shape):
    """The scenarios to report on."""

    scenarios = Text(
        required=False,
        default="",
        help_text=NAMES_HELP + "Common scenarios, or private ones of sessions. Default: all "
        "common ones.",
    )


class CoverageView(ControlView):
    @documented(
        "coverage",
        CoverageBody,
        "The coverage of steps, conditions and faults.",
        query=CoverageQuery,
        errors=(404,),
    )
    def get(self, request: Request) -> Response:
        """Steps that answered, conditions that never held and faults that were never sent"""
        return Response(coverage_body(self.query(CoverageQuery)["scenarios"]))

    @documented("begin_coverage", None, "A new run has begun.", status=204)
    def delete(self, request: Request) -> Response:
        """Reset the coverage; the journal and sessions stay unchanged."""
        services().cluster.restart_run()
        return Response(status=204)


def coverage_body(scenarios: str) -> dict[str, Any]:
    """Return the coverage of the named scenarios, as in a CoverageBody. `scenarios` is the list of
    names of a CoverageQuery. Raises ControlError 400 or 404."""
    names = parse_names(scenarios, "scenarios")
    flush_journal()
    selected = _select_scenarios(names)
    rows = rows_of_coverage_run(rows_of_session(None))
    record_met_conditions(rows)
    row_count = rows.count()
    # Steps served by processes that have ended are only in the journal. A 400 may be a refused
    # request, so it does not count as served.
    answered = rows.exclude(step_key="").exclude(status=400)
    steps = set(answered.order_by().values_list("scenario", "step_key").distinct())
    run = services().cluster.run_counts(steps)
    report = measure_coverage(selected.values(), run)
    unseen = max(0, run.requests - run.observed - row_count)
    notes = (UNSEEN.format(unseen),) if unseen else ()
    return {
        "since": datetime.fromtimestamp(services().steps.since, UTC),
        "requests": max(run.requests, row_count),
        "percent": report.percent,
        "steps": report.steps,
        "served": report.served,
        "faults": len(report.faults),
        "triggered": sum(1 for fault in report.faults if fault.triggered),
        "scenarios": [asdict(scenario) for scenario in report.scenarios],
        "complete": run.whole and not unseen,
        "text": coverage_text(report, notes=notes),
    }


def _select_scenarios(names: frozenset[str]) -> Mapping[str, Scenario]:
    """Return the common scenarios, or those of `names`, which may be sessions' own; `*` names all.
    Raises ControlError 404 for an unknown name."""
    common = catalog.snapshot().index.by_name
    if not names:
        return common
    scenarios = {**services().steps.session_scenarios(), **common}
    if ALL in names:
        return scenarios
    check_enabled(names, scenarios)
    return {name: scenarios[name] for name in names}
