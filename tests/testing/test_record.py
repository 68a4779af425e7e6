"""`mockllm record` and `mockllm drift`: recording of a program's requests, replay of the same bytes
without network, and comparison with its current requests."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scenarios_app.testing.process import ServerOptions, server_process
from tests.project import processes
from tests.support import fork_server

# Long, for busy machines.
pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]
KEY = "sk-canary-0123456789abcdef"
UPSTREAM_SCENARIO = {
    "name": "up",
    "steps": [
        {
            "consume": False,
            "match": {"messages": [{"contains": "tool"}]},
            "produce": {"tool_calls": [{"name": "f", "arguments": {"a": "b" * 40}}]},
        },
        {"consume": False, "produce": {"text": "From upstream, word by word."}},
    ],
}
# Hashes all bytes of each answer that the clients get.
PROGRAM = """
import asyncio, hashlib, sys
import anthropic, openai

messages = [{"role": "user", "content": sys.argv[1]}]
body = {"model": "gpt-4o", "messages": messages}
claude = {"model": "claude-sonnet-5-5", "max_tokens": 99, "messages": messages}
bodies = []
with openai.OpenAI() as client:
    bodies.append(client.chat.completions.with_raw_response.create(**body).content)
    raw = client.chat.completions.with_streaming_response
    with raw.create(**body, stream=True) as stream:
        bodies.append(stream.read())
    bodies.append(client.models.with_raw_response.list().content)
    bodies.append(client.embeddings.with_raw_response.create(model="e", input="x").content)
with anthropic.Anthropic() as client:
    with client.messages.with_streaming_response.create(**claude, stream=True) as stream:
        bodies.append(stream.read())


async def ask():
    async with openai.AsyncOpenAI() as client:
        raw = client.responses.with_streaming_response
        async with raw.create(model="gpt-4o", input=sys.argv[1], stream=True) as stream:
            bodies.append(await stream.read())
        answer = await client.responses.with_raw_response.create(model="gpt-4o", input="again")
        bodies.append(answer.content)


asyncio.run(ask())
for data in bodies:
    print(len(data), hashlib.sha256(data).hexdigest())
"""
REQUEST_COUNT = 7
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "recorded"
# Python imports this module at its start; it records every address that is connected to.
RECORD_CONNECTIONS = """
import os, sys

def watch(event, arguments):
    if event == "socket.connect":
        with open(os.environ["CONNECTED"], "a") as file:
            file.write(f"{arguments[1]}\\n")

sys.addaudithook(watch)
"""


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    """Yield the base URL of a server that stands for the providers."""
    with ExitStack() as running:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "executable", fork_server.python())
            base_url, _ = running.enter_context(server_process(ServerOptions([UPSTREAM_SCENARIO])))
        yield base_url


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ask.py").write_text(PROGRAM)
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(RECORD_CONNECTIONS)
    return tmp_path


def run_mockllm(
    folder: Path, *arguments: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run `mockllm` with these arguments; it and its server are forked from a warm process."""
    command = (fork_server.python(), "-P", "-m", "mockllm_site")
    return processes.run(*command, *arguments, cwd=folder, variables=variables)


def record_program(folder: Path, upstream: str, text: str = "tool", *options: str) -> str:
    """Record the program and return its output."""
    to = ("--openai", upstream, "--anthropic", f"{upstream}/", *options)
    keys = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": f"{KEY}-2"}
    result = run_mockllm(folder, "record", *to, "--", fork_server.python(), "ask.py", text, **keys)
    assert result.returncode == 0, result.stderr
    assert KEY not in result.stdout + result.stderr
    return result.stdout


def test_replay_has_the_same_bytes_and_connects_to_no_provider(folder: Path, upstream: str) -> None:
    recorded_hashes = record_program(folder, upstream)
    cassette = folder / "cassette.json"
    text = cassette.read_text()
    assert len(json.loads(text)["steps"]) == REQUEST_COUNT == len(recorded_hashes.splitlines())
    assert KEY not in text and KEY[-12:] not in text
    variables = {"PYTHONPATH": str(folder / "watch"), "CONNECTED": str(folder / "connected")}
    # Each process is new, so that it imports the recorder of addresses.
    command = (processes.COMMAND, "record", "--", sys.executable, "ask.py", "tool")
    result = processes.run(*command, cwd=folder, variables=variables)
    assert (result.returncode, result.stdout) == (0, recorded_hashes), result.stderr
    assert cassette.read_text() == text
    addresses = set((folder / "connected").read_text().splitlines())
    # The replay server, which the program and the command call.
    assert len(addresses) == 1 and next(iter(addresses)).startswith("('127.0.0.1', ")
    assert upstream.rpartition(":")[2] not in next(iter(addresses))


def test_changed_request_is_reported_as_drift(folder: Path, upstream: str) -> None:
    record_program(folder, upstream)
    same = run_mockllm(
        folder, "drift", "cassette.json", "--", fork_server.python(), "ask.py", "tool"
    )
    assert (same.returncode, same.stdout) == (0, "1 cassette, none drifted\n"), same.stderr
    other = ("--json", "--junit", "drift.xml", "--", fork_server.python(), "ask.py", "another")
    result = run_mockllm(folder, "drift", "cassette.json", *other)
    assert result.returncode == 1
    report = json.loads(result.stdout)
    (drift,) = report["cassettes"][0]["drift"]
    assert (drift["kind"], drift["step"]) == ("changed", "1")
    (difference,) = drift["differences"]
    assert (difference["recorded"], difference["asked"]) == ("tool", "another")
    assert len(report["notes"]) == REQUEST_COUNT - 1
    failures = ElementTree.parse(folder / "drift.xml").iter("failure")
    assert len(list(failures)) == 1


