"""Recorded answers through the pipeline: byte for byte, at their pace, cut where they were cut, and
in parts once they are edited."""

import json
from typing import Any

import pytest

from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.document import to_document
from scenarios_app.wire.base import Call
from tests.serving.pipelines import KEY, Playing

CHAT = "https://api.openai.com/v1/chat/completions"
EVENTS = (
    b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"}}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}\n\n',
    b"data: [DONE]\n\n",
)
HEADERS = {"authorization": f"Bearer {KEY}"}
EXEC = {"type": "custom", "name": "exec"}


def asked(body: Any = None, *, url: str = CHAT, method: str = "POST") -> RecordedRequest:
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
    return RecordedRequest(method, url, (), data)


def answered(body: Any, status: int = 200, **headers: str) -> RecordedResponse:
    data = body if isinstance(body, bytes) else json.dumps(body, indent=1).encode()
    kind = {"content-type": "application/json; charset=utf-8", **headers}
    return RecordedResponse(status, tuple(kind.items()), ((12.0, data),))


def streamed(*, cut: bool = False) -> RecordedResponse:
    chunks = tuple((10.0 * n, event) for n, event in enumerate(EVENTS))
    kind = (("content-type", "text/event-stream; charset=utf-8"),)
    return RecordedResponse(200, kind, chunks[: 1 if cut else None], cut=cut)


