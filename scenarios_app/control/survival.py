"""Fault coverage: which kinds of faults programs survived at which steps."""

from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from mockllm_site.kit.api.shapes import Shape, Text, Whole
from scenarios_app.catalog import catalog
from scenarios_app.control.kit import ControlView, documented
from scenarios_app.control.verdict import NAMES_HELP, check_enabled, parse_names
from scenarios_app.journal.survival import add_results, survival
from scenarios_app.verdict.fault_kinds import KINDS
from scenarios_app.verdict.judge import ALL
from scenarios_app.verdict.survival import OUTCOMES, survival_text, worst_results

_REPORTED = [*OUTCOMES, "unreached"]


class StepSurvivalBody(Shape):
    """A step with the faults that its answer can have."""

    step = Text(help_text="The step's name, or its number from 1.")
    faults = serializers.DictField(
        child=Text(allow_null=True),
        help_text="The outcome of each kind of fault by name; null if it was not tried.",
    )


class ScenarioSurvivalBody(Shape):
    """A scenario with its steps in order."""

    scenario = Text(help_text="The scenario's name.")
    steps = StepSurvivalBody(many=True, help_text="The steps in order.")
    outdated = Whole(help_text="Results of other versions, which do not count.")


class SurvivalBody(Shape):
    """The kinds of faults that programs survived, by step."""

    percent = serializers.FloatField(help_text="The percentage of survived faults.")
    faults = Whole(help_text="The number of faults: kinds at steps.")
    survived = Whole(help_text="The number of survived faults.")
    scenarios = ScenarioSurvivalBody(many=True, help_text="The scenarios by name.")
    text = Text(help_text="The report as text.")


class CellBody(Shape):
    """The result of a fault at a step."""

    step = Text(help_text="The step, as SCENARIO/STEP.")
    kind = serializers.ChoiceField(
        [kind.name for kind in KINDS], help_text="The kind of fault, as in `mockllm torture`."
    )
    outcome = Text(
        keywords={"pattern": f"^({'|'.join(_REPORTED)})$"},
        help_text="The outcome; `unreached` does not count.",
    )

    def validate_outcome(self, outcome: str) -> str:
        if outcome not in _REPORTED:
            raise serializers.ValidationError(f"expected one of {', '.join(_REPORTED)}")
        return outcome


class FaultResultsBody(Shape):
    """Results of sweeps. Of several for one kind at one step the worst one counts."""

    versions = serializers.DictField(
        child=Text(max_length=16), help_text="The versions of the swept scenarios, by name."
    )
    cells = CellBody(many=True, help_text="The results, as in the JSON of `mockllm torture`.")


class SkippedScenarioBody(Shape):
    """A scenario whose results were not stored."""

    scenario = Text(help_text="The scenario's name.")
    reason = Text(help_text="The reason.")


class StoredResultsBody(Shape):
    """The number of results of `torture` that were stored, and the scenarios without any."""

    stored = Whole(help_text="The number of stored results.")
    skipped = SkippedScenarioBody(many=True, help_text="Scenarios whose results were not stored.")


class SurvivalQuery(Shape):
    """The scenarios to report on."""

    scenarios = Text(required=False, default="", help_text=NAMES_HELP + "Default: all common ones.")


class SurvivalView(ControlView):
    @documented(
        "fault_coverage",
        SurvivalBody,
        "The outcomes of faults.",
        query=SurvivalQuery,
        errors=(404,),
    )
    def get(self, request: Request) -> Response:
        """The kinds of faults that programs survived, by step"""
        return Response(survival_body(self.query(SurvivalQuery)["scenarios"]))

    @documented("add_fault_results", StoredResultsBody, "The counts.", body=FaultResultsBody)
    def post(self, request: Request) -> Response:
        """Store results of `mockllm torture`, with the versions of their scenarios"""
        fields = self.read_body(FaultResultsBody)
        results = worst_results(fields)
        skipped = add_results(fields["versions"], results)
        names = {name for name, _ in skipped}
        stored = sum(len(rows) for name, rows in results.items() if name not in names)
        reasons = [{"scenario": name, "reason": reason} for name, reason in skipped]
        return Response({"stored": stored, "skipped": reasons})


def survival_body(scenarios: str) -> dict[str, Any]:
    """Return the fault coverage of the named scenarios, as in a SurvivalBody. `scenarios` is the
    list of names of a SurvivalQuery. Raises ControlError 400 or 404."""
    names = parse_names(scenarios, "scenarios")
    check_enabled(names, catalog.snapshot().index.by_name)
    report = survival(None if ALL in names else names or None)
    return {
        "percent": report.percent,
        "faults": report.faults,
        "survived": report.survived,
        "scenarios": [asdict(scenario) for scenario in report.scenarios],
        "text": survival_text(report),
    }
