"""The coverage of scenarios over a run: which steps, conditions and faults it has come by."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.shapes import Flag, Shape, Text, Whole
from scenarios_app.catalog import catalog
from scenarios_app.control.kit import ControlError, ControlView, documented, flush, rows_of_session
from scenarios_app.control.matches import observe, since_begin
from scenarios_app.control.verdict import LIST, names_of
from scenarios_app.engine.scenario import Scenario
from scenarios_app.serving.services import services
from scenarios_app.verdict.coverage import coverage_text, measure_coverage
from scenarios_app.verdict.judge import ALL

UNSEEN = "{:,} requests had left the journal unseen: conditions may have held in them"


class NeverTrueBody(Shape):
    """A condition that no request met."""

    field = Text(help_text="Its place in the step.")
    expected = Text(allow_blank=True, help_text="What it wants.")


class FaultCoverageBody(Shape):
    """A fault that a step scripts."""

    kind = Text(help_text="Its kind.")
    place = serializers.ChoiceField(
        ["failures", "produce"], help_text="Whether it comes before the answer or in it."
    )
    triggered = Flag(help_text="Whether it was acted out.")


class StepCoverageBody(Shape):
    """A step, and how often it answered."""

    step = Text(help_text="Its name, or its number from 1.")
    served = Whole(help_text="How often it answered, be it with a fault.")
    never_true = NeverTrueBody(
        many=True, help_text="Where it never did: its conditions that no request met."
    )
    faults = FaultCoverageBody(many=True, help_text="The faults that it scripts.")


class ScenarioCoverageBody(Shape):
    """A scenario with its steps in order."""

    scenario = Text(help_text="Its name.")
    steps = StepCoverageBody(many=True, help_text="Its steps.")


class CoverageBody(Shape):
    """What a run has come by since the server's start, or since it was begun anew."""

    since = serializers.DateTimeField(help_text="When the run began.")
    requests = Whole(help_text="Requests since then.")
    percent = serializers.FloatField(help_text="Steps that answered, in a hundred.")
    steps = Whole(help_text="How many steps there are.")
    served = Whole(help_text="How many of them answered.")
    faults = Whole(help_text="How many faults are scripted.")
    triggered = Whole(help_text="How many of them were acted out.")
    scenarios = ScenarioCoverageBody(many=True, help_text="By name.")
    complete = Flag(help_text="Whether every request was held against the conditions.")
    text = Text(help_text="What was left out, for people.")


class CoverageQuery(Shape):
    """Of which scenarios."""

    scenarios = Text(
        required=False,
        default="",
        help_text=LIST + "Common ones, or such as sessions had as their own; without it, all "
        "common ones.",
    )


class CoverageView(ControlView):
    @documented(
        "coverage",
        query=CoverageQuery,
        answers={200: (CoverageBody, "Steps, conditions and faults.")},
        errors=(404,),
    )
    def get(self, request: Request) -> Response:
        """Which steps answered, which conditions never held and which faults never struck"""
        asked = names_of(self.query(CoverageQuery)["scenarios"], "scenarios")
        flush()
        chosen = _chosen(asked)
        rows = since_begin(rows_of_session(None))
        observe(rows)
        kept = rows.count()
        # What processes that are no more have answered the journal alone knows; a 400 may be a
        # refusal.
        answered = rows.exclude(step_key="").exclude(status=400)
        steps = set(answered.order_by().values_list("scenario", "step_key").distinct())
        run = services().everywhere.run(steps)
        found = measure_coverage(chosen.values(), run.coverage)
        unseen = max(0, run.requests - run.observed - kept)
        notes = (UNSEEN.format(unseen),) if unseen else ()
        return Response(
            {
                "since": datetime.fromtimestamp(services().steps.since, UTC),
                "requests": max(run.requests, kept),
                "percent": found.percent,
                "steps": found.steps,
                "served": found.served,
                "faults": len(found.faults),
                "triggered": sum(1 for fault in found.faults if fault.triggered),
                "scenarios": [asdict(one) for one in found.scenarios],
                "complete": run.whole and not unseen,
                "text": coverage_text(found, notes=notes),
            }
        )

    @documented("begin_coverage", answers={204: (None, "The run begins now.")})
    def delete(self, request: Request) -> Response:
        """Begin the run's coverage anew; journal and sessions stay as they are."""
        services().everywhere.begin()
        return Response(status=204)


def _chosen(asked: frozenset[str]) -> Mapping[str, Scenario]:
    common = catalog.snapshot().index.by_name
    if not asked:
        return common
    there = {**services().steps.session_scenarios(), **common}
    if ALL in asked:
        return there
    if unknown := sorted(asked - there.keys()):
        message = f"There is no enabled scenario “{unknown[0]}”."
        raise ControlError(404, message, field="scenarios")
    return {name: there[name] for name in asked}
