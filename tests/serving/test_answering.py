"""Answers of steps as bytes: faults of every kind, streamed and whole, and scripted headers."""

import json
from threading import Thread
from typing import Any

import pytest

from scenarios_app.serving.playback import ProcessLimit
from scenarios_app.serving.reply import Reply
from scenarios_app.wire.base import Call
from tests.serving.pipelines import Harness, chat, claude, scenario, text_step


async def reply_to(step: dict[str, Any], call: Call) -> Reply:
    answer = await Harness(scenario("s", step)).pipeline.answer(call)
    _ = [piece async for piece in answer.pieces()]
    return answer.reply


def faulty(kind: str, *, text: str | None = "one two three four five six", **keys: Any) -> Any:
    produce: dict[str, Any] = {"fault": {"kind": kind, **keys}}
    if text is not None:
        produce |= {"text": text, "pacing": {"words_per_chunk": 2}}
    return {"consume": False, "produce": produce}


@pytest.mark.parametrize("stream", [False, True])
async def test_an_http_fault_is_its_status_in_the_envelope(stream: bool) -> None:
    step = faulty("http", text=None, status=418, message="tea", code="pot")
    reply = await reply_to(step, chat(stream=stream))
    assert reply.status == 418 and not reply.streaming
    error = json.loads(reply.body)["error"]
    assert (error["message"], error["code"]) == ("tea", "pot")


@pytest.mark.parametrize(
    ("body", "expected_body"),
    [("<html>ü</html>", "<html>ü</html>".encode()), ({"a": ["ü"]}, '{"a":["ü"]}'.encode())],
)
async def test_fault_may_have_its_own_body(body: Any, expected_body: bytes) -> None:
    reply = await reply_to(faulty("http", text=None, status=502, body=body), chat())
    assert (reply.status, reply.body) == (502, expected_body)
    assert dict(reply.headers)["content-length"] == str(len(expected_body))


async def test_scripted_headers_of_a_fault_win_over_the_providers() -> None:
    headers = {"X-Request-Id": "mine"}
    reply = await reply_to(faulty("http", text=None, status=500, headers=headers), chat())
    names = [name for name, _ in reply.headers]
    assert names.count("x-request-id") == 1 and dict(reply.headers)["x-request-id"] == "mine"


@pytest.mark.parametrize(
    ("call", "expected_headers"),
    [
        (chat(), {"retry-after": "2", "retry-after-ms": "1500"}),
        (claude(), {"retry-after": "2"}),
    ],
    ids=["openai", "anthropic"],
)
async def test_rate_limit_has_retry_headers(call: Call, expected_headers: dict[str, str]) -> None:
    reply = await reply_to(faulty("rate_limit", text=None, retry_after_ms=1500), call)
    assert reply.status == 429
    assert expected_headers.items() <= dict(reply.headers).items()


async def test_a_model_error_is_a_500() -> None:
    assert (await reply_to(faulty("model_error", text=None), chat())).status == 500


@pytest.mark.parametrize(("kind", "delay"), [("timeout", 0.02), ("network_error", 0.0)])
async def test_some_faults_close_without_an_answer(kind: str, delay: float) -> None:
    keys = {"hold_ms": 20} if delay else {}
    reply = await reply_to(faulty(kind, text=None, **keys), chat())
    assert (reply.started, reply.cut, reply.delay) == (False, True, delay)


@pytest.mark.parametrize("kind", ["invalid_response", "malformed_chunk"])
async def test_a_malformed_whole_answer_is_no_json(kind: str) -> None:
    text = None if kind == "invalid_response" else "one two"
    reply = await reply_to(faulty(kind, text=text), chat())
    assert reply.status == 200
    with pytest.raises(json.JSONDecodeError):
        json.loads(reply.body)


async def test_disconnect_in_a_stream_cuts_after_the_scripted_chunks() -> None:
    reply = await reply_to(faulty("disconnect", after_chunks=2), chat(stream=True))
    assert reply.cut
    assert b"three" in reply.body and b"five" not in reply.body and b"[DONE]" not in reply.body


