"""`running_server`: a server process for a test, which ends with the test."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from scenarios_app.builder import openai as openai_provider
from scenarios_app.builder import scenario as build
from scenarios_app.engine.document.files import NOT_JSON
from scenarios_app.engine.state import key_session
from scenarios_app.testing.server import RunningServer, ServerFailed, running_server
from tests.serving.pipelines import scenario, text_step
from tests.support import fork_server


def ask_for_text(server: RunningServer, text: str = "Hello") -> str | None:
    client = openai.OpenAI(base_url=server.openai_base_url, api_key=server.api_key, max_retries=0)
    with client:
        answer = client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": text}]
        )
    return answer.choices[0].message.content


@pytest.fixture
def warm_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork servers from a process with loaded modules, for tests that are not about the start."""
    monkeypatch.setattr(sys, "executable", fork_server.python())


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.usefixtures("warm_server")
def test_server_has_the_chat_only_without_light() -> None:
    with pytest.raises(ServerFailed, match=r"A light server has no chat: use .* `light=False`"):
        running_server(fixtures=["profiles"]).__enter__()
    with running_server(fixtures=["profiles"], light=False) as server:
        for path in ("chat/", "admin/login/", "metrics"):
            assert httpx2.get(f"{server.base_url}/{path}").status_code in (200, 302)


@pytest.mark.usefixtures("warm_server")
def test_scenarios_are_pushed_read_and_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    # The server must ignore this process's environment.
    monkeypatch.setenv("MOCKLLM_ENV", "prod")
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "of.somebody.else")
    monkeypatch.setenv("MOCKLLM_SCENARIOS", "/nothing/here")
    first = {"produce": {"text": "first"}, "side_effects": {"counter": "asked"}}
    with running_server(scenarios=[scenario("größe/1", first)]) as server:
        assert server.base_url.startswith("http://127.0.0.1:")
        assert ask_for_text(server) == "first"
        with pytest.raises(openai.NotFoundError, match="no_scenario_matched"):
            ask_for_text(server)
        server.push({"produce": {"text": "second"}})
        assert ask_for_text(server) == "second"
        assert server.counters == {"asked": 1}
        outcomes = [request["outcome"] for request in server.requests]
        assert outcomes == ["complete", "unmatched", "complete"]
        server.reset()
        assert (server.counters, server.requests) == ({}, [])
        assert ask_for_text(server) == "first"


@pytest.mark.usefixtures("warm_server")
def test_watched_files_are_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def save(text: str) -> None:
        step = {"consume": False, "produce": {"text": text}}
        (tmp_path / "a.json").write_text(json.dumps(scenario("a", step)))

    monkeypatch.chdir(tmp_path)
    save("one")
    document = scenario("b", {"match": {"messages": ["Document"]}, "produce": {"text": "b"}})
    with running_server(scenarios=["a.json", document], watch=True) as server:
        assert (ask_for_text(server), ask_for_text(server, "Document")) == ("one", "b")
        save("two")
        deadline = time.monotonic() + 60
        while ask_for_text(server) != "two":
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.usefixtures("warm_server")
def test_server_takes_builders_and_returns_all_requests() -> None:
    greeting = build("greeting").expect(openai_provider()).with_messages(contains="Hello")
    with running_server([greeting.respond_with_text("Hi!")]) as server:
        assert ask_for_text(server) == "Hi!"
        server.push(build("more").respond_with_text("Again!"))
        assert ask_for_text(server, "Bye") == "Again!"
        assert server.state == {
            "session": key_session(server.api_key),
            "consumed": [
                {"scenario": "greeting", "step": "1"},
                {"scenario": "greeting", "step": "2"},
            ],
            "attempts": [],
            "counters": {},
            "violations": [],
            "passed": True,
            "complete": True,
            "lost": 0,
        }
        headers = {"authorization": "Bearer sk-other"}
        with httpx2.Client(base_url=server.openai_base_url, headers=headers) as client:
            for _ in range(150):
                assert client.get("/models").status_code == 200
        # More than one page of requests, of every session.
        requests = server.requests
        assert len({request["id"] for request in requests}) == len(requests) == 152
        assert [request["scenario"] for request in requests[:3]] == ["greeting", "greeting", None]
        server.reset()
        assert (server.requests, server.state["consumed"]) == ([], [])


