"""`mockllm record` and `mockllm drift`: a program's requests kept, replayed byte for byte without a
socket that leaves this machine, and held against what it asks today."""

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
SAYS = {
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
ASKS = """
import asyncio, hashlib, sys
import anthropic, openai

asked = [{"role": "user", "content": sys.argv[1]}]
given = {"model": "gpt-4o", "messages": asked}
claude = {"model": "claude-sonnet-5-5", "max_tokens": 99, "messages": asked}
seen = []
with openai.OpenAI() as client:
    seen.append(client.chat.completions.with_raw_response.create(**given).content)
    raw = client.chat.completions.with_streaming_response
    with raw.create(**given, stream=True) as stream:
        seen.append(stream.read())
    seen.append(client.models.with_raw_response.list().content)
    seen.append(client.embeddings.with_raw_response.create(model="e", input="x").content)
with anthropic.Anthropic() as client:
    with client.messages.with_streaming_response.create(**claude, stream=True) as stream:
        seen.append(stream.read())


async def ask():
    async with openai.AsyncOpenAI() as client:
        raw = client.responses.with_streaming_response
        async with raw.create(model="gpt-4o", input=sys.argv[1], stream=True) as stream:
            seen.append(await stream.read())
        answer = await client.responses.with_raw_response.create(model="gpt-4o", input="again")
        seen.append(answer.content)


asyncio.run(ask())
for body in seen:
    print(len(body), hashlib.sha256(body).hexdigest())
"""
NUMBER = 7
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "recorded"
# Python imports this module at its start; it records every address that is connected to.
WATCHES = """
import os, sys

def watch(event, arguments):
    if event == "socket.connect":
        with open(os.environ["CONNECTED"], "a") as file:
            file.write(f"{arguments[1]}\\n")

sys.addaudithook(watch)
"""


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    """Another server, which stands for the providers."""
    with ExitStack() as running:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "executable", fork_server.python())
            base_url, _ = running.enter_context(server_process(ServerOptions([SAYS])))
        yield base_url


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ask.py").write_text(ASKS)
    (tmp_path / "watch").mkdir()
    (tmp_path / "watch" / "sitecustomize.py").write_text(WATCHES)
    return tmp_path