async def test_a_disconnect_in_a_whole_answer_sends_half_under_the_full_length() -> None:
    reply = await reply_to(faulty("disconnect"), chat())
    length = int(dict(reply.headers)["content-length"])
    assert reply.cut and len(reply.body) == length // 2


async def test_truncate_ends_half_an_answer_properly() -> None:
    stream_reply = await reply_to(faulty("truncate"), chat(stream=True))
    assert not stream_reply.cut and b"[DONE]" not in stream_reply.body
    whole_reply = await reply_to(faulty("truncate"), chat())
    assert not whole_reply.cut
    assert dict(whole_reply.headers)["content-length"] == str(len(whole_reply.body))


async def test_stall_delays_the_rest_of_an_answer() -> None:
    stream_reply = await reply_to(faulty("stall", hold_ms=20), chat(stream=True))
    assert stream_reply.body.endswith(b"data: [DONE]\n\n")
    assert [frame.at for frame in stream_reply.frames] == [0.0, 0.02]
    whole_reply = await reply_to(faulty("stall", hold_ms=20), chat())
    assert [frame.at for frame in whole_reply.frames] == [0.02]


async def test_an_error_event_ends_a_stream_and_is_a_500_otherwise() -> None:
    step = faulty("error_event", message="overloaded")
    stream_reply = await reply_to(step, claude(stream=True))
    assert stream_reply.status == 200
    assert b"event: error" in stream_reply.body and b"message_stop" not in stream_reply.body
    whole_reply = await reply_to(step, claude())
    assert (
        whole_reply.status == 500
        and json.loads(whole_reply.body)["error"]["message"] == "overloaded"
    )


async def test_failing_attempt_may_cut_the_answer_of_its_step() -> None:
    fault = {"kind": "disconnect", "after_chunks": 1}
    step = text_step("one two three", failures={"times": 1, "fault": fault})
    step["produce"]["pacing"] = {"words_per_chunk": 1}
    harness = Harness(scenario("s", step))
    first = await harness.pipeline.answer(chat(stream=True))
    second = await harness.pipeline.answer(chat(stream=True))
    assert first.reply.cut and b"one" in first.reply.body and b"three" not in first.reply.body
    assert not second.reply.cut and b"three" in second.reply.body


@pytest.mark.parametrize("stream", [False, True])
async def test_raw_answer_is_sent_unchanged(stream: bool) -> None:
    raw = {"status": 202, "headers": {"X-Own": "1", "Content-Type": "text/x"}, "body": "as is"}
    reply = await reply_to({"produce": {"raw": raw}}, chat(stream=stream))
    headers = dict(reply.headers)
    assert (reply.status, reply.body) == (202, b"as is")
    assert (headers["x-own"], headers["content-type"]) == ("1", "text/x")
    assert [name for name, _ in reply.headers].count("content-type") == 1


async def test_side_effects_set_status_and_headers() -> None:
    effects = {
        "status": 203,
        "headers": {"X-Extra": "1", "Content-Type": "application/x-mine"},
        "echo_headers": ["X-Trace", "X-Absent"],
    }
    call = chat(headers={"x-trace": "töst\t1"}, stream=True)
    reply = await reply_to(text_step("Hi!", side_effects=effects), call)
    headers = dict(reply.headers)
    assert reply.status == 203
    assert headers["x-extra"] == "1"
    assert headers["x-trace"] == "t%C3%B6st%091"
    assert "x-absent" not in headers
    assert [v for k, v in reply.headers if k == "content-type"] == ["application/x-mine"]


@pytest.mark.parametrize("stream", [False, True])
async def test_latency_delays_streams_and_whole_answers(stream: bool) -> None:
    step = text_step("Hi!")
    step["produce"]["latency_ms"] = 10
    answer = await Harness(scenario("s", step)).pipeline.answer(chat(stream=stream))
    assert answer.reply.delay == 0.01


async def test_more_text_than_the_limit_is_an_error_and_not_an_answer() -> None:
    harness = Harness(scenario("s", text_step("x" * 50)), max_text_bytes=49)
    status, _, _ = await harness.ask(chat())
    assert status == 400


