"""Configuration of the plugin for all tests of a project: scenarios, reports, watched files."""

import json
from xml.etree import ElementTree

import pytest

from tests.testing.conftest import Run

# Long, for busy machines.
pytestmark = pytest.mark.timeout(300)
CONFIGURED = """
import pytest
import openai


@pytest.fixture(scope="session")
def mockllm_config():
    step = {"consume": False, "produce": {"text": "Common."}}
    return {"scenarios": [{"name": "common", "steps": [step]}], "fixtures": ["turns"]}


def ask():
    with openai.OpenAI() as client:
        answer = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hello"}]
        )
    return answer.choices[0].message.content


@pytest.mark.mockllm(scenario="common")
def test_common():
    assert ask() == "Common."


@pytest.mark.mockllm(scenario="common")
def test_named_scenario_must_answer():
    pass


@pytest.mark.mockllm(scenario=["own.json", {"name": "more", "steps": []}])
class TestOwn:
    @pytest.mark.mockllm(allow_unserved=True)
    def test_a_file_and_a_document(self, mockllm):
        assert ask() == "From a file."


def test_other_scenarios_need_not_answer(mockllm):
    assert mockllm.openai_base_url == f"{mockllm.base_url}/v1"
"""


def test_scenarios_of_the_configuration_and_of_markers_are_served(
    run: Run, pytester: pytest.Pytester
) -> None:
    step = {"match": {"messages": [{"contains": "Hello"}]}, "produce": {"text": "From a file."}}
    pytester.makefile(".json", own=json.dumps({"name": "own", "priority": 1, "steps": [step]}))
    result = run("--mockllm-coverage", "coverage.json", test_configured=CONFIGURED)
    result.assert_outcomes(passed=3, failed=1)
    coverage = json.loads((pytester.path / "coverage.json").read_text())
    (common,) = [scenario for scenario in coverage["scenarios"] if scenario["scenario"] == "common"]
    assert [step["served"] for step in common["steps"]] == [1]
    (own,) = [scenario for scenario in coverage["scenarios"] if scenario["scenario"] == "own"]
    assert [step["served"] for step in own["steps"]] == [1]
    result.stdout.fnmatch_lines(["mockllm: never served: common, step 1"])


SCENARIOS_OF_TESTS = """
import openai
import pytest


def ask():
    with openai.OpenAI() as client:
        return client.responses.create(model="m", input="Hello").output_text


@pytest.mark.mockllm(scenario="own.json", allow_unserved=True)
def test_a_file(mockllm):
    assert ask() == "From a file."


def test_a_document_and_a_stub(mockllm):
    mockllm.scenario({"name": "pushed", "steps": [{"produce": {"text": "A"}}]})
    assert ask() == "A"
    mockllm.on("Hello").reply("B")
    assert ask() == "B"
"""


def test_coverage_counts_what_tests_load(run: Run, pytester: pytest.Pytester) -> None:
    steps = [
        {"match": {"messages": [{"contains": "Hello"}]}, "produce": {"text": "From a file."}},
        {"match": {"messages": [{"contains": "Bye"}]}, "produce": {"text": "Never."}},
    ]
    pytester.makefile(".json", own=json.dumps({"name": "own", "steps": steps}))
    result = run("--mockllm-coverage", "coverage.txt", test_own=SCENARIOS_OF_TESTS)
    result.assert_outcomes(passed=2)
    lines = (pytester.path / "coverage.txt").read_text().splitlines()
    assert lines[:2] == ["coverage: 75 %, 3 of 4 steps", "never served: own, step 2"]


ONE = 'def test_ok(mockllm): pass\ndef test_bad(mockllm): mockllm.on("<x>").reply("y")\n'


def test_report_has_the_verdict_of_every_test(run: Run, pytester: pytest.Pytester) -> None:
    for name in ("new/report.json", "report.xml", "report.txt"):
        run("--mockllm-report", name, test_one=ONE).assert_outcomes(passed=1, failed=1)
    report = json.loads((pytester.path / "new/report.json").read_text())
    assert report["passed"] is False
    assert [(test["test"], test["passed"]) for test in report["tests"]] == [
        ("test_one.py::test_ok", True),
        ("test_one.py::test_bad", False),
    ]
    suite = ElementTree.parse(pytester.path / "report.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    failure = suite.find("testcase[@name='test_bad']/failure")
    assert failure is not None and "never served: 01 on('<x>'), step 1" in str(failure.text)
    text = (pytester.path / "report.txt").read_text()
    assert text.startswith("2 tests, 1 with a verdict that failed\n\ntest_one.py::test_ok\n")


WATCHED = """
import time
from pathlib import Path

import openai
import pytest

FILE = Path("scenarios") / "greeting.json"
DOCUMENT = '{"name": "greeting", "steps": [{"consume": false, "produce": {"text": "%s"}}]}'


@pytest.fixture(scope="session")
def mockllm_config():
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(DOCUMENT % "one")
    step = {"match": {"model": "other"}, "produce": {"text": "From a document."}}
    return {"scenarios": ["scenarios", {"name": "document", "steps": [step]}]}


def test_edited_file_is_live(mockllm):
    with openai.OpenAI() as client:
        def ask(model="m"):
            answer = client.chat.completions.create(
                model=model, messages=[{"role": "user", "content": "Hello"}]
            )
            return answer.choices[0].message.content

        assert (ask(), ask("other")) == ("one", "From a document.")
        FILE.write_text(DOCUMENT % "two")
        until = time.monotonic() + 60
        while ask() != "two":
            assert time.monotonic() < until
            time.sleep(0.05)
"""


def test_files_of_the_configuration_are_watched_on_demand(run: Run) -> None:
    run("--mockllm-watch", test_watched=WATCHED).assert_outcomes(passed=1)
