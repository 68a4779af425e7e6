"""What the pipeline answers, in which order it refuses, and what it tells the journal."""

import json
import logging
from typing import Any

import pytest
from msgspec.structs import replace

from scenarios_app.engine.state import key_session, put_scenario
from scenarios_app.serving import playback
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Limits
from tests.serving.pipelines import KEY, Playing, chat, claude, says, scenario

GREETING = scenario("greeting", says("Hi!"))


def error_of(body: bytes) -> dict[str, Any]:
    error: dict[str, Any] = json.loads(body)["error"]
    return error


async def test_a_matching_step_answers() -> None:
    status, headers, body = await Playing(GREETING).ask(chat())
    assert status == 200
    assert headers["content-type"] == "application/json"
    assert headers["content-length"] == str(len(body))
    assert json.loads(body)["choices"][0]["message"]["content"] == "Hi!"


async def test_a_stream_holds_the_same_answer() -> None:
    _, headers, body = await Playing(GREETING).ask(chat(stream=True))
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["cache-control"] == "no-cache"
    assert "content-length" not in headers
    assert b'"content":"Hi!"' in body and body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("call", [chat(), claude()], ids=["openai", "anthropic"])
async def test_every_answer_names_what_answered(call: Call) -> None:
    playing = Playing(scenario("größe & mehr", says("Hi!", name="erster Schritt")))
    _, headers, _ = await playing.ask(call)
    assert headers["x-mockllm-scenario"] == "gr%C3%B6%C3%9Fe%20%26%20mehr"
    assert headers["x-mockllm-step"] == "erster%20Schritt"
    assert headers["x-mockllm-request"] == playing.journal[0].uid


async def test_a_step_without_a_name_is_its_number() -> None:
    _, headers, _ = await Playing(scenario("one", says("Hi!"))).ask(chat())
    assert headers["x-mockllm-step"] == "1"


async def test_answers_of_nobody_carry_the_same_headers_empty() -> None:
    _, headers, _ = await Playing().ask(chat())
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
    answered, _, body = await Playing().ask(replace(chat(), **change))
    assert answered == status
    assert set(error_of(body)) == {"message", "type", "param", "code"}


async def test_the_version_header_comes_after_the_key_and_before_the_body() -> None:
    playing = Playing()
    bare = replace(claude(), headers={}, body=b"{")
    assert (await playing.ask(bare))[0] == 401
    status, _, body = await playing.ask(replace(bare, headers={"x-api-key": "k"}))
    assert status == 400 and "anthropic-version" in error_of(body)["message"]


async def test_auth_may_be_left_out_by_setting() -> None:
    playing = Playing(GREETING, require_auth=False)
    status, _, _ = await playing.ask(replace(chat(), headers={}))
    assert status == 200
    assert playing.journal[0].session == "default"


async def test_too_many_messages_are_refused_with_the_place() -> None:
    playing = Playing(GREETING, limits=Limits(messages=2))
    messages = [{"role": "user", "content": "x"}] * 3
    status, _, body = await playing.ask(chat(messages=messages))
    assert status == 400
    assert error_of(body)["param"] == "messages"


async def test_an_unmatched_request_is_a_404_that_names_the_nearest_steps() -> None:
    near = scenario("weather", says("Sunny.", match={"messages": [{"contains": "weather"}]}))
    playing = Playing(near)
    status, _, body = await playing.ask(chat("Hello"))
    error = error_of(body)
    assert status == 404 and error["code"] == "no_scenario_matched"
    assert error["message"].startswith("no_scenario_matched: ")
    assert "weather" in error["message"] and "match.messages[0]" in error["message"]
    entry = playing.journal[0]
    assert (entry.outcome, entry.matched) == ("unmatched", False)
    (miss,) = entry.near_misses
    assert isinstance(miss, dict)
    assert (miss["scenario"], miss["step"]) == ("weather", "1")
    assert isinstance(miss["mismatches"], list) and isinstance(miss["mismatches"][0], dict)
    assert set(miss["mismatches"][0]) == {"field", "expected", "actual"}


