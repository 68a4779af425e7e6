"""Fault coverage: the results that count, and the kinds of faults that a step can have."""

from typing import Any
from xml.etree import ElementTree

import pytest

from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.scenario import Scenario
from scenarios_app.verdict.badge import percent_badge
from scenarios_app.verdict.survival import (
    BadReport,
    StepSurvival,
    Survival,
    measure_survival,
    merge_reports,
    split_step,
    survival_text,
    version_of,
    worst_results,
)

CALL = {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}
NO_REPORT = "is no report that `mockllm torture --json` has written"


def scenario(*produce: dict[str, Any], name: str = "s") -> Scenario:
    steps = [{"match": {"model": f"m{n}"}, "produce": answer} for n, answer in enumerate(produce)]
    (document,) = load_documents({"name": name, "steps": steps})
    return compile_scenario(document)


def step_of(produce: dict[str, Any], results: Any = None) -> StepSurvival:
    (step,) = measure_survival(scenario(produce), results or {}).steps
    return step


def kinds_of(produce: dict[str, Any]) -> set[str]:
    return set(step_of(produce).faults)


def report(*cells: tuple[str, str, str], **versions: str) -> dict[str, Any]:
    keys = ("step", "kind", "outcome")
    return {"versions": versions, "cells": [dict(zip(keys, cell, strict=True)) for cell in cells]}


def test_worst_outcome_of_a_kind_at_a_step_counts() -> None:
    sweep_report = report(
        ("s/1", "stall", "survived"),
        ("s/1", "stall", "hung"),
        ("s/1", "stall", "failed_loudly"),
        ("s/1", "reset", "survived"),
        ("s/1", "refusal", "unreached"),
        s="v",
    )
    assert worst_results(sweep_report) == {
        "s": {("1", "stall"): "hung", ("1", "reset"): "survived"}
    }


def test_scenarios_without_a_version_have_no_results() -> None:
    assert worst_results(report(("own/1", "stall", "survived"), s="v")) == {}


def test_names_with_slashes_keep_their_steps() -> None:
    sweep_report = report(
        ("a/b/1", "stall", "survived"), ("a/x/y", "stall", "wrong"), **{"a": "1", "a/b": "2"}
    )
    results = worst_results(sweep_report)
    assert results == {"a/b": {("1", "stall"): "survived"}, "a": {("x/y", "stall"): "wrong"}}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a/b/1", ("a/b", "1")),
        ("a/x/y", ("a", "x/y")),
        ("b/1", ("", "b/1")),
        ("1", ("", "1")),
        ("", ("", "")),
    ],
)
def test_step_is_split_after_the_longest_scenario(text: str, parts: tuple[str, str]) -> None:
    assert split_step(text, {"a", "a/b"}) == parts


def test_reports_of_equal_versions_are_merged() -> None:
    first, second = (
        report(("s/1", "stall", "wrong"), s="v"),
        report(("t/1", "stall", "hung"), t="w"),
    )
    merged = merge_reports([("a", first), ("b", second)])
    assert merged["versions"] == {"s": "v", "t": "w"}
    assert [cell["step"] for cell in merged["cells"]] == ["s/1", "t/1"]


@pytest.mark.parametrize("bad", [None, [], {}, {"versions": {}, "cells": [1]}, {"versions": 1}])
def test_file_that_is_no_report_is_named(bad: Any) -> None:
    with pytest.raises(BadReport, match=f"^r.json {NO_REPORT}$"):
        merge_reports([("r.json", bad)])


def test_reports_of_different_versions_are_refused() -> None:
    with pytest.raises(BadReport, match=r"^b: its version of 's' is not that of the other files$"):
        merge_reports([("a", report(s="1")), ("b", report(s="2"))])


def test_step_with_text_has_no_faults_of_calls() -> None:
    kinds = kinds_of({"text": "Hi."})
    assert {"stall", "cut_text", "max_tokens", "refusal"} <= kinds
    assert not {"cut_call", "call_twice", "half_frame"} & kinds


def test_step_with_a_call_has_no_faults_of_text() -> None:
    kinds = kinds_of(CALL)
    assert {"stall", "cut_call", "call_twice", "unknown_tool"} <= kinds
    assert not {"cut_text", "max_tokens"} & kinds


def test_raw_answer_has_faults_of_transport_only() -> None:
    kinds = kinds_of({"raw": {"status": 200, "body": "{}"}})
    assert {"stall", "reset"} <= kinds
    assert not {"cut_text", "refusal", "wrong_finish"} & kinds


def test_generated_text_has_faults_of_text() -> None:
    assert {"cut_text", "refusal"} <= kinds_of({"generate": {"kind": "lorem"}})
    assert "cut_text" not in kinds_of({"generate": {"kind": "auto"}})


def test_step_that_only_fails_has_no_faults() -> None:
    assert kinds_of({"fault": {"kind": "timeout"}}) == set()


def test_result_of_a_kind_that_needs_a_socket_counts() -> None:
    step = step_of({"text": "Hi."}, {("1", "half_frame"): "survived"})
    assert "half_frame" in step.faults
    assert step.survived == 1


def test_percentage_is_of_survived_faults() -> None:
    results = {
        ("1", "stall"): "survived",
        ("1", "reset"): "failed_loudly",
        ("1", "refusal"): "wrong",
    }
    survival = Survival((measure_survival(scenario({"text": "Hi."}, CALL), results),))
    assert (survival.survived, survival.faults) == (1, 32)
    assert survival.percent == 3.1
    lines = survival_text(survival).splitlines()
    assert lines[0] == (
        "fault coverage: 3.1 %, 1 of 32 faults survived, 1 failed loudly, 1 wrong, 29 not tried"
    )
    assert lines[1].startswith("s, step 1: failed loudly: reset; wrong: refusal; not tried: rate_")
    assert lines[2:] == ["s, step 2: not tried"]


def test_results_of_another_version_are_named() -> None:
    measured = measure_survival(scenario({"text": "Hi."}), {}, outdated=2)
    assert measured.was_swept
    assert survival_text(Survival((measured,))).splitlines()[1:] == [
        "s: 2 results are of another version",
        "s, step 1: not tried",
    ]


def test_no_steps_are_no_percentage() -> None:
    assert survival_text(Survival(())) == "fault coverage: 0 %, 0 of 0 faults survived"


def test_long_text_is_cut() -> None:
    many = measure_survival(scenario(*[{"text": "Hi."}] * 250), {})
    assert survival_text(Survival((many,))).splitlines()[-1] == "… and 50 more"


def test_version_changes_with_the_content_only() -> None:
    assert version_of({"name": "a", "steps": [1]}) == version_of({"steps": [1], "name": "a"})
    assert version_of({"name": "a", "steps": [1]}) != version_of({"name": "a", "steps": [2]})


@pytest.mark.parametrize(
    ("percent", "colour"), [(90, "#187a2f"), (60, "#8a5a00"), (59.9, "#b3261e")]
)
def test_badge_has_label_percentage_and_colour(percent: float, colour: str) -> None:
    badge = percent_badge("faults <survived>", percent)
    title = ElementTree.fromstring(badge).get("aria-label")
    assert title == f"faults <survived>: {percent:g} %"
    assert colour in badge