def completion(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def said(*texts: str, **keys: Any) -> dict[str, Any]:
    return {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": text} for text in texts],
        **keys,
    }


def cassette(*pairs: tuple[RecordedRequest, RecordedResponse]) -> dict[str, Any]:
    return to_document("cassette", [Interaction(*pair) for pair in pairs]).document


def call(body: Any, path: str = "/v1/chat/completions", **headers: str) -> Call:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Call("POST", path, {}, {**HEADERS, **headers}, data)


async def test_an_answer_is_sent_as_it_was_recorded() -> None:
    recorded = answered(completion("Hello"), **{"x-request-id": "req_recorded"})
    here = Playing(cassette((asked(said("hi")), recorded)))
    status, headers, body = await here.ask(call(said("hi", user="somebody")))
    assert (status, body) == (200, recorded.body)
    assert headers["content-type"] == "application/json; charset=utf-8"
    assert headers["x-request-id"] == "req_recorded"
    assert headers["content-length"] == str(len(body))
    (entry,) = here.journal
    assert (entry.scenario, entry.step, entry.answered) == ("cassette", "1", "Hello")


async def test_the_same_request_gets_its_answers_in_order_and_then_none() -> None:
    one, two = answered(completion("one")), answered(completion("two"))
    here = Playing(cassette((asked(said("hi")), one), (asked(said("hi")), two)))
    bodies = [(await here.ask(call(said("hi"))))[::2] for _ in range(3)]
    assert bodies[:2] == [(200, one.body), (200, two.body)]
    assert bodies[2][0] == 404 and b"not yet served in this session" in bodies[2][1]


async def test_tool_results_tell_the_same_question_apart() -> None:
    def turn(result: str) -> dict[str, Any]:
        call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        body = said("weather?")
        body["messages"] += [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": result},
        ]
        return body

    sun, rain = answered(completion("Sunny.")), answered(completion("Rainy."))
    here = Playing(cassette((asked(turn("sun")), sun), (asked(turn("rain")), rain)))
    assert (await here.ask(call(turn("rain"))))[2] == rain.body
    assert (await here.ask(call(turn("sun"))))[2] == sun.body
    status, _, body = await here.ask(call(turn("snow")))
    told = json.loads(body)["error"]["message"]
    assert status == 404
    assert 'match.recorded.messages[2].content: expected "sun", got "snow"' in told


async def test_edited_recording_of_a_custom_call_gives_the_recorded_call() -> None:
    url, path = "https://api.openai.com/v1/responses", "/v1/responses"
    tools = [{"type": "namespace", "name": "functions", "tools": [EXEC]}]
    body = {"model": "gpt-4o", "input": "Files?", "tools": tools}
    item = {
        "type": "custom_tool_call",
        "id": "ctc_1",
        "status": "completed",
        "call_id": "call_1",
        "name": "exec",
        "namespace": "functions",
        "input": "ls {{ folder }}",
    }
    recorded = {"id": "resp_1", "object": "response", "status": "completed", "output": [item]}
    document = cassette((asked(body, url=url), answered(recorded)))
    step = document["steps"][0] | {"consume": False}
    scripted = step["produce"]
    assert "call_1" in json.dumps({**scripted, "recorded": None})
    playing = Playing({**document, "steps": [step]})
    assert json.loads((await playing.ask(call(body, path)))[2]) == recorded
    edited = {**step, "produce": {k: v for k, v in scripted.items() if k != "recorded"}}
    answer = json.loads((await Playing({**document, "steps": [edited]}).ask(call(body, path)))[2])
    (sent,) = answer["output"]
    assert {**sent, "id": item["id"]} == item


async def test_a_stream_is_sent_piece_by_piece_at_once_or_at_its_pace() -> None:
    document = cassette((asked(said("hi", stream=True)), streamed()))
    document["steps"][0]["consume"] = False
    here = Playing(document)
    at_once = await here.pipeline.answer(call(said("hi", stream=True)))
    assert [frame.data for frame in at_once.reply.frames] == list(EVENTS)
    assert at_once.reply.streaming and at_once.reply.seconds == 0
    paced = await here.pipeline.answer(
        call(said("hi", stream=True), **{"x-mockllm-pace": "recorded"})
    )
    assert [frame.at for frame in paced.reply.frames] == [0.0, 0.01, 0.02]
    document["steps"][0]["produce"]["recorded"]["pace"] = True
    by_step = await Playing(document).pipeline.answer(call(said("hi", stream=True)))
    assert by_step.reply.seconds == 0.02
    asked_not_to = await Playing(document).pipeline.answer(
        call(said("hi", stream=True), **{"x-mockllm-pace": "none"})
    )
    assert asked_not_to.reply.seconds == 0


async def test_a_whole_answer_is_paced_too() -> None:
    document = cassette((asked(said("hi")), answered(completion("Hello"))))
    paced = await Playing(document).pipeline.answer(
        call(said("hi"), **{"x-mockllm-pace": "recorded"})
    )
    assert paced.reply.seconds == 0.012


@pytest.mark.parametrize("stream", [True, False])
async def test_recorded_cut_is_replayed_as_a_cut(stream: bool) -> None:
    body = said("hi", stream=stream)
    whole = answered(b'{"choices": [')
    response = streamed(cut=True) if stream else RecordedResponse(200, (), whole.chunks, cut=True)
    here = Playing(cassette((asked(body), response)))
    answer = await here.pipeline.answer(call(body))
    assert answer.reply.cut
    assert answer.reply.body == response.body
    length = dict(answer.reply.headers).get("content-length")
    assert length == (None if stream else str(len(response.body) + 1))


async def test_once_its_parts_are_edited_a_step_answers_from_them() -> None:
    document = cassette((asked(said("hi", stream=True)), streamed()))
    step = document["steps"][0]
    assert step["produce"]["text"] == "Hello"
    step["produce"]["text"] = "Good day"
    _, headers, body = await Playing(document).ask(call(said("hi", stream=True)))
    assert b"Good day" in body.replace(b'"}', b"") or b"Good" in body
    assert body != b"".join(EVENTS) and headers["content-type"].startswith("text/event-stream")


async def test_recording_without_its_match_answers_other_requests_in_parts() -> None:
    document = cassette((asked(said("hi", stream=True)), streamed()))
    del document["steps"][0]["match"]["recorded"]
    _, _, body = await Playing(document).ask(call(said("anything")))
    assert json.loads(body)["choices"][0]["message"]["content"] == "Hello"


async def test_an_error_is_an_answer_like_any_other() -> None:
    error = answered({"error": {"message": "No."}}, 429, **{"retry-after": "7"})
    here = Playing(cassette((asked(said("hi", stream=True)), error)))
    status, headers, body = await here.ask(call(said("hi", stream=True)))
    assert (status, body, headers["retry-after"]) == (429, error.body, "7")


async def test_failures_come_before_a_recording() -> None:
    document = cassette((asked(said("hi")), answered(completion("Hello"))))
    document["steps"][0]["failures"] = {"times": 1, "fault": {"kind": "rate_limit"}}
    here = Playing(document)
    assert (await here.ask(call(said("hi"))))[0] == 429
    assert (await here.ask(call(said("hi"))))[2] == answered(completion("Hello")).body


async def test_latency_is_no_edit() -> None:
    document = cassette((asked(said("hi")), answered(completion("Hello"))))
    document["steps"][0]["produce"]["latency_ms"] = 40
    answer = await Playing(document).pipeline.answer(call(said("hi")))
    assert answer.reply.delay == 0.04
    assert answer.reply.body == answered(completion("Hello")).body


async def test_request_that_the_wire_refuses_is_replayed() -> None:
    odd = {"model": 7, "messages": "none"}
    recorded = answered({"error": {"message": "Invalid type"}}, 400)
    here = Playing(cassette((asked(odd), recorded)))
    status, _, body = await here.ask(call(odd))
    assert (status, body) == (400, recorded.body)
    # Then the step is consumed, and the wire refuses the request itself.
    status, _, body = await here.ask(call(odd))
    assert status == 400 and body != recorded.body


async def test_paths_that_have_no_endpoint_replay() -> None:
    url = "https://api.openai.com/v1/files"
    form = b"--%s\r\nContent-Disposition: form-data\r\n\r\na,b\r\n--%s--\r\n"
    made = answered({"id": "file-1"})
    content = RecordedResponse(200, (("content-type", "image/png"),), ((0.0, b"\x89PNG\xff"),))
    here = Playing(
        cassette(
            (asked(form % (b"one", b"one"), url=url), made),
            (asked(url=f"{url}/file-1/content", method="GET"), content),
        )
    )
    status, _, body = await here.ask(call(form % (b"two", b"two"), "/v1/files"))
    assert (status, body) == (200, made.body)
    get = Call("GET", "/v1/files/file-1/content", {}, HEADERS, b"")
    assert (await here.ask(get))[2] == content.body
    assert (await here.ask(get))[0] == 404


async def test_a_key_is_wanted_for_what_was_recorded_too() -> None:
    url = "https://api.openai.com/v1/files"
    here = Playing(cassette((asked(b"x", url=url), answered({"id": "file-1"}))))
    nobody = Call("POST", "/v1/files", {}, {}, b"x")
    assert (await here.ask(nobody))[0] == 401
    named = {**HEADERS, "x-mockllm-session": "s" * 500}
    assert (await here.ask(Call("POST", "/v1/files", {}, named, b"x")))[0] == 400
    assert (await here.ask(call(b"x", "/v1/files")))[0] == 200


async def test_computed_endpoint_is_answered_by_the_named_recording() -> None:
    url = "https://api.openai.com/v1/embeddings"
    body = {"model": "text-embedding-3-small", "input": "hi"}
    one, two = answered({"data": [1]}), answered({"data": [2]})
    first = to_document("a", [Interaction(asked(body, url=url), one)]).document
    second = to_document("b", [Interaction(asked(body, url=url), two)]).document
    here = Playing(first, second)
    named = {"x-mockllm-scenario": "b"}
    assert (await here.ask(call(body, "/v1/embeddings", **named)))[2] == two.body
    assert (await here.ask(call(body, "/v1/embeddings", **named)))[2] != two.body
    assert (await here.ask(call(body, "/v1/embeddings")))[2] == one.body


async def test_recording_of_a_path_without_an_endpoint_is_replayed() -> None:
    url = "https://api.openai.com/v1/vector_stores"
    one, two = answered({"id": "vs_1"}), answered({"id": "vs_2"})
    here = Playing(
        cassette((asked({"name": "a"}, url=url), one), (asked({"name": "b"}, url=url), two))
    )
    explanation = await here.explain(call({"name": "a"}, "/v1/vector_stores"))
    assert explanation.reply.body == one.body
    assert (await here.ask(call({"name": "a"}, "/v1/vector_stores")))[::2] == (200, one.body)
    assert (await here.ask(call({"name": "b"}, "/v1/vector_stores")))[::2] == (200, two.body)
    assert (await here.ask(call({"name": "b"}, "/v1/vector_stores")))[0] == 404


RESPONSES = "https://api.openai.com/v1/responses"
OUTPUT = [
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
    }
]
RESPONSE = {"id": "resp_recorded", "object": "response", "status": "completed", "output": OUTPUT}