async def test_a_bug_of_ours_is_a_500_in_the_envelope_and_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("scenarios_app.serving.respond.produce", broken)
    playing = Playing(GREETING)
    with caplog.at_level(logging.ERROR):
        status, headers, body = await playing.ask(claude())
    assert status == 500
    assert json.loads(body)["type"] == "error"
    assert headers["x-mockllm-scenario"] == "greeting"
    assert "a bug" in caplog.text and "a bug" not in body.decode()
    assert playing.journal[0].status == 500


async def test_the_journal_has_one_entry_of_each_call() -> None:
    playing = Playing(GREETING)
    await playing.ask(chat(stream=True))
    await playing.ask(replace(chat(), headers={}))
    ok, refused = playing.journal
    assert ok.session == key_session(KEY)
    assert (ok.provider, ok.method, ok.path) == ("openai", "POST", "/v1/chat/completions")
    assert (ok.scenario, ok.step, ok.way, ok.matched) == ("greeting", "1", "match", True)
    assert (ok.outcome, ok.status, ok.streamed, ok.model) == ("complete", 200, True, "gpt-4o")
    assert b"".join(ok.response_body).endswith(b"data: [DONE]\n\n")
    assert ok.response_bytes == len(b"".join(ok.response_body))
    assert ok.request_body == chat(stream=True).body
    assert set(ok.timings) == {"chosen_ms", "head_ms"} and ok.duration_ms > 0
    assert (refused.outcome, refused.status, refused.matched) == ("complete", 401, False)
    assert refused.session == "default"


async def test_the_journal_keeps_the_beginning_of_a_long_stream_and_its_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # On a busy machine, too, no two frames are due together.
    monkeypatch.setattr(playback, "PIECE_BYTES", 1)
    step = says("word " * 100)
    step["produce"]["pacing"] = {"chunk_ms": 1}
    playing = Playing(scenario("long", step), journal_body_bytes=1_000)
    _, _, body = await playing.ask(chat(stream=True))
    entry = playing.journal[0]
    kept = b"".join(entry.response_body)
    assert 1_000 <= len(kept) < 2_000 and body.startswith(kept)
    assert entry.response_bytes == len(body)


async def test_computed_answers_are_never_unmatched() -> None:
    playing = Playing()
    headers = {"authorization": "Bearer k"}
    status, _, body = await playing.ask(Call("GET", "/v1/models", {}, headers, b""))
    assert status == 200 and json.loads(body)["object"] == "list"
    entry = playing.journal[0]
    assert (entry.outcome, entry.matched, entry.scenario) == ("complete", True, "")


async def test_models_are_the_shipped_the_scripted_and_the_configured() -> None:
    step = says("Hi!", match={"model": ["my-model", {"regex": "^other"}]})
    playing = Playing(scenario("models", step), models=("set-model",))
    headers = {"authorization": "Bearer k"}
    _, _, body = await playing.ask(Call("GET", "/v1/models", {}, headers, b""))
    ids = {model["id"] for model in json.loads(body)["data"]}
    assert {"gpt-4o", "my-model", "set-model"} <= ids
    assert not any(name.startswith("claude") for name in ids)
    status, _, body = await playing.ask(Call("GET", "/v1/models/none", {}, headers, b""))
    assert status == 404 and error_of(body)["code"] == "model_not_found"


async def test_only_a_step_that_names_the_path_overrides_a_computed_answer() -> None:
    playing = Playing(
        scenario("all", says("for everything")),
        scenario("raw", {"match": {"path": "/v1/models"}, "produce": {"raw": {"body": "mine"}}}),
    )
    call = Call("GET", "/v1/models", {}, {"authorization": "Bearer k"}, b"")
    assert (await playing.ask(call))[2] == b"mine"
    # The step is consumed, so the computed answer follows.
    assert json.loads((await playing.ask(call))[2])["object"] == "list"


