"""Tests with cassettes: recorded through the plugin from another server, and answered from the
files alone."""

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from scenarios_app.testing.process import ServerOptions, server_process
from tests.support import fork_server
from tests.testing.conftest import Run

# Long, for busy machines.
pytestmark = [pytest.mark.process, pytest.mark.timeout(600)]
SAYS = {"name": "up", "steps": [{"consume": False, "produce": {"text": "From upstream."}}]}
CANARIES = {"OPENAI_API_KEY": "sk-canary-0123456789ab", "ANTHROPIC_API_KEY": "sk-ant-canary-98765"}
TESTS = """
import asyncio
import os

import anthropic
import openai
import pytest

pytestmark = pytest.mark.mockllm(cassette=True)


def asked(text):
    return [{"role": "user", "content": text}]


def test_whole(mockllm):
    with openai.OpenAI() as client:
        body = client.chat.completions.create(model="gpt-4o", messages=asked("PROMPT"))
    assert body.choices[0].message.content == "From upstream."


@pytest.mark.parametrize("text", ["a/b", "a_b"])
def test_streams(mockllm, text):
    given = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": asked(text)}
    with anthropic.Anthropic() as client, client.messages.stream(**given) as stream:
        assert "".join(stream.text_stream) == "From upstream."


class TestAsync:
    def test_it(self, mockllm):
        async def ask():
            async with openai.AsyncOpenAI() as client:
                models = [one.id async for one in client.models.list()]
                stream = await client.responses.create(model="gpt-4o", input="x", stream=True)
                return models, [event.type async for event in stream][-1]

        models, last = asyncio.run(ask())
        assert models and last == "response.completed"
"""
ONE = """
import openai
import pytest


@pytest.mark.mockllm(MARKED)
def test_it(mockllm):
    asked = [{"role": "user", "content": "PROMPT"}]
    # What is left open is closed by the garbage collector, in some other test.
    with openai.OpenAI(max_retries=0) as client:
        client.chat.completions.create(model="m", messages=asked)
    assert not "FAILS"
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
def known(monkeypatch: pytest.MonkeyPatch, upstream: str) -> None:
    """The upstream in the environment, and keys."""
    monkeypatch.setenv("MOCKLLM_UPSTREAMS", f"openai={upstream},anthropic={upstream}")
    for name, key in CANARIES.items():
        monkeypatch.setenv(name, key)


def one(prompt: str = "Hello", marked: str = "cassette=True", fails: str = "") -> str:
    return ONE.replace("PROMPT", prompt).replace("MARKED", marked).replace("FAILS", fails)


def cassette(pytester: pytest.Pytester, name: str = "test_it") -> Path:
    return pytester.path / "cassettes" / "test_one" / f"{name}.json"


def steps(path: Path) -> list[str]:
    """What was asked in each step of a cassette."""
    recorded = json.loads(path.read_text())["steps"]
    return [step["match"]["recorded"]["body"]["messages"][0]["content"] for step in recorded]


def test_a_suite_is_recorded_once_and_answered_from_its_files(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, known: None
) -> None:
    run("--mockllm-record=once", test_agent=TESTS).assert_outcomes(passed=4)
    folder = pytester.path / "cassettes" / "test_agent"
    found = sorted(path.name for path in folder.iterdir())
    assert len(found) == 4 and {"test_whole.json", "test_streams[a_b].json"} < set(found)
    assert not any(name.startswith(".") for name in found)
    for path in folder.iterdir():
        text = path.read_text()
        for key in CANARIES.values():
            assert key not in text and key[-12:] not in text
    before = {path: path.read_bytes() for path in folder.iterdir()}
    # The upstream is gone and no key is set: any request to it would fail.
    monkeypatch.setenv("MOCKLLM_UPSTREAMS", "openai=http://127.0.0.1:1")
    for name in CANARIES:
        monkeypatch.delenv(name)
    run(test_agent=TESTS).assert_outcomes(passed=4)
    run("--mockllm-record=once", test_agent=TESTS).assert_outcomes(passed=4)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_changed_prompt_is_named_and_nothing_else(
    run: Run, pytester: pytest.Pytester, known: None
) -> None:
    run("--mockllm-record=once", test_one=one("You are terse.")).assert_outcomes(passed=1)
    result = run("--mockllm-report=r.json", test_one=one("You are kind."))
    result.assert_outcomes(failed=1)
    change = 'messages[0].content changed from "You are terse." to "You are kind."'
    result.stdout.fnmatch_lines(
        [
            "cassettes/test_one/test_it.json differs from today's requests*",
            "changed: POST /v1/chat/completions (step 1)",
            f"  {change.replace('[', '[[]')}",
        ]
    )
    (told,) = json.loads((pytester.path / "r.json").read_text())["tests"]
    assert told["cassette"] == "cassettes/test_one/test_it.json"
    assert [one["kind"] for one in told["drift"]] == ["changed"]
    assert steps(cassette(pytester)) == ["You are terse."]


def test_new_adds_and_all_begins_anew(run: Run, pytester: pytest.Pytester, known: None) -> None:
    run("--mockllm-record=new", test_one=one("a")).assert_outcomes(passed=1)
    run("--mockllm-record=new", test_one=one("b")).assert_outcomes(passed=1)
    assert steps(cassette(pytester)) == ["a", "b"]
    run("--mockllm-record=new", test_one=one("a")).assert_outcomes(passed=1)
    assert steps(cassette(pytester)) == ["a", "b"]
    run("--mockllm-record=all", test_one=one("a")).assert_outcomes(passed=1)
    assert steps(cassette(pytester)) == ["a"]


def test_a_test_that_fails_leaves_its_cassette_as_it_was(
    run: Run, pytester: pytest.Pytester, known: None
) -> None:
    run("--mockllm-record=all", test_one=one("a", fails="yes")).assert_outcomes(failed=1)
    assert not cassette(pytester).exists()
    run("--mockllm-record=all", test_one=one("a")).assert_outcomes(passed=1)
    before = cassette(pytester).read_bytes()
    run("--mockllm-record=all", test_one=one("b", fails="yes")).assert_outcomes(failed=1)
    assert cassette(pytester).read_bytes() == before
    assert [path.name for path in cassette(pytester).parent.iterdir()] == ["test_it.json"]


def test_a_path_names_the_cassette(run: Run, pytester: pytest.Pytester, known: None) -> None:
    marked = "cassette='kept/agent.json'"
    run("--mockllm-record=once", test_one=one(marked=marked)).assert_outcomes(passed=1)
    assert steps(pytester.path / "kept" / "agent.json") == ["Hello"]
    run(test_one=one(marked=marked)).assert_outcomes(passed=1)


def test_wrong_cassette_is_one_line_at_its_test(
    run: Run, pytester: pytest.Pytester, known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pytester.path / "broken.json").write_text('{"steps": [')
    (pytester.path / "wrong.json").write_text('{"name": "w", "steps": [{"produces": {}}]}')
    (pytester.path / "file").write_text("")
    cases = {
        "cassette=True": "there is no cassette cassettes/test_one/test_it.json: record one with",
        "cassette='broken.json'": "broken.json: is no cassette: ",
        "cassette='wrong.json'": "wrong.json: PUT /control/recording: ",
        "cassette=3": "the marker's cassette is True or a path, not 3",
    }
    files = {f"test_{n}": one(marked=marked) for n, marked in enumerate(cases)}
    result = run(**files | {"test_one": files.pop("test_0")})
    result.assert_outcomes(errors=len(cases))
    result.stdout.fnmatch_lines_random([f"mockllm: *{said}*" for said in cases.values()])
    for name in files:
        (pytester.path / f"{name}.py").unlink()
    into = one(marked="cassette='file/below.json'")
    result = run("--mockllm-record=once", test_one=into)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["mockllm: *file/below.json: cannot be read: *"])
    result = run("--mockllm-record=sometimes", test_one=one())
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--mockllm-record: expected one of none, once, new, all*"])


def test_an_upstream_that_is_down_is_told_and_nothing_is_written(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOCKLLM_UPSTREAMS", "openai=http://127.0.0.1:1")
    result = run("--mockllm-record=once", test_one=one())
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*The upstream of openai, http://127.0.0.1:1, cannot be reached*"])
    assert not cassette(pytester).exists()


def test_workers_write_their_cassettes_side_by_side(
    pytester: pytest.Pytester, known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MOCKLLM_URL", "PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "executable", fork_server.python())
    # Workers load no other plugins of this environment.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "scenarios_app.testing.plugin,xdist.plugin")
    many = TESTS.replace('["a/b", "a_b"]', "[str(n) for n in range(6)]")
    pytester.makepyfile(test_many=many)
    options = ("-p", "no:cacheprovider", "-n", "2", "--dist", "load")
    result = pytester.runpytest_subprocess(*options, "--mockllm-record=all")
    result.assert_outcomes(passed=8)
    found = list((pytester.path / "cassettes" / "test_many").iterdir())
    assert len(found) == 8
    assert all(json.loads(path.read_text())["steps"] for path in found)
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=8)
