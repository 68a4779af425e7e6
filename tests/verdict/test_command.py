"""`mockllm verdict` judges a running server, writes reports and sets the exit code."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from scenarios_app.engine.state import key_session
from tests.support.live_server import Live
from tests.verdict.test_misbehaving_clients import post


@pytest.fixture
def half_served(live: Live, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    """Return a server with a scenario of two steps, one of which has answered."""
    monkeypatch.setenv("MOCKLLM_URL", live.base_url)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    hello = {"match": {"messages": ["Hello"]}, "produce": {"text": "Hi."}}
    live.load({"name": "s", "steps": [hello, {**hello, "name": "never"}]})
    post(live, "Hello")
    yield live


def run(live: Live, *arguments: str) -> int:
    """Run the command for the test's session; return its exit code."""
    try:
        call_command("verdict", "--session", live.key, *arguments)
    except SystemExit as end:
        return int(str(end.code))
    return 0


def test_passed_verdict_is_one_line_and_exit_code_0(half_served: Live, capsys: Any) -> None:
    assert run(half_served) == 0
    assert capsys.readouterr().out == f"passed: session {key_session(half_served.key)}, 1 request\n"


def test_unserved_step_is_listed_with_exit_code_1(half_served: Live, capsys: Any) -> None:
    assert run(half_served, "--scenario", "s") == 1
    headline, reason = capsys.readouterr().out.splitlines()
    assert headline.startswith("FAILED: session key-")
    assert reason == "never served: s, step never"
    assert run(half_served, "--scenario", "s", "--allow-unserved", "s/never") == 0


def test_json_option_prints_the_body_of_the_control_api(half_served: Live, capsys: Any) -> None:
    assert run(half_served, "--json", "--strict") == 0
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["passed"], verdict["strict"], verdict["requests"]) == (True, True, 1)


def test_reports_are_written_beside_the_text(
    half_served: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    xml, markdown = tmp_path / "mockllm.xml", tmp_path / "summary.md"
    markdown.write_text("# Before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(markdown))
    assert run(half_served, "--scenario", "s", "--junit", str(xml), "--summary") == 1
    assert ElementTree.parse(xml).getroot().get("failures") == "1"
    assert markdown.read_text().startswith("# Before\n### mockllm: failed\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--url", "http://127.0.0.1:9"], "no mockllm server answers at http://127.0.0.1:9"),
        (["--url", "nonsense"], "no mockllm server answers at nonsense"),
        (["--scenario", "nobody"], "There is no enabled scenario “nobody”."),
        (["--ignore", "no-such-rule"], "ignore: there is no rule 'no-such-rule'; known are"),
        (["--summary"], "--summary: GITHUB_STEP_SUMMARY is not set; name a FILE"),
        (["--junit", "/nowhere/at/all.xml"], "/nowhere/at/all.xml: cannot be written"),
    ],
)
def test_command_that_cannot_judge_has_exit_code_2(
    half_served: Live, arguments: list[str], message: str
) -> None:
    with pytest.raises(CommandError) as error:
        run(half_served, *arguments)
    assert str(error.value).startswith(message)
    assert error.value.returncode == 2