async def journalled_outcome(
    call: Call, step: dict[str, Any], *, end_method: str, **arguments: Any
) -> str:
    """Return the journal's outcome of an answer that ends in this way after its first piece."""
    harness = Harness(scenario("s", step))
    answer = await harness.pipeline.answer(call)
    answer.immediate_body()
    getattr(answer, end_method)(**arguments)
    # Only the first end counts.
    answer.finish()
    answer.abort()
    (entry,) = harness.journal
    return entry.outcome


@pytest.mark.parametrize(
    ("end_method", "arguments", "expected"),
    [
        ("finish", {}, "complete"),
        ("finish", {"early": False}, "complete"),
        ("finish", {"early": True}, "fault"),
        ("abort", {}, "client_gone"),
    ],
)
async def test_only_the_first_end_of_an_answer_is_journalled(
    end_method: str, arguments: dict[str, Any], expected: str
) -> None:
    assert (
        await journalled_outcome(chat(), text_step("Hi!"), end_method=end_method, **arguments)
        == expected
    )


async def test_cut_without_connection_access_becomes_an_error() -> None:
    answer = await Harness(scenario("s", faulty("disconnect"))).pipeline.answer(chat())
    assert answer.reply.cut
    answer.replace_cut_with_error()
    assert not answer.reply.cut and answer.reply.status == 500
    assert dict(answer.reply.headers)["x-mockllm-fault"] == "unsupported"
    assert json.loads(answer.reply.body)["error"]["message"] == (
        "This step closes the connection, which works under uvicorn and daphne and in process, "
        "but not on this server."
    )
    answer.abort()


async def test_reply_without_a_cut_is_not_replaced() -> None:
    answer = await Harness(scenario("s", text_step("Hi!"))).pipeline.answer(chat())
    before = answer.reply
    answer.replace_cut_with_error()
    assert answer.reply is before
    answer.abort()


def test_open_streams_are_limited() -> None:
    streams = ProcessLimit(3)
    assert [streams.take() for _ in range(4)] == [True, True, True, False]
    streams.free()
    assert (streams.taken, streams.take(), streams.take()) == (2, True, False)


def test_stream_is_freed_by_an_answer_that_is_collected_while_another_is_counted() -> None:
    streams = ProcessLimit(3)

    def free_within_a_count() -> None:
        with streams._lock:
            streams.free()

    thread = Thread(target=free_within_a_count, daemon=True)
    thread.start()
    thread.join(5)
    assert not thread.is_alive()


async def test_whole_answer_has_no_delay_left_after_it_was_played() -> None:
    step = text_step("Hi!")
    step["produce"]["latency_ms"] = 1
    answer = await Harness(scenario("s", step)).pipeline.answer(chat())
    assert answer.reply.delay == 0.001
    body = b"".join([piece async for piece in answer.pieces()])
    assert json.loads(body)["choices"][0]["message"]["content"] == "Hi!"
    assert answer.reply.delay == 0.0


async def test_delayed_answer_at_shutdown_is_a_503_with_retry_after() -> None:
    step = text_step("Hi!")
    step["produce"]["latency_ms"] = 60_000
    harness = Harness(scenario("s", step))
    harness.pipeline.drain_at = lambda: 0.0
    status, headers, body = await harness.ask(chat())
    assert (status, headers["retry-after-ms"]) == (503, "1000")
    assert "shutting down" in json.loads(body)["error"]["message"]


async def test_the_journal_keeps_the_error_with_which_the_server_ends_a_stream() -> None:
    step = text_step("one two three")
    step["produce"]["pacing"] = {"chunk_ms": 1_000, "words_per_chunk": 1}
    harness = Harness(scenario("s", step))
    harness.pipeline.drain_at = lambda: 0.0
    _, _, body = await harness.ask(chat(stream=True))
    (entry,) = harness.journal
    assert b"shutting down" in body
    assert b"".join(entry.response_body) == body and entry.response_bytes == len(body)