async def test_ids_follow_from_session_request_and_ordinal() -> None:
    def fresh() -> Playing:
        return Playing(GREETING)

    async def identity(playing: Playing, call: Call) -> tuple[str, str]:
        _, headers, body = await playing.ask(call)
        return json.loads(body)["id"], headers["x-request-id"]

    playing = fresh()
    first, second = await identity(playing, chat()), await identity(playing, chat())
    assert first != second
    assert await identity(fresh(), chat()) == first
    retried = chat(headers={"x-stainless-retry-count": "1"})
    assert await identity(fresh(), retried) == first
    assert await identity(fresh(), chat("other")) != first
    assert await identity(fresh(), chat(headers={"authorization": "Bearer other"})) != first


async def test_the_clock_of_answers_is_frozen_by_option_alone() -> None:
    _, _, body = await Playing(GREETING).ask(chat())
    assert json.loads(body)["created"] == 1_735_689_600
    _, _, body = await Playing(GREETING, clock=None).ask(chat())
    assert json.loads(body)["created"] > 1_735_689_600


async def test_a_session_has_its_own_scenarios_over_the_common_ones() -> None:
    playing = Playing(GREETING)
    await put_scenario(playing.state, "mine", "greeting", scenario("greeting", says("Mine!")))
    _, _, own = await playing.ask(chat(headers={"x-mockllm-session": "mine"}))
    _, _, common = await playing.ask(chat())
    assert b"Mine!" in own and b"Hi!" in common


async def test_beyond_the_stream_cap_the_answer_is_503_until_one_ends() -> None:
    playing = Playing(GREETING, max_streams=1)
    running = await playing.pipeline.answer(chat(stream=True))
    status, headers, body = await playing.ask(chat(stream=True))
    assert status == 503 and headers["retry-after"] == "1"
    assert "streams" in error_of(body)["message"]
    assert (await playing.ask(chat()))[0] == 200
    _ = [piece async for piece in running.pieces()]
    assert (await playing.ask(chat(stream=True)))[0] == 200
    assert playing.pipeline.streams.open == 0
    # The refused request has no number in the session.
    assert (await playing.state.read(key_session(KEY))).ordinal == 3


async def test_an_answer_that_no_door_plays_is_journalled_all_the_same() -> None:
    playing = Playing(GREETING, max_streams=1)
    answer = await playing.pipeline.answer(chat(stream=True))
    del answer
    assert [entry.outcome for entry in playing.journal] == ["client_gone"]
    assert playing.pipeline.streams.open == 0


async def test_a_head_request_gets_no_body() -> None:
    status, headers, body = await Playing(GREETING).ask(replace(chat(), method="HEAD"))
    assert status == 405 and body == b"" and headers["content-length"] != "0"


CALL = {"name": "get_weather", "arguments": {"city": "Oslo"}}


@pytest.mark.parametrize(
    ("produce", "answered"),
    [
        ({"text": "It rains."}, "It rains."),
        ({"reasoning": "Hm.", "tool_calls": [CALL, CALL]}, 'get_weather({"city":"Oslo"}), get_w…'),
        ({"refusal": "No."}, "No."),
        ({"fault": {"kind": "rate_limit", "message": "slow down"}}, "slow down"),
        ({"text": "x" * 2_000}, "x" * 1_000),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_the_journal_is_told_how_question_and_answer_begin(
    produce: dict[str, Any], answered: str, stream: bool
) -> None:
    playing = Playing(scenario("weather", {"consume": False, "produce": produce}))
    # The third answer is prepared.
    for _ in range(3):
        await playing.ask(chat("Rain?", stream=stream))
    for entry in playing.journal:
        assert entry.asked == "Rain?"
        assert entry.answered.startswith(answered.removesuffix("…"))
        assert len(entry.answered) == len(answered) or answered.endswith("…")


async def test_journal_entry_shows_a_tool_result_and_an_unmatched_error() -> None:
    playing = Playing()
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Rain?"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "sunny"},
    ]
    await playing.ask(chat(messages=messages))
    (entry,) = playing.journal
    assert entry.asked == "sunny"
    assert entry.answered.startswith("no_scenario_matched")
