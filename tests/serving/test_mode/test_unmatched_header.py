"""Default answers differ from scripted ones by a header, metadata and a line in the log."""

import json
import logging
from typing import Any

import pytest

from scenarios_app.wire.base import Call
from tests.serving.modes import WIRES, WireName, harness_in_test_mode, sample_call
from tests.serving.pipelines import KEY, Harness, scenario, text_step

HEADER = "x-mockllm-unmatched"


def responses(*, stream: bool, **fields: Any) -> Call:
    body = {"model": "gpt-4o", "input": "Hello", "stream": stream, **fields}
    headers = {"authorization": f"Bearer {KEY}"}
    return Call("POST", "/v1/responses", {}, headers, json.dumps(body).encode())


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
async def test_default_answer_has_the_unmatched_header(wire: WireName, stream: bool) -> None:
    status, headers, _ = await harness_in_test_mode().ask(sample_call(wire, stream=stream))
    assert (status, headers[HEADER]) == (200, "1")
    assert headers["x-mockllm-scenario"] == "test-mode"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
async def test_matched_answer_has_no_unmatched_header(wire: WireName, stream: bool) -> None:
    _, headers, _ = await harness_in_test_mode(scenario("s", text_step("hi"))).ask(
        sample_call(wire, stream=stream)
    )
    assert HEADER not in headers


async def test_unmatched_404_has_the_unmatched_header() -> None:
    status, headers, _ = await Harness().ask(sample_call("openai", stream=False))
    assert (status, headers[HEADER]) == (404, "1")


@pytest.mark.parametrize("stream", [False, True])
async def test_cached_default_answer_has_the_unmatched_header(stream: bool) -> None:
    harness = Harness(scenario("test-mode", text_step("the same"), priority=-1000))
    answers = [await harness.ask(sample_call("openai", stream=stream)) for _ in range(4)]
    assert [headers[HEADER] for _, headers, _ in answers] == ["1"] * 4


@pytest.mark.parametrize("times", [1, 4])
async def test_default_answer_of_responses_has_the_unmatched_metadata(times: int) -> None:
    harness = Harness(scenario("test-mode", text_step("the same"), priority=-1000))
    for _ in range(times):
        _, _, body = await harness.ask(responses(stream=False, metadata={"mine": "1"}))
    assert json.loads(body)["metadata"] == {"mine": "1", "mockllm_unmatched": "1"}


async def test_responses_matched_answer_echoes_metadata_alone() -> None:
    harness = harness_in_test_mode(scenario("s", text_step("hi")))
    _, _, body = await harness.ask(responses(stream=False, metadata={"mine": "1"}))
    assert json.loads(body)["metadata"] == {"mine": "1"}


async def test_first_default_answer_of_each_session_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    harness = harness_in_test_mode(
        scenario("weather", text_step("sunny", match={"model": "gpt-5"}))
    )
    with caplog.at_level(logging.WARNING):
        for session in ("a", "a", "b"):
            headers = {"x-mockllm-session": session}
            await harness.ask(sample_call("openai", stream=False, headers=headers))
    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith("session a: no scenario matched POST /v1/chat/completions; ")
    assert "X-MockLLM-Unmatched: 1" in first
    assert "Nearest: scenario weather, step 1." in first
    assert second.startswith("session b: ")


async def test_matched_answer_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await harness_in_test_mode(scenario("s", text_step("hi"))).ask(
            sample_call("openai", stream=False)
        )
    assert not caplog.records
