"""The pipeline's answers, the order of its checks, and its journal entries."""

import json
import logging
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.engine.state import key_session, put_scenario
from scenarios_app.serving import playback
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Limits
from tests.serving.pipelines import KEY, Harness, chat, claude, scenario, text_step

GREETING = scenario("greeting", text_step("Hi!"))


def error_of(body: bytes) -> dict[str, Any]:
    error: dict[str, Any] = json.loads(body)["error"]
    return error


async def test_a_matching_step_answers() -> None:
    status, headers, body = await Harness(GREETING).ask(chat())
    assert status == 200
    assert headers["content-type"] == "application/json"
    assert headers["content-length"] == str(len(body))
    assert json.loads(body)["choices"][0]["message"]["content"] == "Hi!"


async def test_a_stream_holds_the_same_answer() -> None:
    _, headers, body = await Harness(GREETING).ask(chat(stream=True))
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["cache-control"] == "no-cache"
    assert "content-length" not in headers
    assert b'"content":"Hi!"' in body and body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("call", [chat(), claude()], ids=["openai", "anthropic"])
async def test_answer_headers_name_scenario_and_step(call: Call) -> None:
    harness = Harness(scenario("größe & mehr", text_step("Hi!", name="erster Schritt")))
    _, headers, _ = await harness.ask(call)
    assert headers["x-mockllm-scenario"] == "gr%C3%B6%C3%9Fe%20%26%20mehr"
    assert headers["x-mockllm-step"] == "erster%20Schritt"
    assert headers["x-mockllm-request"] == harness.journal[0].uid


async def test_a_step_without_a_name_is_its_number() -> None:
    _, headers, _ = await Harness(scenario("one", text_step("Hi!"))).ask(chat())
    assert headers["x-mockllm-step"] == "1"


async def test_unmatched_answer_has_empty_scenario_and_step_headers() -> None:
    _, headers, _ = await Harness().ask(chat())
    assert (headers["x-mockllm-scenario"], headers["x-mockllm-step"]) == ("", "")
    assert headers["x-mockllm-request"]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"path": "/v1/nothing", "headers": {}}, 404),
        ({"path": "/v1/chat/completions/", "headers": {}}, 404),
        ({"method": "PUT", "headers": {}}, 405),
        ({"headers": {"x-big": "x" * 17_000}}, 431),
        ({"headers": {}, "body": b"{"}, 401),
        ({"body": b"{"}, 400),
        ({"body": b'{"messages": 1}'}, 400),
        ({"body": b"[" * 100 + b"]" * 100}, 400),
        ({"body": b'{"model": "m", "messages": []}'}, 400),
        ({}, 404),
    ],
)
async def test_first_failed_check_decides_the_error(change: dict[str, Any], status: int) -> None:
    actual_status, _, body = await Harness().ask(replace(chat(), **change))
    assert actual_status == status
    assert set(error_of(body)) == {"message", "type", "param", "code"}


async def test_the_version_header_comes_after_the_key_and_before_the_body() -> None:
    harness = Harness()
    keyless = replace(claude(), headers={}, body=b"{")
    assert (await harness.ask(keyless))[0] == 401
    status, _, body = await harness.ask(replace(keyless, headers={"x-api-key": "k"}))
    assert status == 400 and "anthropic-version" in error_of(body)["message"]


async def test_auth_may_be_left_out_by_setting() -> None:
    harness = Harness(GREETING, require_auth=False)
    status, _, _ = await harness.ask(replace(chat(), headers={}))
    assert status == 200
    assert harness.journal[0].session == "default"


async def test_too_many_messages_are_refused_with_the_place() -> None:
    harness = Harness(GREETING, limits=Limits(messages=2))
    messages = [{"role": "user", "content": "x"}] * 3
    status, _, body = await harness.ask(chat(messages=messages))
    assert status == 400
    assert error_of(body)["param"] == "messages"


