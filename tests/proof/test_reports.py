"""The matrix of a sweep as text, JSON, JUnit XML and a page."""

import json
import re
from xml.etree import ElementTree

from scenarios_app.proof.experiment import CellResult, Sweep
from scenarios_app.proof.outcome import Judgement
from scenarios_app.proof.program import ProgramRun
from scenarios_app.proof.reports import (
    FAIL_ON,
    html_report,
    json_report,
    junit_report,
    text_report,
)
from scenarios_app.proof.sweep import INTERRUPTED
from tests.proof.observations import (
    all_cells,
    answer,
    cell,
    make_result,
    make_sweep,
    repeat_command,
)


def test_text_has_a_row_for_each_kind_and_a_paragraph_for_each_bad_cell() -> None:
    lines = text_report(make_sweep("survived", "silent"), FAIL_ON, repeat_command).splitlines()
    assert lines[:2] == ["[1] answer 1: s/1", "[2] answer 2: s/2"]
    assert lines[2].split() == ["[1]", "[2]"]
    rows = {line[:29].strip(): line[29:].split() for line in lines[3:22]}
    assert rows["429 with Retry-After"] == ["ok", "·"]
    assert rows["429 without Retry-After"] == ["SILENT", "·"]
    assert rows["cut in mid-tool-call"] == ["·"]
    assert "2 of 32 cells: 1 survived, 1 silent" in lines
    assert "30 cells (·) were left out: the budget was used up" in lines
    assert lines[-5:] == [
        "",
        "rate_limit_without_time@1: silent",
        "  429 without Retry-After at answer 1, step s/1",
        "  r",
        "  again: run rate_limit_without_time@1",
    ]


def test_stopped_sweep_says_so() -> None:
    text = text_report(make_sweep("loud", left_out_because=INTERRUPTED), FAIL_ON, repeat_command)
    assert text.endswith("31 cells (·) were left out: the sweep was stopped")


def test_sessions_are_named_where_there_are_several_and_many_answers_fill_several_tables() -> None:
    answers = [answer(number, session=session) for session in "ab" for number in range(1, 6)]
    text = text_report(Sweep(all_cells(answers)), FAIL_ON, repeat_command)
    assert "[10] answer 5: s/5, session b" in text
    heads = [line.split() for line in text.splitlines() if line.startswith(" ")]
    assert [len(head) for head in heads] == [8, 2]


def test_json_has_the_cells_that_were_run_and_the_number_of_the_others() -> None:
    sweep = make_sweep("loud", "hung", seed=3, clean={"exit": 0, "seconds": 1.0, "requests": 2})
    sweep.versions = {"s": "v", "unused": "w"}
    body = json.loads(json_report(sweep, FAIL_ON, repeat_command))
    first, second = body.pop("cells")
    assert first["outcome"] == "failed_loudly"
    assert second == {
        "request": 1,
        "session": "a",
        "step": "s/1",
        "fault": "429 without Retry-After",
        "kind": "rate_limit_without_time",
        "outcome": "hung",
        "exit": 1,
        "seconds": 1.0,
        "why": "r",
        "repeat": "run rate_limit_without_time@1",
    }
    assert body == {
        "seed": 3,
        "passed": False,
        "clean": {"exit": 0, "seconds": 1.0, "requests": 2},
        "versions": {"s": "v"},
        "skipped": 30,
    }


def test_junit_fails_the_cells_of_fail_on() -> None:
    suite = ElementTree.fromstring(
        junit_report(make_sweep("wrong", "loud"), ["loud"], repeat_command)
    )
    cases = list(suite.iter("testcase"))
    assert [case.get("name") for case in cases] == ["rate_limit@1", "rate_limit_without_time@1"]
    assert [len(list(case.iter("failure"))) for case in cases] == [0, 1]


def test_page_links_each_cell_to_its_output_and_requests_and_escapes_them() -> None:
    sweep = make_sweep()
    swept_cell = cell("reset")
    entry = {
        "path": "/v1/chat/completions",
        "status": 200,
        "outcome": "complete",
        "request": {"method": "POST", "body": "<b>x</b>"},
        "response": {"body": ""},
    }
    program = ProgramRun(0, "<out>", 1.0)
    sweep.results[swept_cell] = CellResult(swept_cell, Judgement("wrong", "<i>"), program, (entry,))
    sweep.results[cell("stall")] = make_result(cell("stall"), "survived")
    page = html_report(sweep, FAIL_ON, repeat_command)
    assert '<h2 id="reset@1">reset@1: wrong</h2><p>&lt;i&gt;</p>' in page
    assert "&lt;out&gt;" in page and "&lt;b&gt;x&lt;/b&gt;" in page
    assert not re.search("<(b>x|out|i>)", page)
