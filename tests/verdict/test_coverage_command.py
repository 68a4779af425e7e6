"""`mockllm coverage` prints text or JSON, writes JUnit XML and HTML, and checks a minimum."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx2
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from scenarios_app.verdict.survival import version_of
from tests.support.live_server import Live
from tests.verdict.test_misbehaving_clients import post

EVIL = "<script>alert(1)</script>\x00]]>"


@pytest.fixture
def half_served(live: Live, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    """Return a server with a scenario of two steps, one of which has answered."""
    monkeypatch.setenv("MOCKLLM_URL", live.base_url)
    httpx2.delete(f"{live.base_url}/control/coverage", trust_env=False).raise_for_status()
    hello = {"match": {"messages": ["Hello"]}, "produce": {"text": "Hi."}}
    bye = {"name": "<never>", "match": {"model": "o3"}, "produce": {"text": "Bye."}}
    live.load({"name": "s & co", "steps": [hello, bye]})
    post(live, "Hello")
    yield live


def run(*arguments: str) -> int:
    try:
        call_command("coverage", *arguments)
    except SystemExit as end:
        return int(str(end.code))
    return 0


def test_uncovered_steps_and_conditions_are_listed(half_served: Live, capsys: Any) -> None:
    assert run() == 0
    assert capsys.readouterr().out.splitlines() == [
        "coverage: 50 %, 1 of 2 steps",
        "never served: s & co, step <never>",
        '  never true: match.model: equals "o3"',
    ]


def test_coverage_below_the_minimum_has_exit_code_1(half_served: Live, capsys: Any) -> None:
    assert run("--fail-under", "50") == 0
    assert run("--fail-under", "50.1", "--scenario", "s & co") == 1
    assert capsys.readouterr().err == "mockllm: 50 % is under 50.1 %\n"


def test_json_option_prints_the_body_of_the_control_api(half_served: Live, capsys: Any) -> None:
    assert run("--json") == 0
    coverage = json.loads(capsys.readouterr().out)
    assert (coverage["percent"], coverage["requests"]) == (50.0, 1)


def test_junit_has_a_case_for_each_step(half_served: Live, tmp_path: Path) -> None:
    run("--junit", str(tmp_path / "c.xml"))
    suite = ElementTree.parse(tmp_path / "c.xml").getroot()
    first, second = suite
    assert (first.get("classname"), first.get("name")) == ("mockllm.s & co", "1")
    assert first.find("failure") is None
    assert second.findtext("failure") == 'never served\nnever true: match.model: equals "o3"'


def test_html_page_escapes_names(half_served: Live, tmp_path: Path) -> None:
    half_served.load({"name": EVIL.replace("\x00", ""), "steps": [{"produce": {"text": "x"}}]})
    post(half_served, "Hello again")
    run("--html", str(tmp_path / "c.html"))
    page = (tmp_path / "c.html").read_text()
    assert "<h1>Coverage: 66.6 %</h1>" in page
    assert "<h2>s &amp; co</h2>" in page
    assert '<tr class="missed"><td>&lt;never&gt;</td><td class="number">0</td>' in page
    assert "never true: match.model: equals &quot;o3&quot;" in page
    assert "<script" not in page


@pytest.mark.parametrize("bound", ["101", "-1", "half", "nan"])
def test_minimum_outside_0_to_100_is_rejected(bound: str) -> None:
    with pytest.raises(CommandError, match=r"expected a number from 0 to 100"):
        run("--fail-under", bound)


def test_unreachable_server_has_exit_code_2() -> None:
    with pytest.raises(CommandError, match=r"no mockllm server answers at") as error:
        run("--url", "http://127.0.0.1:9")
    assert error.value.returncode == 2


def write_results_file(folder: Path, live: Live, **changes: Any) -> str:
    """Write a report of `mockllm torture` on this scenario; return the file's name."""
    document = httpx2.get(f"{live.base_url}/control/scenarios/s & co", trust_env=False).json()
    cell = {"step": "s & co/1", "kind": "stall", "outcome": "survived", "exit": 0}
    report = {"versions": {"s & co": version_of(document)}, "cells": [cell], **changes}
    (folder / "report.json").write_text(json.dumps(report))
    return str(folder / "report.json")


def test_faults_option_stores_reports_and_lists_what_was_not_survived(
    half_served: Live, tmp_path: Path, capsys: Any
) -> None:
    file = write_results_file(tmp_path, half_served)
    assert run("--scenario", "s & co", "--faults", file) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == "fault coverage: 3.3 %, 1 of 30 faults survived, 29 not tried"
    assert second.startswith("s & co, step 1: not tried: rate_limit, ")
    assert third == "s & co, step <never>: not tried"
    assert run("--scenario", "s & co", "--faults", "--fail-under", "3.4") == 1
    assert capsys.readouterr().err == "mockllm: 3.3 % is under 3.4 %\n"


def test_results_of_another_version_are_left_out_with_a_reason(
    half_served: Live, tmp_path: Path, capsys: Any
) -> None:
    file = write_results_file(tmp_path, half_served, versions={"s & co": "old"})
    assert run("--faults", file) == 0
    assert capsys.readouterr().err == (
        "mockllm: results of s & co left out: it has changed since the sweep\n"
    )


@pytest.mark.parametrize("text", ["{}", "[", '{"versions": {}}'])
def test_file_that_is_no_report_ends_with_exit_code_2(text: str, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(CommandError, match=r"r\.json is no report that") as error:
        run("--faults", str(tmp_path / "r.json"))
    assert error.value.returncode == 2


def test_missing_report_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        run("--faults", str(tmp_path / "r.json"))


def test_faults_have_no_junit() -> None:
    with pytest.raises(CommandError, match="--faults has no --junit"):
        run("--faults", "--junit", "x.xml")


def test_badge_has_the_percentage(half_served: Live, tmp_path: Path) -> None:
    for file, options in (("steps.svg", ()), ("faults.svg", ("--faults",))):
        assert run("--scenario", "s & co", "--badge", str(tmp_path / file), *options) == 0
    assert "steps covered: 50 %" in (tmp_path / "steps.svg").read_text()
    assert "faults survived: 0 %" in (tmp_path / "faults.svg").read_text()