async def test_an_unmatched_request_is_a_404_that_names_the_nearest_steps() -> None:
    document = scenario(
        "weather", text_step("Sunny.", match={"messages": [{"contains": "weather"}]})
    )
    harness = Harness(document)
    status, _, body = await harness.ask(chat("Hello"))
    error = error_of(body)
    assert status == 404 and error["code"] == "no_scenario_matched"
    assert error["message"].startswith("no_scenario_matched: ")
    assert "weather" in error["message"] and "match.messages[0]" in error["message"]
    entry = harness.journal[0]
    assert (entry.outcome, entry.matched) == ("unmatched", False)
    (miss,) = entry.near_misses
    assert isinstance(miss, dict)
    assert (miss["scenario"], miss["step"]) == ("weather", "1")
    assert isinstance(miss["mismatches"], list) and isinstance(miss["mismatches"][0], dict)
    assert set(miss["mismatches"][0]) == {"field", "expected", "actual"}


async def test_internal_error_is_a_500_in_the_envelope_and_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("scenarios_app.serving.respond.produce", fail)
    harness = Harness(GREETING)
    with caplog.at_level(logging.ERROR):
        status, headers, body = await harness.ask(claude())
    assert status == 500
    assert json.loads(body)["type"] == "error"
    assert headers["x-mockllm-scenario"] == "greeting"
    assert "a bug" in caplog.text and "a bug" not in body.decode()
    assert harness.journal[0].status == 500


async def test_the_journal_has_one_entry_of_each_call() -> None:
    harness = Harness(GREETING)
    await harness.ask(chat(stream=True))
    await harness.ask(replace(chat(), headers={}))
    complete, unauthorized = harness.journal
    assert complete.session == key_session(KEY)
    assert (complete.provider, complete.method, complete.path) == (
        "openai",
        "POST",
        "/v1/chat/completions",
    )
    assert (complete.scenario, complete.step, complete.way, complete.matched) == (
        "greeting",
        "1",
        "match",
        True,
    )
    assert (complete.outcome, complete.status, complete.streamed, complete.model) == (
        "complete",
        200,
        True,
        "gpt-4o",
    )
    assert b"".join(complete.response_body).endswith(b"data: [DONE]\n\n")
    assert complete.response_bytes == len(b"".join(complete.response_body))
    assert complete.request_body == chat(stream=True).body
    assert set(complete.timings) == {"chosen_ms", "head_ms"} and complete.duration_ms > 0
    assert (unauthorized.outcome, unauthorized.status, unauthorized.matched) == (
        "complete",
        401,
        False,
    )
    assert unauthorized.session == "default"


async def test_the_journal_keeps_the_beginning_of_a_long_stream_and_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # On a busy machine, too, no two frames are due together.
    monkeypatch.setattr(playback, "PIECE_BYTES", 1)
    step = text_step("word " * 100)
    step["produce"]["pacing"] = {"chunk_ms": 1}
    harness = Harness(scenario("long", step), journal_body_bytes=1_000)
    _, _, body = await harness.ask(chat(stream=True))
    entry = harness.journal[0]
    journal_body = b"".join(entry.response_body)
    assert 1_000 <= len(journal_body) < 2_000 and body.startswith(journal_body)
    assert entry.response_bytes == len(body)


async def test_computed_answers_are_never_unmatched() -> None:
    harness = Harness()
    headers = {"authorization": "Bearer k"}
    status, _, body = await harness.ask(Call("GET", "/v1/models", {}, headers, b""))
    assert status == 200 and json.loads(body)["object"] == "list"
    entry = harness.journal[0]
    assert (entry.outcome, entry.matched, entry.scenario) == ("complete", True, "")


async def test_models_include_shipped_scripted_and_configured_ones() -> None:
    step = text_step("Hi!", match={"model": ["my-model", {"regex": "^other"}]})
    harness = Harness(scenario("models", step), models=("set-model",))
    headers = {"authorization": "Bearer k"}
    _, _, body = await harness.ask(Call("GET", "/v1/models", {}, headers, b""))
    ids = {model["id"] for model in json.loads(body)["data"]}
    assert {"gpt-4o", "my-model", "set-model"} <= ids
    assert not any(name.startswith("claude") for name in ids)
    status, _, body = await harness.ask(Call("GET", "/v1/models/none", {}, headers, b""))
    assert status == 404 and error_of(body)["code"] == "model_not_found"


async def test_only_a_step_that_names_the_path_overrides_a_computed_answer() -> None:
    harness = Harness(
        scenario("all", text_step("for everything")),
        scenario("raw", {"match": {"path": "/v1/models"}, "produce": {"raw": {"body": "mine"}}}),
    )
    call = Call("GET", "/v1/models", {}, {"authorization": "Bearer k"}, b"")
    assert (await harness.ask(call))[2] == b"mine"
    # The step is consumed, so the computed answer follows.
    assert json.loads((await harness.ask(call))[2])["object"] == "list"


