"""Each command that a plain install has runs there, and those that need an extra name it."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fresh.processes import run

pytestmark = pytest.mark.timeout(300)
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = {
    "name": "lines",
    "steps": [
        {
            "match": {"messages": [{"role": "user", "contains": "hello"}]},
            "consume": False,
            "produce": {"text": "Hi!"},
        }
    ],
    "user": {"turns": [{"say": "hello", "end": True, "must": [{"say": {"contains": "Hi"}}]}]},
}
# A client of the standard library, which asks what it reads, or "hello".
AGENT = """
import json, os, sys, urllib.request

url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
           "content-type": "application/json"}
for line in ["hello"] if "once" in sys.argv else sys.stdin:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": line.strip()}]}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        text = json.load(answer)["choices"][0]["message"]["content"]
    print(text, flush=True)
    assert text == "Hi!"
"""
AFTER = ("--", "{python}", "agent.py", "once")
# Arguments, the exit code, and what the output has.
COMMANDS: list[tuple[tuple[str, ...], int, str]] = [
    (("--version",), 0, "mockllm "),
    (("check_scenarios", "lines.json"), 0, "no problems"),
    (("completion", "bash"), 0, "complete -o default -F _mockllm mockllm"),
    (("schema",), 0, '"$schema"'),
    (("skill",), 0, "name: mockllm"),
    (("import", "talk.jsonl", "--output", "imported"), 0, "imported"),
    (("play", "play.json"), 0, "passed"),
    (("env", "--url", "{url}"), 0, "OPENAI_BASE_URL="),
    (("healthcheck", "--url", "{url}"), 0, "ready: "),
    (("load_scenarios", "lines.json"), 0, "lines"),
    (("export_scenarios", "lines"), 0, '"lines"'),
    (("coverage", "--url", "{url}"), 0, "0 of "),
    (("verdict", "--url", "{url}"), 0, "passed: the run"),
    (("run", "--scenario", "lines.json", *AFTER), 0, "passed: the run, 1 request"),
    (("record", "--cassette", "none.json", "--mode", "none", *AFTER), 1, "no such cassette"),
    (("drift", *AFTER), 2, "required: CASSETTE"),
    (("torture", "--scenario", "lines.json", "--only", "server_error@1", *AFTER), 0, "1 of "),
    (("mutants", "--scenario", "lines.json", "--budget", "1", *AFTER), 0, "score: 100 %"),
    (("simulate", "lines.json", "--agent", "{python} agent.py"), 0, "passed"),
    (("mcp", "lines.json"), 1, "pip install 'mockllm-server[mcp]'"),
    (("control-mcp",), 1, "pip install 'mockllm-server["),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a script, a program, a conversation to play and a log to import."""
    path = tmp_path_factory.mktemp("light")
    exchange = {
        "request": {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]},
        "response": {"choices": [{"message": {"role": "assistant", "content": "Hi!"}}]},
    }
    play = {"scenarios": [SCRIPT], "turns": [{"user": "hello", "expect": {"text": "Hi!"}}]}
    (path / "lines.json").write_text(json.dumps(SCRIPT))
    (path / "agent.py").write_text(AGENT)
    (path / "play.json").write_text(json.dumps(play))
    (path / "talk.jsonl").write_text(json.dumps(exchange) + "\n")
    return path


@pytest.fixture(scope="module")
def url(base: Path, folder: Path) -> Iterator[str]:
    """Run a light server in the folder; yield its address."""
    process = subprocess.Popen(
        [base, "-P", "-m", "mockllm_site", "serve", "--light", "--port", "0"],
        cwd=folder,
        env={"PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
        process.terminate()


@pytest.mark.parametrize(
    ("arguments", "code", "text"), COMMANDS, ids=[row[0][0] for row in COMMANDS]
)
def test_command_runs_in_a_plain_install(
    base: Path, folder: Path, url: str, arguments: tuple[str, ...], code: int, text: str
) -> None:
    words = [word.format(python=base, url=url) for word in arguments]
    process = run("-m", "mockllm_site", *words, cwd=folder, python=str(base))
    output = process.stdout + process.stderr
    assert process.returncode == code, output
    assert text in output
    assert "Traceback" not in output


def test_every_command_of_a_plain_install_has_its_row(base: Path, folder: Path) -> None:
    printed = run("-m", "mockllm_site", "help", cwd=folder, python=str(base)).stdout
    rows = printed.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    commands = {row.split()[0] for row in rows if "Needs one more package" not in row}
    # Those about tables need the extra or a server that has made them.
    assert commands - {"dumpdata", "flush", "loaddata", "migrate", "serve"} == {
        row[0][0] for row in COMMANDS[1:]
    }
