"""Cassettes on a real server: each request gets its recorded response, byte for byte."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from scenarios_app.testing.process import ServerOptions, server_process
from tests.replay.__main__ import main
from tests.replay.replaying import Cassette, read_cassettes, replay

OURS = Path(__file__).parents[1] / "data" / "cassettes"
# Cassettes of other projects, if they are beside this checkout.
FOREIGN = Path(__file__).parents[3] / "shared" / "data" / "cassettes"


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    settings = {"MOCKLLM_SCENARIOS": str(OURS)}
    with (
        pytest.warns(UserWarning, match="Bedrock"),
        server_process(ServerOptions(settings=settings)) as (url, _),
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        yield client


@pytest.mark.parametrize("cassette", read_cassettes([OURS]), ids=lambda outcome: outcome.name)
def test_each_request_gets_its_own_answer(http: httpx.Client, cassette: Cassette) -> None:
    outcomes = list(replay(http, cassette))
    assert outcomes and [outcome for outcome in outcomes if outcome.difference] == []


def test_a_cassette_is_a_scenario_that_can_be_read_and_edited(http: httpx.Client) -> None:
    document = http.get("/control/scenarios/openai_weather").json()
    first, second = document["steps"]
    (call,) = first["produce"]["tool_calls"]
    assert (call["name"], call["arguments"]) == ("get_weather", {"city": "Paris"})
    # A recorded text with braces stays literal.
    assert second["produce"]["text"] == "It is sunny {{ braces }} today }}."
    text = json.dumps(document)
    assert "secret-cookie-value" not in text and "set-cookie" not in text
    # Edited and loaded into its own session, it answers from its parts.
    second["produce"]["text"] = "It rains."
    edited = {**document, "name": "edited"}
    headers = {"x-mockllm-session": "edits", "x-mockllm-scenario": "edited"}
    assert http.put("/control/scenarios/edited?session=edits", json=edited).status_code == 201
    body = second["match"]["recorded"]["body"]
    answer = http.post(
        "/v1/chat/completions",
        json=body,
        headers={**headers, "authorization": "Bearer any"},
    )
    assert answer.status_code == 200 and "rains" in answer.text


def test_unrecorded_request_gets_an_error_with_the_difference(http: httpx.Client) -> None:
    document = http.get("/control/scenarios/openai_weather").json()
    body = document["steps"][1]["match"]["recorded"]["body"]
    body["messages"][2]["content"] = "rain"
    headers = {
        "x-mockllm-session": "differs",
        "x-mockllm-scenario": quote("openai_weather"),
        "authorization": "Bearer any",
    }
    answer = http.post("/v1/chat/completions", json=body, headers=headers)
    message = answer.json()["error"]["message"]
    assert answer.status_code == 404
    assert 'match.recorded.messages[2].content: expected "sunny", got "rain"' in message


@pytest.mark.skipif(not FOREIGN.is_dir(), reason="the recordings of other projects are not here")
@pytest.mark.filterwarnings("ignore:MOCKLLM_SCENARIOS")
def test_recordings_of_other_projects_replay(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(FOREIGN)]) == 0, capsys.readouterr().out
    assert ", 0 not" in capsys.readouterr().out


def test_replay_tool_prints_differences_to_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cassette: dict[str, Any] = {"version": 1}
    request = {
        "method": "POST",
        "uri": "https://api.openai.com/v1/chat/completions",
        "headers": {},
        "body": '{"model": "m", "messages": [{"role": "user", "content": "hi"}]}',
    }
    response = {"status": {"code": 200}, "headers": {"content-type": ["text/x"]}, "body": "x"}
    cassette["interactions"] = [{"request": request, "response": response}]
    file = tmp_path / "one.json"
    file.write_text(json.dumps(cassette))
    (read,) = read_cassettes([tmp_path])
    cassette["interactions"][0]["response"]["body"] = "y"
    file.write_text(json.dumps(cassette))
    monkeypatch.setattr("tests.replay.__main__.read_cassettes", lambda paths: [read])
    assert main([str(tmp_path)]) == 1
    assert "one, 1: other bytes: b'y', recorded b'x'" in capsys.readouterr().out
    assert main([]) == 2
