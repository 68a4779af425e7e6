"""Fault coverage: which kinds of faults programs have survived at which steps, by the reports of
`mockllm torture`."""

import hashlib
import json
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from scenarios_app.engine.parts import TextPart, ToolCallPart
from scenarios_app.engine.scenario import GeneratedAnswer, Scenario, ScriptedAnswer, Step
from scenarios_app.verdict.fault_kinds import KINDS, Kind
from scenarios_app.verdict.reports import first_lines, line

# The outcomes of a report that are kept, the best one first; texts have a space for "_".
OUTCOMES = ("survived", "failed_loudly", "failed_silently", "wrong", "hung", "multiplied")
NOT_TRIED = "not tried"
_MAX_LINES = 200
_VERSION_CHARS = 12

NO_REPORT = "no report that `mockllm torture --json` has written"
_CELL_KEYS = ("step", "kind", "outcome")

# The outcome of each kind of fault at a step, by the step's name or number and the kind's name.
Results: TypeAlias = Mapping[tuple[str, str], str]


@dataclass(frozen=True, slots=True)
class StepSurvival:
    """The outcome of each kind of fault that fits a step's answer; None if it was not tried."""

    step: str
    faults: Mapping[str, str | None]

    @property
    def survived(self) -> int:
        """The number of faults that were survived."""
        return list(self.faults.values()).count("survived")

    @property
    def is_untried(self) -> bool:
        """True if no fault was tried."""
        return not any(self.faults.values())

    @property
    def failures(self) -> dict[str, list[Kind]]:
        """The kinds that were not survived or not tried, by outcome in words."""
        kinds: dict[str, list[Kind]] = {}
        for outcome in (*OUTCOMES[1:], None):
            if of_outcome := [kind for kind in KINDS if self.faults.get(kind.name, "") == outcome]:
                kinds[_outcome_words(outcome)] = of_outcome
        return kinds


@dataclass(frozen=True, slots=True)
class ScenarioSurvival:
    """The steps of a scenario. `outdated` is the number of results of another version of it."""

    scenario: str
    steps: tuple[StepSurvival, ...]
    outdated: int = 0

    @property
    def was_swept(self) -> bool:
        """True if results are stored, even if only of another version."""
        return self.outdated > 0 or not all(step.is_untried for step in self.steps)


@dataclass(frozen=True, slots=True)
class Survival:
    """Results of `mockllm torture` by scenario: faults that were survived at each step."""

    scenarios: tuple[ScenarioSurvival, ...]

    @property
    def outcomes(self) -> Counter[str | None]:
        """The number of faults by outcome; None counts those that were not tried."""
        return Counter(
            outcome
            for scenario in self.scenarios
            for step in scenario.steps
            for outcome in step.faults.values()
        )

    @property
    def faults(self) -> int:
        """The number of faults at all steps, tried or not."""
        return sum(self.outcomes.values())

    @property
    def survived(self) -> int:
        """The number of faults that were survived."""
        return self.outcomes["survived"]

    @property
    def percent(self) -> float:
        """Percentage of faults that were survived, rounded down to 0.1, so that 100 means all."""
        return self.survived * 1000 // self.faults / 10 if self.faults else 0.0


def version_of(document: Mapping[str, Any]) -> str:
    """Return a hash of a scenario's content; `document` is its shortest JSON."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_VERSION_CHARS]


class BadReport(ValueError):
    """A file is no report, or does not fit the others; the message names it."""


def merge_reports(reports: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the versions and results of JSON reports in one body, given their files' names. Raises
    BadReport."""
    versions: dict[str, str] = {}
    cells: list[dict[str, str]] = []
    for file, report in reports:
        try:
            own_versions = dict(report["versions"])
            cells += [{key: cell[key] for key in _CELL_KEYS} for cell in report["cells"]]
        except (LookupError, TypeError, ValueError):
            raise BadReport(f"{file} is {NO_REPORT}") from None
        for name, version in own_versions.items():
            if versions.setdefault(name, version) != version:
                raise BadReport(f"{file}: its version of {name!r} is not that of the other files")
    return {"versions": versions, "cells": cells}


def split_step(text: str, scenarios: Container[str]) -> tuple[str, str]:
    """Return the scenario and step of SCENARIO/STEP, both of which may contain slashes. The
    scenario is empty if it is none of `scenarios`."""
    name, slash, step = text.rpartition("/")
    while slash and name not in scenarios:
        name, slash, more = name.rpartition("/")
        step = f"{more}/{step}"
    return name if slash else "", step