def mockllm(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The command starts warm, and so does its server."""
    command = (fork_server.python(), "-P", "-m", "mockllm_site")
    return processes.run(*command, *arguments, cwd=folder, variables=variables)


def recorded(folder: Path, upstream: str, text: str = "tool", *options: str) -> str:
    """What the program said while it was recorded."""
    to = ("--openai", upstream, "--anthropic", f"{upstream}/", *options)
    keys = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": f"{KEY}-2"}
    done = mockllm(folder, "record", *to, "--", fork_server.python(), "ask.py", text, **keys)
    assert done.returncode == 0, done.stderr
    assert KEY not in done.stdout + done.stderr
    return done.stdout


def test_the_replay_is_the_same_bytes_and_no_socket_leaves(folder: Path, upstream: str) -> None:
    said = recorded(folder, upstream)
    cassette = folder / "cassette.json"
    text = cassette.read_text()
    assert len(json.loads(text)["steps"]) == NUMBER == len(said.splitlines())
    assert KEY not in text and KEY[-12:] not in text
    watched = {"PYTHONPATH": str(folder / "watch"), "CONNECTED": str(folder / "connected")}
    # Each process is new, so that it imports the recorder of addresses.
    command = (processes.COMMAND, "record", "--", sys.executable, "ask.py", "tool")
    done = processes.run(*command, cwd=folder, variables=watched)
    assert (done.returncode, done.stdout) == (0, said), done.stderr
    assert cassette.read_text() == text
    addresses = set((folder / "connected").read_text().splitlines())
    # The replay server, which the program and the command call.
    assert len(addresses) == 1 and next(iter(addresses)).startswith("('127.0.0.1', ")
    assert upstream.rpartition(":")[2] not in next(iter(addresses))


def test_changed_request_is_reported_as_drift(folder: Path, upstream: str) -> None:
    recorded(folder, upstream)
    same = mockllm(folder, "drift", "cassette.json", "--", fork_server.python(), "ask.py", "tool")
    assert (same.returncode, same.stdout) == (0, "1 cassette, none drifted\n"), same.stderr
    other = ("--json", "--junit", "drift.xml", "--", fork_server.python(), "ask.py", "another")
    done = mockllm(folder, "drift", "cassette.json", *other)
    assert done.returncode == 1
    told = json.loads(done.stdout)
    (drift,) = told["cassettes"][0]["drift"]
    assert (drift["kind"], drift["step"]) == ("changed", "1")
    (difference,) = drift["differences"]
    assert (difference["recorded"], difference["asked"]) == ("tool", "another")
    assert len(told["notes"]) == NUMBER - 1
    failures = ElementTree.parse(folder / "drift.xml").iter("failure")
    assert len(list(failures)) == 1


def test_a_suite_with_one_prompt_changed_has_that_change_and_no_other(tmp_path: Path) -> None:
    """The one in `examples/`, in one prompt of its agent."""
    suite = tmp_path / "recorded"
    shutil.copytree(EXAMPLE, suite, ignore=shutil.ignore_patterns("__pycache__"))
    agent = suite / "agent.py"
    agent.write_text(agent.read_text().replace("a terse weather agent", "a kind weather agent"))
    plain = ("-p", "no:django", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", ".")
    command = ("--", fork_server.python(), "-m", "pytest", "-q", *plain)
    done = mockllm(suite, "drift", "cassettes", *command, PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 1, done.stderr
    was, now = "You are a terse weather agent.", "You are a kind weather agent."
    assert done.stdout.splitlines() == [
        "3 cassettes, 1 drifted",
        "cassettes/test_agent/test_the_weather.json",
        "  changed: POST /v1/chat/completions (step 1)",
        f'    messages[0].content changed from "{was}" to "{now}"',
        "cassettes/test_agent/test_the_weather.json, step 2: not reached after a drift",
    ]


def test_a_providers_answer_is_held_against_the_recorded_one(folder: Path, upstream: str) -> None:
    recorded(folder, upstream)
    to = {"MOCKLLM_UPSTREAMS": f"openai={upstream},anthropic={upstream}"}
    keys = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
    done = mockllm(folder, "drift", "cassette.json", "--live", **to, **keys)
    assert (done.returncode, done.stdout) == (0, "1 cassette, none drifted\n"), done.stderr
    document = json.loads((folder / "cassette.json").read_text())
    chunk = document["steps"][0]["produce"]["recorded"]["chunks"][0]
    chunk["text"] = chunk["text"].replace('"object":', '"kind_of":', 1)
    (folder / "cassette.json").write_text(json.dumps(document))
    done = mockllm(folder, "drift", "cassette.json", "--live", **to, **keys)
    assert done.returncode == 1
    lines = [line.strip() for line in done.stdout.splitlines()]
    assert 'body.object is new: "string"' in lines
    assert 'body.kind_of is gone: "string"' in lines and len(lines) == 5


def test_a_command_that_fails_leaves_the_cassette_as_it_was(folder: Path, upstream: str) -> None:
    fails = ("--", fork_server.python(), "-c", "raise SystemExit(3)")
    done = mockllm(folder, "record", "--openai", upstream, *fails)
    assert done.returncode == 3 and "left as it was" in done.stderr
    assert not (folder / "cassette.json").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
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
    folder: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = mockllm(folder, *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_a_report_that_is_none_and_a_command_that_fails_otherwise(
    folder: Path, upstream: str
) -> None:
    recorded(folder, upstream)
    (folder / "r.json").write_text("[]")
    done = mockllm(folder, "drift", "cassette.json", "--report", "r.json")
    assert done.returncode == 2 and "expected what --mockllm-report" in done.stderr
    done = mockllm(folder, "drift", "cassette.json", "--", fork_server.python(), "-c", "exit(4)")
    # No request was sent, so every step is removed.
    assert done.returncode == 1 and done.stdout.count("removed:") == NUMBER
