"""How a default answer is told from a scripted one: by header, metadata and a line in the log."""

import json
import logging
from typing import Any

import pytest

from scenarios_app.wire.base import Call
from tests.serving.modes import WIRES, WireName, asking, in_test_mode
from tests.serving.pipelines import KEY, Playing, says, scenario

HEADER = "x-mockllm-unmatched"


def responses(*, stream: bool, **fields: Any) -> Call:
    body = {"model": "gpt-4o", "input": "Hello", "stream": stream, **fields}
    headers = {"authorization": f"Bearer {KEY}"}
    return Call("POST", "/v1/responses", {}, headers, json.dumps(body).encode())


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
async def test_default_answer_has_the_unmatched_header(wire: WireName, stream: bool) -> None:
    status, headers, _ = await in_test_mode().ask(asking(wire, stream=stream))
    assert (status, headers[HEADER]) == (200, "1")
    assert headers["x-mockllm-scenario"] == "test-mode"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
async def test_matched_answer_has_no_unmatched_header(wire: WireName, stream: bool) -> None:
    _, headers, _ = await in_test_mode(scenario("s", says("hi"))).ask(asking(wire, stream=stream))
    assert HEADER not in headers


async def test_unmatched_404_has_the_unmatched_header() -> None:
    status, headers, _ = await Playing().ask(asking("openai", stream=False))
    assert (status, headers[HEADER]) == (404, "1")


@pytest.mark.parametrize("stream", [False, True])
async def test_cached_default_answer_has_the_unmatched_header(stream: bool) -> None:
    playing = Playing(scenario("test-mode", says("the same"), priority=-1000))
    answers = [await playing.ask(asking("openai", stream=stream)) for _ in range(4)]
    assert [headers[HEADER] for _, headers, _ in answers] == ["1"] * 4


@pytest.mark.parametrize("times", [1, 4])
async def test_responses_default_answer_says_so_in_its_metadata(times: int) -> None:
    playing = Playing(scenario("test-mode", says("the same"), priority=-1000))
    for _ in range(times):
        _, _, body = await playing.ask(responses(stream=False, metadata={"mine": "1"}))
    assert json.loads(body)["metadata"] == {"mine": "1", "mockllm_unmatched": "1"}


async def test_responses_matched_answer_echoes_metadata_alone() -> None:
    playing = in_test_mode(scenario("s", says("hi")))
    _, _, body = await playing.ask(responses(stream=False, metadata={"mine": "1"}))
    assert json.loads(body)["metadata"] == {"mine": "1"}


async def test_first_default_answer_of_each_session_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    playing = in_test_mode(scenario("weather", says("sunny", match={"model": "gpt-5"})))
    with caplog.at_level(logging.WARNING):
        for session in ("a", "a", "b"):
            headers = {"x-mockllm-session": session}
            await playing.ask(asking("openai", stream=False, headers=headers))
    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith("session a: no scenario matched POST /v1/chat/completions; ")
    assert "X-MockLLM-Unmatched: 1" in first
    assert "Nearest: scenario weather, step 1." in first
    assert second.startswith("session b: ")


async def test_matched_answer_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await in_test_mode(scenario("s", says("hi"))).ask(asking("openai", stream=False))
    assert not caplog.records