def worst_results(report: Mapping[str, Any]) -> dict[str, dict[tuple[str, str], str]]:
    """Return the results of a JSON report by scenario: the worst outcome of each kind at each step.
    Other outcomes than OUTCOMES are left out, and scenarios without a version: they are in the code
    of tests."""
    results: dict[str, dict[tuple[str, str], str]] = {}
    for cell in report["cells"]:
        name, step = split_step(cell["step"], report["versions"])
        if not name or cell["outcome"] not in OUTCOMES:
            continue
        key = step, cell["kind"]
        of_scenario = results.setdefault(name, {})
        before = of_scenario.get(key, OUTCOMES[0])
        of_scenario[key] = max(before, cell["outcome"], key=OUTCOMES.index)
    return results


def measure_survival(
    scenario: Scenario, results: Results, *, outdated: int = 0
) -> ScenarioSurvival:
    """Return the outcomes of faults at the steps of a scenario, from results of its current
    version."""
    return ScenarioSurvival(
        scenario.name, tuple(_step_survival(step, results) for step in scenario.steps), outdated
    )


def _step_survival(step: Step, results: Results) -> StepSurvival:
    """Return the outcomes at a step: of kinds with a result, and None for others that fit."""
    applicable = set(_applicable_kinds(step))
    outcomes = {kind.name: results.get((step.label, kind.name)) for kind in KINDS}
    return StepSurvival(
        step.label,
        {
            kind: outcome
            for kind, outcome in outcomes.items()
            if outcome is not None or kind in applicable
        },
    )


def _applicable_kinds(step: Step) -> Iterator[str]:
    """Yield the names of the kinds that fit the step's answer over every client and transport."""
    produce = step.produce
    answer = produce.streaming if produce.non_streaming is None else produce.non_streaming
    if answer is None:
        return
    choices = answer.choices if isinstance(answer, ScriptedAnswer) else ()
    parts = choices[0].parts if choices else ()
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    is_lorem = isinstance(answer, GeneratedAnswer) and answer.kind == "lorem"
    holds = {
        "text": "lorem" if is_lorem else "".join(texts),
        "calls": [part for part in parts if isinstance(part, ToolCallPart)],
        "socket": False,
    }
    # A raw answer is sent as it is, so that only its transport can fail.
    alterable = isinstance(answer, (ScriptedAnswer, GeneratedAnswer))
    for kind in KINDS:
        if kind.applies(holds) and (alterable or "fault" in kind.change):
            yield kind.name


def _outcome_words(outcome: str | None) -> str:
    """Return an outcome with spaces instead of "_"; NOT_TRIED for None."""
    return NOT_TRIED if outcome is None else outcome.replace("_", " ")


def survival_text(survival: Survival) -> str:
    """Return the percentage, and a line for each step with a fault that was not survived, and for
    each scenario with outdated results."""
    outcomes = survival.outcomes
    unsurvived = [outcome for outcome in (*OUTCOMES[1:], None) if outcomes[outcome]]
    words = [f"{outcomes[outcome]} {_outcome_words(outcome)}" for outcome in unsurvived]
    headline = (
        f"fault coverage: {survival.percent:g} %, {survival.survived} of {survival.faults} faults "
        "survived"
    )
    lines = first_lines(_report_lines(survival.scenarios), _MAX_LINES)
    return "\n".join([", ".join([headline, *words]), *lines])


def _report_lines(scenarios: Sequence[ScenarioSurvival]) -> Iterator[str]:
    """Yield a line for each step whose faults were not tried or not all survived, and for outdated
    results."""
    for scenario in scenarios:
        if scenario.outdated:
            count = scenario.outdated
            results = "1 result is" if count == 1 else f"{count} results are"
            yield line(f"{scenario.scenario}: {results} of another version")
        for step in scenario.steps:
            where = f"{scenario.scenario}, step {step.step}"
            if step.faults and step.is_untried:
                yield line(f"{where}: {NOT_TRIED}")
            elif failures := step.failures:
                words = (
                    f"{word}: {', '.join(k.name for k in kinds)}"
                    for word, kinds in failures.items()
                )
                yield f"{line(where)}: {'; '.join(words)}"