async def test_ids_follow_from_session_request_and_ordinal() -> None:
    def new_harness() -> Harness:
        return Harness(GREETING)

    async def identity(harness: Harness, call: Call) -> tuple[str, str]:
        _, headers, body = await harness.ask(call)
        return json.loads(body)["id"], headers["x-request-id"]

    harness = new_harness()
    first, second = await identity(harness, chat()), await identity(harness, chat())
    assert first != second
    assert await identity(new_harness(), chat()) == first
    retried = chat(headers={"x-stainless-retry-count": "1"})
    assert await identity(new_harness(), retried) == first
    assert await identity(new_harness(), chat("other")) != first
    assert await identity(new_harness(), chat(headers={"authorization": "Bearer other"})) != first


async def test_the_clock_of_answers_is_frozen_by_option_alone() -> None:
    _, _, body = await Harness(GREETING).ask(chat())
    assert json.loads(body)["created"] == 1_735_689_600
    _, _, body = await Harness(GREETING, clock=None).ask(chat())
    assert json.loads(body)["created"] > 1_735_689_600


async def test_scenario_of_a_session_overrides_the_common_one() -> None:
    harness = Harness(GREETING)
    await put_scenario(harness.state, "mine", "greeting", scenario("greeting", text_step("Mine!")))
    _, _, own = await harness.ask(chat(headers={"x-mockllm-session": "mine"}))
    _, _, common = await harness.ask(chat())
    assert b"Mine!" in own and b"Hi!" in common


async def test_beyond_the_stream_cap_the_answer_is_503_until_one_ends() -> None:
    harness = Harness(GREETING, max_streams=1)
    open_answer = await harness.pipeline.answer(chat(stream=True))
    status, headers, body = await harness.ask(chat(stream=True))
    assert status == 503 and headers["retry-after"] == "1"
    assert "streams" in error_of(body)["message"]
    assert (await harness.ask(chat()))[0] == 200
    _ = [piece async for piece in open_answer.pieces()]
    assert (await harness.ask(chat(stream=True)))[0] == 200
    assert harness.pipeline.streams.taken == 0
    # The refused request has no number in the session.
    assert (await harness.state.read(key_session(KEY))).ordinal == 3


async def test_answer_that_is_never_played_is_journalled() -> None:
    harness = Harness(GREETING, max_streams=1)
    answer = await harness.pipeline.answer(chat(stream=True))
    del answer
    assert [entry.outcome for entry in harness.journal] == ["client_gone"]
    assert harness.pipeline.streams.taken == 0


async def test_a_head_request_gets_no_body() -> None:
    status, headers, body = await Harness(GREETING).ask(replace(chat(), method="HEAD"))
    assert status == 405 and body == b"" and headers["content-length"] != "0"


CALL = {"name": "get_weather", "arguments": {"city": "Oslo"}}


@pytest.mark.parametrize(
    ("produce", "expected"),
    [
        ({"text": "It rains."}, "It rains."),
        ({"reasoning": "Hm.", "tool_calls": [CALL, CALL]}, 'get_weather({"city":"Oslo"}), get_w…'),
        ({"refusal": "No."}, "No."),
        ({"fault": {"kind": "rate_limit", "message": "slow down"}}, "slow down"),
        ({"text": "x" * 2_000}, "x" * 1_000),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_journal_entry_has_the_beginning_of_question_and_answer(
    produce: dict[str, Any], expected: str, stream: bool
) -> None:
    harness = Harness(scenario("weather", {"consume": False, "produce": produce}))
    # The third answer is prepared.
    for _ in range(3):
        await harness.ask(chat("Rain?", stream=stream))
    for entry in harness.journal:
        assert entry.request_preview == "Rain?"
        assert entry.response_preview.startswith(expected.removesuffix("…"))
        assert len(entry.response_preview) == len(expected) or expected.endswith("…")


async def test_journal_entry_shows_a_tool_result_and_an_unmatched_error() -> None:
    harness = Harness()
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Rain?"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "sunny"},
    ]
    await harness.ask(chat(messages=messages))
    (entry,) = harness.journal
    assert entry.request_preview == "sunny"
    assert entry.response_preview.startswith("no_scenario_matched")
