"""Tests of the plugin with cassettes, recorded from another server and replayed without it."""

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
UPSTREAM_SCENARIO = {
    "name": "up",
    "steps": [{"consume": False, "produce": {"text": "From upstream."}}],
}
CANARIES = {"OPENAI_API_KEY": "sk-canary-0123456789ab", "ANTHROPIC_API_KEY": "sk-ant-canary-98765"}
TESTS = """
import asyncio
import os

import anthropic
import openai
import pytest

pytestmark = pytest.mark.mockllm(cassette=True)


def make_messages(text):
    return [{"role": "user", "content": text}]


def test_whole(mockllm):
    with openai.OpenAI() as client:
        messages = make_messages("PROMPT")
        completion = client.chat.completions.create(model="gpt-4o", messages=messages)
    assert completion.choices[0].message.content == "From upstream."


@pytest.mark.parametrize("text", ["a/b", "a_b"])
def test_streams(mockllm, text):
    body = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": make_messages(text)}
    with anthropic.Anthropic() as client, client.messages.stream(**body) as stream:
        assert "".join(stream.text_stream) == "From upstream."


class TestAsync:
    def test_it(self, mockllm):
        async def ask():
            async with openai.AsyncOpenAI() as client:
                models = [model.id async for model in client.models.list()]
                stream = await client.responses.create(model="gpt-4o", input="x", stream=True)
                return models, [event.type async for event in stream][-1]

        models, last = asyncio.run(ask())
        assert models and last == "response.completed"
"""
ONE = """
import openai
import pytest


@pytest.mark.mockllm(MARKER)
def test_it(mockllm):
    messages = [{"role": "user", "content": "PROMPT"}]
    # The garbage collector would close an open client in another test.
    with openai.OpenAI(max_retries=0) as client:
        client.chat.completions.create(model="m", messages=messages)
    assert not "FAILS"
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
def provider_environment(monkeypatch: pytest.MonkeyPatch, upstream: str) -> None:
    """Set the upstream and API keys in the environment."""
    monkeypatch.setenv("MOCKLLM_UPSTREAMS", f"openai={upstream},anthropic={upstream}")
    for name, key in CANARIES.items():
        monkeypatch.setenv(name, key)


def cassette_test(prompt: str = "Hello", marker: str = "cassette=True", fails: str = "") -> str:
    """Return the text of a module with one test."""
    return ONE.replace("PROMPT", prompt).replace("MARKER", marker).replace("FAILS", fails)


def cassette_file(pytester: pytest.Pytester, name: str = "test_it") -> Path:
    """Return the path of a cassette of `test_one.py`."""
    return pytester.path / "cassettes" / "test_one" / f"{name}.json"


def recorded_prompts(path: Path) -> list[str]:
    """Return the prompt of each step of a cassette."""
    recorded = json.loads(path.read_text())["steps"]
    return [step["match"]["recorded"]["body"]["messages"][0]["content"] for step in recorded]


def test_suite_is_recorded_once_and_replayed_without_upstream(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, provider_environment: None
) -> None:
    run("--mockllm-record=once", test_agent=TESTS).assert_outcomes(passed=4)
    folder = pytester.path / "cassettes" / "test_agent"
    file_names = sorted(path.name for path in folder.iterdir())
    assert len(file_names) == 4 and {"test_whole.json", "test_streams[a_b].json"} < set(file_names)
    assert not any(name.startswith(".") for name in file_names)
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


def test_changed_prompt_fails_the_test_with_the_difference(
    run: Run, pytester: pytest.Pytester, provider_environment: None
) -> None:
    run("--mockllm-record=once", test_one=cassette_test("You are terse.")).assert_outcomes(passed=1)
    result = run("--mockllm-report=r.json", test_one=cassette_test("You are kind."))
    result.assert_outcomes(failed=1)
    change = 'messages[0].content changed from "You are terse." to "You are kind."'
    result.stdout.fnmatch_lines(
        [
            "cassettes/test_one/test_it.json differs from today's requests*",
            "changed: POST /v1/chat/completions (step 1)",
            f"  {change.replace('[', '[[]')}",
        ]
    )
    (test_report,) = json.loads((pytester.path / "r.json").read_text())["tests"]
    assert test_report["cassette"] == "cassettes/test_one/test_it.json"
    assert [cassette_test["kind"] for cassette_test in test_report["drift"]] == ["changed"]
    assert recorded_prompts(cassette_file(pytester)) == ["You are terse."]


def test_mode_new_adds_steps_and_mode_all_replaces_them(
    run: Run, pytester: pytest.Pytester, provider_environment: None
) -> None:
    run("--mockllm-record=new", test_one=cassette_test("a")).assert_outcomes(passed=1)
    run("--mockllm-record=new", test_one=cassette_test("b")).assert_outcomes(passed=1)
    assert recorded_prompts(cassette_file(pytester)) == ["a", "b"]
    run("--mockllm-record=new", test_one=cassette_test("a")).assert_outcomes(passed=1)
    assert recorded_prompts(cassette_file(pytester)) == ["a", "b"]
    run("--mockllm-record=all", test_one=cassette_test("a")).assert_outcomes(passed=1)
    assert recorded_prompts(cassette_file(pytester)) == ["a"]


def test_failed_test_leaves_its_cassette_unchanged(
    run: Run, pytester: pytest.Pytester, provider_environment: None
) -> None:
    run("--mockllm-record=all", test_one=cassette_test("a", fails="yes")).assert_outcomes(failed=1)
    assert not cassette_file(pytester).exists()
    run("--mockllm-record=all", test_one=cassette_test("a")).assert_outcomes(passed=1)
    before = cassette_file(pytester).read_bytes()
    run("--mockllm-record=all", test_one=cassette_test("b", fails="yes")).assert_outcomes(failed=1)
    assert cassette_file(pytester).read_bytes() == before
    assert [path.name for path in cassette_file(pytester).parent.iterdir()] == ["test_it.json"]


def test_marker_with_a_path_selects_the_cassette(
    run: Run, pytester: pytest.Pytester, provider_environment: None
) -> None:
    marker = "cassette='saved/agent.json'"
    run("--mockllm-record=once", test_one=cassette_test(marker=marker)).assert_outcomes(passed=1)
    assert recorded_prompts(pytester.path / "saved" / "agent.json") == ["Hello"]
    run(test_one=cassette_test(marker=marker)).assert_outcomes(passed=1)


def test_invalid_cassette_is_an_error_of_one_line(
    run: Run, pytester: pytest.Pytester, provider_environment: None, monkeypatch: pytest.MonkeyPatch
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
    files = {f"test_{n}": cassette_test(marker=marker) for n, marker in enumerate(cases)}
    result = run(**files | {"test_one": files.pop("test_0")})
    result.assert_outcomes(errors=len(cases))
    result.stdout.fnmatch_lines_random([f"mockllm: *{message}*" for message in cases.values()])
    for name in files:
        (pytester.path / f"{name}.py").unlink()
    into = cassette_test(marker="cassette='file/below.json'")
    result = run("--mockllm-record=once", test_one=into)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["mockllm: *file/below.json: cannot be read: *"])
    result = run("--mockllm-record=sometimes", test_one=cassette_test())
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--mockllm-record: *expected one of none, once, new, all*"])
    result = run("--mockllm-record=onec", test_one=cassette_test())
    result.stderr.fnmatch_lines(["*--mockllm-record: no mode 'onec', did you mean once*"])


def test_unreachable_upstream_fails_the_test_and_writes_no_cassette(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOCKLLM_UPSTREAMS", "openai=http://127.0.0.1:1")
    result = run("--mockllm-record=once", test_one=cassette_test())
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*The upstream of openai, http://127.0.0.1:1, cannot be reached*"])
    assert not cassette_file(pytester).exists()


def test_xdist_workers_write_their_cassettes(
    pytester: pytest.Pytester, provider_environment: None, monkeypatch: pytest.MonkeyPatch
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
    cassettes = list((pytester.path / "cassettes" / "test_many").iterdir())
    assert len(cassettes) == 8
    assert all(json.loads(path.read_text())["steps"] for path in cassettes)
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=8)