@pytest.mark.parametrize("stream", [True, False])
async def test_a_recorded_answer_can_be_named_by_later_requests(stream: bool) -> None:
    event = {"type": "response.completed", "response": RESPONSE}
    body = b"event: response.completed\ndata: %s\n\n" % json.dumps(event).encode()
    kind = "text/event-stream" if stream else "application/json"
    recorded = answered(body if stream else RESPONSE, **{"content-type": kind})
    first = {"model": "gpt-4o", "input": "hi", "stream": stream}
    follow = {
        "match": {"messages": [{"role": "assistant", "contains": "Hello"}]},
        "produce": {"text": "As I said."},
    }
    document = cassette((asked(first, url=RESPONSES), recorded))
    here = Playing(document, {"name": "follow", "steps": [follow]})
    assert (await here.ask(call(first, "/v1/responses")))[2] == recorded.body
    again = {"model": "gpt-4o", "input": "what?", "previous_response_id": "resp_recorded"}
    status, _, said = await here.ask(call(again, "/v1/responses"))
    assert status == 200 and b"As I said." in said


async def test_a_request_that_names_an_answer_of_elsewhere_replays() -> None:
    again = {"model": "gpt-4o", "input": "what?", "previous_response_id": "resp_of_long_ago"}
    recorded = answered({**RESPONSE, "id": "resp_2"})
    here = Playing(cassette((asked(again, url=RESPONSES), recorded)))
    assert (await here.ask(call(again, "/v1/responses")))[2] == recorded.body


@pytest.mark.parametrize("body", [b"data: {broken", b"{broken", b'data: "x"\n\n', b"[]"])
async def test_a_recorded_answer_that_nobody_can_name_is_not_kept(body: bytes) -> None:
    first = {"model": "gpt-4o", "input": "hi"}
    recorded = answered(body)
    here = Playing(cassette((asked(first, url=RESPONSES), recorded)))
    assert (await here.ask(call(first, "/v1/responses")))[2] == body


async def test_a_dialect_is_asked_at_its_own_path_or_at_the_plain_one() -> None:
    url = "https://api.groq.com/openai/v1/chat/completions"
    document = cassette((asked(said("hi"), url=url), answered(completion("Groq"))))
    document["steps"][0]["consume"] = False
    here = Playing(document)
    for path in ("/groq/openai/v1/chat/completions", "/v1/chat/completions"):
        assert (await here.ask(call(said("hi"), path)))[2] == answered(completion("Groq")).body