def test_drift_of_a_suite_is_its_changed_prompt(tmp_path: Path) -> None:
    """Change one prompt of the agent in `examples/`."""
    suite = tmp_path / "recorded"
    shutil.copytree(EXAMPLE, suite, ignore=shutil.ignore_patterns("__pycache__"))
    agent = suite / "agent.py"
    agent.write_text(agent.read_text().replace("a terse weather agent", "a kind weather agent"))
    plain = ("-p", "no:django", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", ".")
    command = ("--", fork_server.python(), "-m", "pytest", "-q", *plain)
    result = run_mockllm(suite, "drift", "cassettes", *command, PYTHONDONTWRITEBYTECODE="1")
    assert result.returncode == 1, result.stderr
    was, now = "You are a terse weather agent.", "You are a kind weather agent."
    assert result.stdout.splitlines() == [
        "3 cassettes, 1 drifted",
        "cassettes/test_agent/test_the_weather.json",
        "  changed: POST /v1/chat/completions (step 1)",
        f'    messages[0].content changed from "{was}" to "{now}"',
        "cassettes/test_agent/test_the_weather.json, step 2: not reached after a drift",
    ]


def test_live_drift_is_the_changed_structure_of_a_response(folder: Path, upstream: str) -> None:
    record_program(folder, upstream)
    to = {"MOCKLLM_UPSTREAMS": f"openai={upstream},anthropic={upstream}"}
    keys = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    result = run_mockllm(folder, "drift", "cassette.json", "--live", **to, **keys)
    assert (result.returncode, result.stdout) == (0, "1 cassette, none drifted\n"), result.stderr
    document = json.loads((folder / "cassette.json").read_text())
    chunk = document["steps"][0]["produce"]["recorded"]["chunks"][0]
    chunk["text"] = chunk["text"].replace('"object":', '"kind_of":', 1)
    (folder / "cassette.json").write_text(json.dumps(document))
    result = run_mockllm(folder, "drift", "cassette.json", "--live", **to, **keys)
    assert result.returncode == 1
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert 'body.object is new: "string"' in lines
    assert 'body.kind_of is gone: "string"' in lines and len(lines) == 5


def test_failed_command_writes_no_cassette(folder: Path, upstream: str) -> None:
    fails = ("--", fork_server.python(), "-c", "raise SystemExit(3)")
    result = run_mockllm(folder, "record", "--openai", upstream, *fails)
    assert result.returncode == 3 and "left as it was" in result.stderr
    assert not (folder / "cassette.json").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("record",), 2, "no command: give one after --"),
        (("record", "--openai", "ftp://x", "--", "true"), 1, "upstream openai=ftp://x: expected"),
        (("record", "--mode", "none", "--", "true"), 1, "cassette.json: there is no such cassette"),
        (
            ("record", "--cassette", "ask.py/x.json", "--", "true"),
            1,
            "ask.py/x.json: cannot be read",
        ),
        (("record", "--mode", "all", "--", "nothing-of-this-name"), 127, "no such command"),
        (("drift", "nothing.json", "--live"), 2, "nothing.json: there is no such cassette"),
        (("drift", "ask.py"), 2, "expected one of: a command after --"),
        (("drift", "watch", "--live"), 2, "watch: there is no cassette in it"),
        (("drift", "ask.py", "--", "true"), 2, "ask.py: "),
    ],
)
def test_wrong_arguments_are_one_error_line(
    folder: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    result = run_mockllm(folder, *arguments)
    assert (result.returncode, result.stdout) == (code, "")
    assert message in result.stderr and len(result.stderr.splitlines()) == 1, result.stderr


def test_command_without_a_request_leaves_the_cassette_as_it_was(folder: Path) -> None:
    command = ("--", fork_server.python(), "-c", "pass")
    result = run_mockllm(folder, "record", *command)
    assert (result.returncode, (folder / "cassette.json").exists()) == (0, False), result.stderr
    assert "the command asked no provider, so cassette.json is left as it was" in result.stderr
    (folder / "cassette.json").write_text('{"name": "old", "steps": []}')
    run_mockllm(folder, "record", "--mode", "all", *command)
    assert json.loads((folder / "cassette.json").read_text())["name"] == "old"


def test_invalid_report_is_an_error_and_missing_requests_are_drift(
    folder: Path, upstream: str
) -> None:
    record_program(folder, upstream)
    (folder / "r.json").write_text("[]")
    result = run_mockllm(folder, "drift", "cassette.json", "--report", "r.json")
    assert result.returncode == 2 and "expected what --mockllm-report" in result.stderr
    result = run_mockllm(
        folder, "drift", "cassette.json", "--", fork_server.python(), "-c", "exit(4)"
    )
    # No request was sent, so every step is removed.
    assert result.returncode == 1 and result.stdout.count("removed:") == REQUEST_COUNT
