"""Annotations and the job summary of GitHub Actions."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scenarios_app.verdict.github import (
    MAX_ANNOTATIONS,
    coverage_annotations,
    coverage_summary,
    literal_lines,
    verdict_annotations,
)
from scenarios_app.verdict.reports import MAX_REASONS
from tests.support.live_server import Live
from tests.verdict.test_misbehaving_clients import post

UNSERVED = {"scenario": "s", "step": "1"}


def verdict(**parts: Any) -> dict[str, Any]:
    empty = {"unmatched": [], "violations": [], "unserved": [], "findings": []}
    return {"session": None, "passed": False, "strict": False, **empty, **parts}


def coverage(*names: str, served: int = 0) -> dict[str, Any]:
    steps = [{"step": name, "served": served, "never_true": [], "faults": []} for name in names]
    used = len(steps) if served else 0
    scenarios = [{"scenario": "s", "steps": steps}]
    percent = 100.0 if served else 0.0
    return {"percent": percent, "served": used, "steps": len(steps), "scenarios": scenarios}


def test_reason_of_a_failed_verdict_is_an_error() -> None:
    annotations = verdict_annotations(verdict(unserved=[UNSERVED]))
    assert annotations == "::error title=mockllm%3A every step was served::s, step 1"


def test_finding_that_does_not_fail_the_verdict_is_a_warning() -> None:
    finding = {"rule": "tool-not-offered", "message": "No tool.", "request": "r-1"}
    annotations = verdict_annotations(verdict(findings=[finding]))
    assert annotations == "::warning title=mockllm%3A tool-not-offered::No tool. [r-1]"
    assert verdict_annotations(verdict(findings=[finding], strict=True)).startswith("::error ")


def test_text_of_a_client_cannot_end_its_annotation() -> None:
    violation = {"text": "50 %\n::error::mine\r", "request": "r,1:2"}
    annotations = verdict_annotations(verdict(violations=[violation]))
    assert annotations.splitlines() == [
        "::error title=mockllm%3A every expectation held::50 %25 ::error::mine [r,1:2]"
    ]


def test_annotations_end_where_github_stops_to_show_them() -> None:
    unserved = [{**UNSERVED, "step": str(number)} for number in range(MAX_ANNOTATIONS + 1)]
    annotations = verdict_annotations(verdict(unserved=unserved))
    assert len(annotations.splitlines()) == MAX_ANNOTATIONS


def test_unused_step_is_a_warning_and_too_few_used_steps_are_an_error() -> None:
    report = coverage("a", "b:c")
    assert coverage_annotations(report, fail_under=50).splitlines() == [
        "::error title=mockllm%3A coverage::0 %25 of the steps were used, 50 %25 are required",
        "::warning title=mockllm%3A s%2C step a::never served",
        "::warning title=mockllm%3A s%2C step b%3Ac::never served",
    ]
    assert coverage_annotations(coverage("a", served=1), fail_under=100) == ""


def test_summary_of_coverage_lists_unused_steps_up_to_a_limit() -> None:
    summary = coverage_summary(coverage(*(f"<{number}>" for number in range(MAX_REASONS + 2))))
    assert summary.startswith(f"### mockllm coverage: 0 %\n\nSteps used: 0 of {MAX_REASONS + 2}\n")
    assert "- **s\\, step \\<0\\>**: never served\n" in summary
    assert summary.endswith("- … and 2 more steps\n")
    assert "- " not in coverage_summary(coverage("a", served=1))


def test_marks_around_printed_text_are_not_guessable() -> None:
    first, second = literal_lines("::error::x"), literal_lines("::error::x")
    start, text, end = first.splitlines()
    assert (text, start.removeprefix("::stop-commands::")) == ("::error::x", end.strip(":"))
    assert first != second


@pytest.mark.parametrize(
    ("command", "output", "heading"),
    [
        (("verdict",), "passed=true", "### mockllm: passed"),
        (("coverage", "--scenario", "s"), "coverage=100", "### mockllm coverage: 100 %"),
    ],
)
def test_commands_write_the_files_of_the_runner(
    live: Live,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
    command: tuple[str, ...],
    output: str,
    heading: str,
) -> None:
    live.load({"name": "s", "steps": [{"match": {}, "produce": {"text": "Hi."}}]})
    post(live, "Hello")
    session = ("--session", live.key) if command == ("verdict",) else ()
    run = (*command, *session, "--github", "--url", live.base_url)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    with pytest.raises(CommandError, match="--github: GITHUB_STEP_SUMMARY is not set"):
        call_command(*run)
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        monkeypatch.setenv(name, str(tmp_path / name))
        (tmp_path / name).write_text("before\n")
    capsys.readouterr()
    call_command(*run)
    assert capsys.readouterr().out.startswith("::stop-commands::")
    assert (tmp_path / "GITHUB_OUTPUT").read_text() == f"before\n{output}\n"
    assert (tmp_path / "GITHUB_STEP_SUMMARY").read_text().startswith(f"before\n{heading}\n")
