"""`mockllm simulate` with commands as agents: its reports, and what it refuses."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.simulate.scripts import REFUND, USER

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(180),
    pytest.mark.usefixtures("forked_processes"),
]
AGENT = Path(__file__).with_name("agent.py")
# Started without the fork server, whose processes are no children of the command.
HANGING_AGENT = f"{sys.executable} {AGENT} hangs child.txt"
SECONDS = 150


def words(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "mockllm_site", "simulate", *arguments]


def simulate(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        words(*arguments),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def agent(*arguments: str) -> str:
    return " ".join([sys.executable, str(AGENT), *arguments])


def write_scenario(folder: Path, **changes: Any) -> str:
    (folder / "refund.json").write_text(json.dumps({**REFUND, **changes}))
    return "refund.json"


def test_same_conversation_gives_the_same_bytes_twice(tmp_path: Path) -> None:
    file = write_scenario(tmp_path)
    first, second = (
        simulate(tmp_path, file, "--agent", agent(), "--json", "--junit", "report.xml")
        for _ in range(2)
    )
    assert first.returncode == 0, first.stderr + first.stdout
    assert first.stdout == second.stdout
    (one,) = json.loads(first.stdout)["conversations"]
    assert [(turn["user"], turn["agent"]) for turn in one["turns"]] == [
        ("I want my money back.", "What is your order number?"),
        ("12", "Your money is on its way."),
    ]
    assert one["turns"][1]["calls"] == [{"name": "refund", "arguments": {"order": 12}}]
    assert [entry["step"] for entry in one["model"]["requests"]] == ["1", "2", "3"]
    assert one["model"]["passed"]
    assert one["receipt"].startswith("sha256:")
    suite = ElementTree.parse(tmp_path / "report.xml").getroot()
    assert [case.get("name") for case in suite] == [
        "1. I want my money back.",
        "2. 12",
        "conversation",
    ]
    assert suite.get("failures") == "0"


def test_user_model_and_tools_come_from_one_file(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    call = {"name": "refund", "arguments": {"order": 12}, "result": {"text": "refunded 12"}}
    steps = [REFUND["steps"][0], REFUND["steps"][1] | {"produce": {"tool_calls": [call]}}]
    file = write_scenario(tmp_path, steps=[*steps, REFUND["steps"][2]])
    command = f"{sys.executable} {AGENT.with_name('agent_mcp.py')} {file}"
    first, second = (simulate(tmp_path, file, "--agent", command, "--json") for _ in range(2))
    assert first.returncode == 0, first.stderr + first.stdout
    assert first.stdout == second.stdout


def test_failed_checkpoint_names_turn_and_answer(tmp_path: Path) -> None:
    turns = [{"say": "I want my money back.", "must": [{"say": {"contains": "sorry"}}]}]
    result = simulate(
        tmp_path,
        write_scenario(tmp_path, user={"turns": turns}),
        "--agent",
        agent(),
        "--junit",
        "r.xml",
    )
    assert result.returncode == 1
    assert result.stdout.splitlines()[:4] == [
        "FAILED  refund",
        "  1. user   I want my money back.",
        "     agent  What is your order number?",
        '     FAILED must say: contains "sorry"; got "What is your order number?"',
    ]
    assert 'failures="1"' in (tmp_path / "r.xml").read_text()


def test_answers_of_several_lines_end_at_the_prompt(tmp_path: Path) -> None:
    must = [{"say": "Your money is on its way.\nAnything else?"}]
    turns = [USER["turns"][0], {**USER["turns"][1], "must": must}]
    file = write_scenario(tmp_path, user={"turns": turns})
    result = simulate(tmp_path, file, "--agent", agent("prompt"), "--until", "you> ")
    assert result.returncode == 0, result.stderr + result.stdout


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        ("ends", "no answer: the command ended with exit code 3"),
        ("closes", "no answer: the command closed its output without an answer"),
        ("floods", "no answer: an answer of more than 1,000,000 bytes"),
    ],
)
def test_command_without_an_answer_fails_with_its_standard_error(
    tmp_path: Path, failure: str, reason: str
) -> None:
    result = simulate(tmp_path, write_scenario(tmp_path), "--agent", agent(failure))
    assert result.returncode == 1, result.stderr
    assert f"     FAILED {reason}\n            heard I want my money back." in result.stdout


def test_hanging_command_is_ended_with_its_children(tmp_path: Path) -> None:
    options = ["--agent", HANGING_AGENT, "--timeout", "5"]
    result = simulate(tmp_path, write_scenario(tmp_path), *options)
    assert result.returncode == 1, result.stderr
    assert "no answer: no answer within 5 s (--timeout)" in result.stdout
    child = int((tmp_path / "child.txt").read_text())
    assert not is_running(child)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("number", "code", "message"),
    [(signal.SIGINT, 130, "mockllm simulate: stopped\n"), (signal.SIGTERM, 143, "")],
)
def test_signal_ends_the_command_with_its_children(
    tmp_path: Path, number: int, code: int, message: str
) -> None:
    process = subprocess.Popen(
        words(write_scenario(tmp_path), "--agent", HANGING_AGENT),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + SECONDS
    while not (child := tmp_path / "child.txt").exists() or not child.read_text():
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.send_signal(number)
    _, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, errors) == (code, message)
    assert not is_running(int(child.read_text()))


def test_two_scenarios_of_a_file_have_a_session_each(tmp_path: Path) -> None:
    (tmp_path / "two.json").write_text(json.dumps([REFUND, {**REFUND, "name": "again"}]))
    result = simulate(tmp_path, "two.json", "--agent", agent(), "--json")
    assert result.returncode == 0, result.stderr + result.stdout
    report = json.loads(result.stdout)
    assert [one["name"] for one in report["conversations"]] == ["refund", "again"]
    assert [len(one["model"]["requests"]) for one in report["conversations"]] == [3, 3]


@pytest.mark.parametrize(
    ("document", "options", "code", "message"),
    [
        ({"name": "a"}, ["--agent", "true"], 2, "no scenario has a scripted user; add the key"),
        ('{"name": ', ["--agent", "true"], 2, "refund.json:1:10: "),
        (
            {"name": "a", "user": {"turns": [{"say": "x", "enx": 1}]}},
            ["--agent", "true"],
            2,
            "refund.json:1:47: user.turns[0].enx: unknown key",
        ),
        (REFUND, ["--agent", "no-such-program"], 127, "no-such-program: no such command"),
        (REFUND, ["--agent", "/"], 126, "/: Permission denied"),
        (REFUND, ["--agent", '"'], 2, "--agent: No closing quotation"),
        (REFUND, ["--agent", ""], 2, "--agent: expected a URL or a command"),
        (REFUND, ["--agent", "true", "--timeout", "0"], 2, "--timeout: expected more than 0"),
        (REFUND, ["--agent", "http://127.0.0.1:9/v1"], 2, "need --server, the mockllm server"),
        (
            REFUND,
            ["--agent", "true", "--server", "http://127.0.0.1:9"],
            2,
            "no mockllm server answers at http://127.0.0.1:9",
        ),
        (REFUND, ["--agent", "true", "--junit", "refund.json/a"], 2, "refund.json/a: cannot be"),
        (REFUND, [], 2, "the following arguments are required: --agent"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    tmp_path: Path, document: Any, options: list[str], code: int, message: str
) -> None:
    text = document if isinstance(document, str) else json.dumps(document)
    (tmp_path / "refund.json").write_text(text)
    result = simulate(tmp_path, "refund.json", *options)
    last = result.stderr.splitlines()[-1]
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert (result.returncode, last[:17]) == (code, "mockllm simulate:")


def test_missing_file_is_refused(tmp_path: Path) -> None:
    result = simulate(tmp_path, "absent.json", "--agent", "true")
    assert (result.returncode, "absent.json" in result.stderr) == (2, True)


def test_command_of_django_is_the_same(tmp_path: Path) -> None:
    script = """
import django
from django.core.management import call_command
from mockllm_site.kit import env
env.configure()
django.setup()
call_command("simulate", "refund.json", "--agent", "true")
"""
    write_scenario(tmp_path)
    result = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if "SETTINGS" not in name},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert result.returncode == 1, result.stderr
    assert "no answer: the command ended with exit code 0" in result.stdout
