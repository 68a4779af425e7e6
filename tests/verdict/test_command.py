"""`mockllm verdict`: asks a running server, writes reports and ends with an exit code."""

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
def answered(live: Live, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    """A server with a script of two steps, of which one has answered."""
    monkeypatch.setenv("MOCKLLM_URL", live.base_url)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    hello = {"match": {"messages": ["Hello"]}, "produce": {"text": "Hi."}}
    live.load({"name": "s", "steps": [hello, {**hello, "name": "never"}]})
    post(live, "Hello")
    yield live


def run(live: Live, *arguments: str) -> int:
    """The exit code; the session is the test's own."""
    try:
        call_command("verdict", "--session", live.key, *arguments)
    except SystemExit as end:
        return int(str(end.code))
    return 0


def test_what_went_well_is_one_line_and_exit_code_0(answered: Live, capsys: Any) -> None:
    assert run(answered) == 0
    assert capsys.readouterr().out == f"passed: session {key_session(answered.key)}, 1 request\n"


def test_what_did_not_is_told_and_exit_code_1(answered: Live, capsys: Any) -> None:
    assert run(answered, "--scenario", "s") == 1
    headline, reason = capsys.readouterr().out.splitlines()
    assert headline.startswith("FAILED: session key-")
    assert reason == "never served: s, step never"
    assert run(answered, "--scenario", "s", "--allow-unserved", "s/never") == 0


def test_json_is_what_the_route_answers(answered: Live, capsys: Any) -> None:
    assert run(answered, "--json", "--strict") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["passed"], found["strict"], found["requests"]) == (True, True, 1)


def test_reports_are_written_beside_the_text(
    answered: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    xml, markdown = tmp_path / "mockllm.xml", tmp_path / "summary.md"
    markdown.write_text("# Before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(markdown))
    assert run(answered, "--scenario", "s", "--junit", str(xml), "--summary") == 1
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
def test_where_nobody_can_tell_the_exit_code_is_2(
    answered: Live, arguments: list[str], message: str
) -> None:
    with pytest.raises(CommandError) as refused:
        run(answered, *arguments)
    assert str(refused.value).startswith(message)
    assert refused.value.returncode == 2
