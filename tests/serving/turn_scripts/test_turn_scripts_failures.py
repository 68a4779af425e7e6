"""Requirement 003's simulated failures over every wire: their kinds, counts and delays."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from scenarios_app.serving.playback import Answer
from tests.engine.turn_scripts import script, text_response, turn
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName
from tests.serving.pipelines import Harness
from tests.serving.turn_scripts.turns import SESSION, send_turn, turn_request

EVERY_WIRE = pytest.mark.parametrize("wire", WIRES)
EITHER_WAY = pytest.mark.parametrize("stream", [False, True])


def failing_harness(times: int = 1, **keys: Any) -> Harness:
    return Harness(script(turn(failuresBeforeSuccess=times, **keys)))


async def attempt(harness: Harness, wire: WireName, *, stream: bool = False) -> Answer:
    """Return one attempt's answer without waiting for its delay."""
    answer = await harness.pipeline.answer(turn_request(wire, "script", stream=stream))
    answer.finish()
    return answer


def message_of(wire: WireName, answer: Answer) -> str:
    return DIALECTS[wire].error(json.loads(answer.reply.body))


def headers_of(answer: Answer) -> Mapping[str, str]:
    return dict(answer.reply.headers)


@EITHER_WAY
@EVERY_WIRE
@pytest.mark.parametrize("status", [None, "model_error", "whatever"])
async def test_a_model_error_is_a_500_in_the_envelope(
    wire: WireName, stream: bool, status: str | None
) -> None:
    harness = failing_harness(failureStatus=status, failureMessage="Primary provider failed.")
    failed = await attempt(harness, wire, stream=stream)
    assert (failed.reply.status, message_of(wire, failed)) == (500, "Primary provider failed.")
    assert (await send_turn(harness, wire, "script", stream=stream)).text == "fine"


@EITHER_WAY
@EVERY_WIRE
async def test_a_rate_limit_is_a_429_with_the_providers_headers(
    wire: WireName, stream: bool
) -> None:
    harness = failing_harness(
        failureStatus="rate_limit", failureMessage="Slow down.", failureRetryAfterMs=2_500
    )
    failed = await attempt(harness, wire, stream=stream)
    assert (failed.reply.status, message_of(wire, failed)) == (429, "Slow down.")
    assert headers_of(failed)["retry-after"] == "3"
    assert headers_of(failed).get("retry-after-ms") == ("2500" if wire == "openai" else None)
    assert (await send_turn(harness, wire, "script", stream=stream)).text == "fine"


@EVERY_WIRE
async def test_a_timeout_holds_thirty_seconds_and_closes(wire: WireName) -> None:
    failed = await attempt(failing_harness(failureStatus="timeout"), wire)
    reply = failed.reply
    assert (reply.started, reply.cut, reply.delay) == (False, True, 30.0)


@EVERY_WIRE
async def test_a_network_error_closes_before_the_first_byte(wire: WireName) -> None:
    failed = await attempt(failing_harness(failureStatus="network_error"), wire)
    reply = failed.reply
    assert (reply.started, reply.cut, reply.delay) == (False, True, 0.0)


@EITHER_WAY
@EVERY_WIRE
async def test_an_invalid_response_is_a_200_that_no_client_can_read(
    wire: WireName, stream: bool
) -> None:
    failed = await attempt(failing_harness(failureStatus="invalid_response"), wire, stream=stream)
    assert failed.reply.status == 200
    body = failed.reply.body
    with pytest.raises(json.JSONDecodeError):
        json.loads(body.rpartition(b"data: ")[2])


@EVERY_WIRE
async def test_failure_that_is_not_retryable_has_the_should_retry_header(wire: WireName) -> None:
    for keys in ({}, {"failureThrows": True}, {"failureStatus": "rate_limit"}):
        failed = await attempt(failing_harness(failureRetryable=False, **keys), wire)
        assert headers_of(failed)["x-should-retry"] == "false"
        failed = await attempt(failing_harness(failureRetryable=True, **keys), wire)
        assert "x-should-retry" not in headers_of(failed)


THROWN: list[tuple[dict[str, Any], int, str]] = [
    ({"failureMessage": "Simulated throw."}, 500, "Simulated throw."),
    ({}, 500, "Simulated failure"),
    ({"failureError": {"name": "TimeoutError", "message": "Too late."}}, 504, "Too late."),
    ({"failureError": {"status": 401, "message": "Invalid API key"}}, 401, "Invalid API key"),
    ({"failureError": {"status": 402}, "failureMessage": "Quota."}, 402, "Quota."),
]