@pytest.mark.usefixtures("warm_server")
def test_a_server_takes_files_and_directories(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    file, directory_file = tmp_path / "one.json", tmp_path / "more" / "two.json"
    file.write_text(json.dumps({"scenarios": [scenario("one", text_step("From a file."))]}))
    directory_file.write_text(
        json.dumps(scenario("two", text_step("From a directory.", match={"model": "x"})))
    )
    with running_server(scenarios=[str(file), tmp_path / "more"]) as server:
        assert ask_for_text(server) == "From a file."
        with httpx2.Client(base_url=server.base_url) as client:
            assert client.get("/control/scenarios/two").status_code == 200


@pytest.mark.parametrize(
    ("scenarios", "message"),
    [
        (["none.json"], "none.json: cannot be read: No such file or directory"),
        ("none.json", "none.json: cannot be read: No such file or directory"),
        ([7], "expected a scenario or a path, got 7"),
    ],
)
def test_invalid_scenario_is_reported_before_the_server_starts(
    scenarios: Any, message: str
) -> None:
    with pytest.raises(ServerFailed) as raised, running_server(scenarios=scenarios):
        pass
    assert str(raised.value) == message


@pytest.mark.usefixtures("warm_server")
def test_server_message_about_settings_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: a")
    settings = {"MOCKLLM_SCENARIOS": str(tmp_path)}
    with pytest.warns(UserWarning) as warnings, running_server(settings=settings):
        pass
    assert [str(warning.message) for warning in warnings] == [
        f"MOCKLLM_SCENARIOS: {tmp_path / 'a.yaml'}: passed over, {NOT_JSON}",
    ]


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("MOCKLLM_SCENARIO", "no such setting, did you mean MOCKLLM_SCENARIOS?"),
        ("MOCKLLM_QQQ", "no such setting"),
        ("WORDS_PER_SECOND", "no such setting, did you mean MOCKLLM_WORDS_PER_SECOND?"),
        ("CHAT_TOKN", "no such setting, did you mean CHAT_TOKEN?"),
    ],
)
def test_misspelt_setting_is_an_error(name: str, error: str) -> None:
    with pytest.raises(ServerFailed) as raised, running_server(settings={name: "x"}):
        pass
    assert str(raised.value) == f"settings: {name}: {error}"


def test_an_interrupted_start_leaves_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[str]] = []

    def interrupted(process: "subprocess.Popen[str]", timeout: float) -> str:
        started.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr("scenarios_app.testing.process._read_first_line", interrupted)
    with pytest.raises(KeyboardInterrupt), running_server():
        pass
    (process,) = started
    assert process.returncode is not None
    assert not is_alive(process.pid)


def test_a_server_that_is_not_ready_in_time_is_ended() -> None:
    with (
        pytest.raises(ServerFailed, match=r"not ready after 0\.01 s"),
        running_server(timeout=0.01),
    ):
        pass


@pytest.mark.usefixtures("warm_server")
def test_steps_are_pushed_to_a_server_without_scenarios() -> None:
    with running_server() as server:
        server.push(text_step("pushed"))
        assert ask_for_text(server) == "pushed"
        server.push({"produce": {"text": "elsewhere"}, "match": {"model": "x"}}, scenario="other")
        with pytest.raises(ServerFailed, match="texd"):
            server.push({"produce": {"texd": "typo"}})


@pytest.mark.usefixtures("warm_server")
def test_document_with_an_error_fails_immediately_and_names_the_place() -> None:
    bad = scenario("bad", {"produce": {"texd": "typo"}})
    with (
        pytest.raises(ServerFailed, match=r"scenarios\[0\]\.steps\[0\]\.produce\.texd"),
        running_server(scenarios=[bad]),
    ):
        pass


def test_a_server_takes_settings_and_none_from_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("MOCKLLM_REQUIRE_AUTH=true\n")
    (tmp_path / "scenarios_app").mkdir()
    (tmp_path / "scenarios_app" / "__init__.py").write_text("raise RuntimeError('hostile')\n")
    settings = {"MOCKLLM_REQUIRE_AUTH": "false"}
    with running_server([scenario("s", text_step("Hi!"))], settings=settings) as server:
        assert ask_for_text(server) == "Hi!"


def test_server_has_ended_after_a_failed_test() -> None:
    with pytest.raises(KeyError), running_server() as server:
        pid = server.pid
        assert is_alive(pid)
        raise KeyError("the test fails")
    assert not is_alive(pid)


def test_killed_server_causes_no_error_at_the_end() -> None:
    with running_server() as server:
        os.kill(server.pid, signal.SIGKILL)
