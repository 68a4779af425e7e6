"""`mockllm play FILE`: its output, its reports and its exit codes."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command

from scenarios_app.play.conversation import FOLDER
from tests.admin.pages import create_scenario

pytestmark = pytest.mark.django_db


def run_play(capsys: Any, *arguments: str) -> tuple[int, str]:
    code = 0
    try:
        call_command("play", *arguments)
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, capsys.readouterr().out


def write_file(folder: Path, value: Any) -> str:
    path = folder / "talk.json"
    path.write_text(json.dumps(value))
    return str(path)


def test_examples_pass(capsys: Any) -> None:
    code, out = run_play(capsys, *map(str, sorted(FOLDER.glob("*.json"))))
    assert code == 0
    assert out.count("conversations: 7, passed: 7, failed: 0") == 1


def test_stored_scenarios_answer_a_file_without_scenarios(capsys: Any, tmp_path: Path) -> None:
    create_scenario(
        "stored", {"match.messages(user)": "hello", "produce.text": "From the database."}
    )
    turn = {"user": "hello", "expect": {"text": "From the database."}}
    assert run_play(capsys, write_file(tmp_path, {"turns": [turn]}))[0] == 0


def test_scenarios_of_the_scenario_option_answer(capsys: Any, tmp_path: Path) -> None:
    scenarios = tmp_path / "scenarios"
    scenarios.mkdir()
    document = {"name": "filed", "steps": [{"produce": {"text": "From a file."}}]}
    (scenarios / "one.json").write_text(json.dumps(document))
    turn = {"user": "hello", "expect": {"scenario": "filed"}}
    file = write_file(tmp_path, {"turns": [turn]})
    assert run_play(capsys, file, "--scenario", str(scenarios))[0] == 0


def test_failed_turn_has_exit_code_1_and_is_in_json_and_junit(capsys: Any, tmp_path: Path) -> None:
    scenario = {"name": "s", "steps": [{"produce": {"text": "hi"}}]}
    turns = [{"user": "a", "expect": {"text": "ho"}}]
    file = write_file(tmp_path, {"scenarios": [scenario], "turns": turns})
    report = tmp_path / "report.xml"
    code, out = run_play(capsys, file, "--json", "--junit", str(report))
    assert code == 1
    (conversation,) = json.loads(out)["conversations"]
    assert conversation["turns"][0]["reasons"] == ['text: expected equals "ho", got hi']
    suite = ElementTree.parse(report).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (None, "talk.json: cannot be read: No such file or directory"),
        ({"turns": []}, "talk.json:1:2: turns: expected at least one"),
        (
            {"turns": [{"user": "a"}], "scenarios": [{}]},
            "talk.json:1:42: scenarios[0].name: missing",
        ),
    ],
)
def test_unreadable_or_invalid_file_has_exit_code_2(tmp_path: Path, value: Any, line: str) -> None:
    file = str(tmp_path / "talk.json") if value is None else write_file(tmp_path, value)
    with pytest.raises(CommandError) as caught:
        call_command("play", file)
    assert line in str(caught.value)
    assert caught.value.returncode == 2