@EVERY_WIRE
@pytest.mark.parametrize(("keys", "status", "message"), THROWN)
async def test_thrown_failure_is_an_immediate_http_error(
    wire: WireName, keys: dict[str, Any], status: int, message: str
) -> None:
    failed = await attempt(failing_harness(failureThrows=True, **keys), wire)
    assert (failed.reply.status, message_of(wire, failed)) == (status, message)
    assert failed.reply.delay == 0.0


@EVERY_WIRE
async def test_thrown_failure_has_its_scripted_headers_and_body(wire: WireName) -> None:
    error = {
        "status": 429,
        "name": "RateLimitError",
        "headers": {"Retry-After": 3, "x-quota": "none"},
        "responseBody": '{"error": {"message": "Rate limit hit"}}',
    }
    failed = await attempt(failing_harness(failureThrows=True, failureError=error), wire)
    assert failed.reply.status == 429
    assert failed.reply.body == b'{"error": {"message": "Rate limit hit"}}'
    headers = headers_of(failed)
    assert (headers["retry-after"], headers["x-quota"]) == ("3", "none")
    assert [name for name, _ in failed.reply.headers].count("retry-after") == 1
    error["responseBody"] = {"error": "ü"}
    failed = await attempt(failing_harness(failureThrows=True, failureError=error), wire)
    assert failed.reply.body == '{"error":"ü"}'.encode()


@EVERY_WIRE
@pytest.mark.parametrize("error", [{"name": "NetworkError"}, {"code": "ECONNRESET"}])
async def test_thrown_network_error_closes_immediately(
    wire: WireName, error: dict[str, str]
) -> None:
    failed = await attempt(failing_harness(failureThrows=True, failureError=error), wire)
    reply = failed.reply
    assert (reply.started, reply.cut, reply.delay) == (False, True, 0.0)


@EVERY_WIRE
async def test_attempt_tracking_exactly_the_scripted_number_fail(wire: WireName) -> None:
    harness = failing_harness(3)
    statuses = [(await attempt(harness, wire)).reply.status for _ in range(10)]
    assert statuses == [500] * 3 + [200] * 7
    ((attempt_ref, count),) = (await harness.state.read(SESSION)).attempts
    assert (attempt_ref.step.scenario, attempt_ref.provider, count) == ("script", wire, 3)


async def test_attempts_are_counted_per_scenario_turn_provider_and_session() -> None:
    fails: dict[str, Any] = {"failuresBeforeSuccess": 1}
    harness = Harness(
        script(turn(**fails), turn(text_response("two"), 2, **fails), id="a"),
        script(turn(**fails), id="b"),
    )
    requests: list[tuple[WireName, str, dict[str, Any]]] = [
        ("openai", "a", {}),
        ("openai", "a", {"turn": 2}),
        ("openai", "b", {}),
        ("anthropic", "a", {}),
        ("openai", "a", {"headers": {"x-mockllm-session": "other"}}),
    ]
    for status in (500, 200, 200):
        for wire, user_text, fields in requests:
            actual_status, _, _ = await harness.ask(turn_request(wire, user_text, **fields))
            assert actual_status == status, (wire, user_text, fields)


@EVERY_WIRE
async def test_of_parallel_attempts_exactly_the_scripted_number_fail(wire: WireName) -> None:
    harness = failing_harness(7)

    async def ask() -> int:
        await asyncio.sleep(0)
        return (await attempt(harness, wire)).reply.status

    statuses = await asyncio.gather(*(ask() for _ in range(100)))
    assert sorted(statuses) == [200] * 93 + [500] * 7


@EVERY_WIRE
async def test_a_thousand_failures_have_no_delay(wire: WireName) -> None:
    harness = failing_harness(999, failureThrows=True, failureError={"name": "NetworkError"})
    answers = [await attempt(harness, wire) for _ in range(1_000)]
    assert all(answer.reply.delay == 0.0 for answer in answers)
    assert [answer.reply.started for answer in answers] == [False] * 999 + [True]


@EVERY_WIRE
async def test_expectations_are_checked_before_failures(wire: WireName) -> None:
    harness = failing_harness(1, expectedTemperature=0.5)
    answer = await send_turn(harness, wire, "script")
    assert answer.text == "Scenario validation failed."
    assert (await harness.state.read(SESSION)).attempts == ()
    status, _, _ = await harness.ask(turn_request(wire, "script", temperature=0.5))
    assert status == 500


@EVERY_WIRE
async def test_a_reset_begins_the_count_anew(wire: WireName) -> None:
    harness = failing_harness(1)
    for status in (500, 200):
        assert (await attempt(harness, wire)).reply.status == status
    await harness.state.reset(SESSION)
    assert (await attempt(harness, wire)).reply.status == 500
