"""Replay of recorded answers: byte for byte, at their pace, with their cuts, and from parts after
an edit."""

import json
from typing import Any

import pytest

from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.document import to_document
from scenarios_app.wire.base import Call
from tests.serving.pipelines import KEY, Harness
from tests.serving.reading import parse_openai_stream

CHAT = "https://api.openai.com/v1/chat/completions"
EVENTS = (
    b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"}}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}]}\n\n',
    b"data: [DONE]\n\n",
)
HEADERS = {"authorization": f"Bearer {KEY}"}
EXEC = {"type": "custom", "name": "exec"}


def recorded_request(body: Any = None, *, url: str = CHAT, method: str = "POST") -> RecordedRequest:
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
    return RecordedRequest(method, url, (), data)


def recorded_response(body: Any, status: int = 200, **headers: str) -> RecordedResponse:
    data = body if isinstance(body, bytes) else json.dumps(body, indent=1).encode()
    kind = {"content-type": "application/json; charset=utf-8", **headers}
    return RecordedResponse(status, tuple(kind.items()), ((12.0, data),))


def recorded_stream(*, cut: bool = False) -> RecordedResponse:
    chunks = tuple((10.0 * n, event) for n, event in enumerate(EVENTS))
    kind = (("content-type", "text/event-stream; charset=utf-8"),)
    return RecordedResponse(200, kind, chunks[: 1 if cut else None], cut=cut)


def completion(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def chat_body(*texts: str, **keys: Any) -> dict[str, Any]:
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
    recorded = recorded_response(completion("Hello"), **{"x-request-id": "req_recorded"})
    harness = Harness(cassette((recorded_request(chat_body("hi")), recorded)))
    status, headers, body = await harness.ask(call(chat_body("hi", user="somebody")))
    assert (status, body) == (200, recorded.body)
    assert headers["content-type"] == "application/json; charset=utf-8"
    assert headers["x-request-id"] == "req_recorded"
    assert headers["content-length"] == str(len(body))
    (entry,) = harness.journal
    assert (entry.scenario, entry.step, entry.response_preview) == ("cassette", "1", "Hello")


async def test_the_same_request_gets_its_answers_in_order_and_then_none() -> None:
    first, second = recorded_response(completion("one")), recorded_response(completion("two"))
    harness = Harness(
        cassette(
            (recorded_request(chat_body("hi")), first), (recorded_request(chat_body("hi")), second)
        )
    )
    bodies = [(await harness.ask(call(chat_body("hi"))))[::2] for _ in range(3)]
    assert bodies[:2] == [(200, first.body), (200, second.body)]
    assert bodies[2][0] == 404 and b"not yet served in this session" in bodies[2][1]


async def test_tool_results_distinguish_equal_questions() -> None:
    def turn(result: str) -> dict[str, Any]:
        call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        body = chat_body("weather?")
        body["messages"] += [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": result},
        ]
        return body

    sun, rain = recorded_response(completion("Sunny.")), recorded_response(completion("Rainy."))
    harness = Harness(
        cassette((recorded_request(turn("sun")), sun), (recorded_request(turn("rain")), rain))
    )
    assert (await harness.ask(call(turn("rain"))))[2] == rain.body
    assert (await harness.ask(call(turn("sun"))))[2] == sun.body
    status, _, body = await harness.ask(call(turn("snow")))
    message = json.loads(body)["error"]["message"]
    assert status == 404
    assert 'match.recorded.messages[2].content: expected "sun", got "snow"' in message


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
    document = cassette((recorded_request(body, url=url), recorded_response(recorded)))
    step = document["steps"][0] | {"consume": False}
    scripted = step["produce"]
    assert "call_1" in json.dumps({**scripted, "recorded": None})
    harness = Harness({**document, "steps": [step]})
    assert json.loads((await harness.ask(call(body, path)))[2]) == recorded
    edited = {**step, "produce": {k: v for k, v in scripted.items() if k != "recorded"}}
    answer = json.loads((await Harness({**document, "steps": [edited]}).ask(call(body, path)))[2])
    (output_item,) = answer["output"]
    assert {**output_item, "id": item["id"]} == item


async def test_recorded_stream_is_sent_immediately_or_at_its_pace() -> None:
    document = cassette((recorded_request(chat_body("hi", stream=True)), recorded_stream()))
    document["steps"][0]["consume"] = False
    harness = Harness(document)
    unpaced = await harness.pipeline.answer(call(chat_body("hi", stream=True)))
    assert [frame.data for frame in unpaced.reply.frames] == list(EVENTS)
    assert unpaced.reply.streaming and unpaced.reply.seconds == 0
    paced = await harness.pipeline.answer(
        call(chat_body("hi", stream=True), **{"x-mockllm-pace": "recorded"})
    )
    assert [frame.at for frame in paced.reply.frames] == [0.0, 0.01, 0.02]
    document["steps"][0]["produce"]["recorded"]["pace"] = True
    by_step = await Harness(document).pipeline.answer(call(chat_body("hi", stream=True)))
    assert by_step.reply.seconds == 0.02
    paced_off = await Harness(document).pipeline.answer(
        call(chat_body("hi", stream=True), **{"x-mockllm-pace": "none"})
    )
    assert paced_off.reply.seconds == 0


async def test_a_whole_answer_is_paced_too() -> None:
    document = cassette((recorded_request(chat_body("hi")), recorded_response(completion("Hello"))))
    paced = await Harness(document).pipeline.answer(
        call(chat_body("hi"), **{"x-mockllm-pace": "recorded"})
    )
    assert paced.reply.seconds == 0.012


@pytest.mark.parametrize("stream", [True, False])
async def test_recorded_cut_is_replayed_as_a_cut(stream: bool) -> None:
    body = chat_body("hi", stream=stream)
    whole_response = recorded_response(b'{"choices": [')
    response = (
        recorded_stream(cut=True)
        if stream
        else RecordedResponse(200, (), whole_response.chunks, cut=True)
    )
    harness = Harness(cassette((recorded_request(body), response)))
    answer = await harness.pipeline.answer(call(body))
    assert answer.reply.cut
    assert answer.reply.body == response.body
    length = dict(answer.reply.headers).get("content-length")
    assert length == (None if stream else str(len(response.body) + 1))


async def test_step_with_edited_parts_answers_from_them() -> None:
    document = cassette((recorded_request(chat_body("hi", stream=True)), recorded_stream()))
    step = document["steps"][0]
    assert step["produce"]["text"] == "Hello"
    step["produce"]["text"] = "Good day"
    _, headers, body = await Harness(document).ask(call(chat_body("hi", stream=True)))
    (choice,) = parse_openai_stream(body)
    assert choice.text == "Good day"
    assert body != b"".join(EVENTS) and headers["content-type"].startswith("text/event-stream")


async def test_recording_without_its_match_answers_other_requests_in_parts() -> None:
    document = cassette((recorded_request(chat_body("hi", stream=True)), recorded_stream()))
    del document["steps"][0]["match"]["recorded"]
    _, _, body = await Harness(document).ask(call(chat_body("anything")))
    assert json.loads(body)["choices"][0]["message"]["content"] == "Hello"


async def test_an_error_is_an_answer_like_any_other() -> None:
    error = recorded_response({"error": {"message": "No."}}, 429, **{"retry-after": "7"})
    harness = Harness(cassette((recorded_request(chat_body("hi", stream=True)), error)))
    status, headers, body = await harness.ask(call(chat_body("hi", stream=True)))
    assert (status, body, headers["retry-after"]) == (429, error.body, "7")


async def test_failures_come_before_a_recording() -> None:
    document = cassette((recorded_request(chat_body("hi")), recorded_response(completion("Hello"))))
    document["steps"][0]["failures"] = {"times": 1, "fault": {"kind": "rate_limit"}}
    harness = Harness(document)
    assert (await harness.ask(call(chat_body("hi"))))[0] == 429
    assert (await harness.ask(call(chat_body("hi"))))[2] == recorded_response(
        completion("Hello")
    ).body


async def test_latency_is_no_edit() -> None:
    document = cassette((recorded_request(chat_body("hi")), recorded_response(completion("Hello"))))
    document["steps"][0]["produce"]["latency_ms"] = 40
    answer = await Harness(document).pipeline.answer(call(chat_body("hi")))
    assert answer.reply.delay == 0.04
    assert answer.reply.body == recorded_response(completion("Hello")).body


async def test_request_that_the_wire_refuses_is_replayed() -> None:
    invalid_body = {"model": 7, "messages": "none"}
    recorded = recorded_response({"error": {"message": "Invalid type"}}, 400)
    harness = Harness(cassette((recorded_request(invalid_body), recorded)))
    status, _, body = await harness.ask(call(invalid_body))
    assert (status, body) == (400, recorded.body)
    # Then the step is consumed, and the wire refuses the request itself.
    status, _, body = await harness.ask(call(invalid_body))
    assert status == 400 and body != recorded.body


async def test_paths_that_have_no_endpoint_replay() -> None:
    url = "https://api.openai.com/v1/files"
    form = b"--%s\r\nContent-Disposition: form-data\r\n\r\na,b\r\n--%s--\r\n"
    created = recorded_response({"id": "file-1"})
    content = RecordedResponse(200, (("content-type", "image/png"),), ((0.0, b"\x89PNG\xff"),))
    harness = Harness(
        cassette(
            (recorded_request(form % (b"one", b"one"), url=url), created),
            (recorded_request(url=f"{url}/file-1/content", method="GET"), content),
        )
    )
    status, _, body = await harness.ask(call(form % (b"two", b"two"), "/v1/files"))
    assert (status, body) == (200, created.body)
    content_call = Call("GET", "/v1/files/file-1/content", {}, HEADERS, b"")
    assert (await harness.ask(content_call))[2] == content.body
    assert (await harness.ask(content_call))[0] == 404


async def test_recorded_path_requires_a_key() -> None:
    url = "https://api.openai.com/v1/files"
    harness = Harness(
        cassette((recorded_request(b"x", url=url), recorded_response({"id": "file-1"})))
    )
    keyless = Call("POST", "/v1/files", {}, {}, b"x")
    assert (await harness.ask(keyless))[0] == 401
    long_session = {**HEADERS, "x-mockllm-session": "s" * 500}
    assert (await harness.ask(Call("POST", "/v1/files", {}, long_session, b"x")))[0] == 400
    assert (await harness.ask(call(b"x", "/v1/files")))[0] == 200


async def test_computed_endpoint_is_answered_by_the_named_recording() -> None:
    url = "https://api.openai.com/v1/embeddings"
    body = {"model": "text-embedding-3-small", "input": "hi"}
    first_response, second_response = (
        recorded_response({"data": [1]}),
        recorded_response({"data": [2]}),
    )
    first_document = to_document(
        "a", [Interaction(recorded_request(body, url=url), first_response)]
    ).document
    second_document = to_document(
        "b", [Interaction(recorded_request(body, url=url), second_response)]
    ).document
    harness = Harness(first_document, second_document)
    scenario_header = {"x-mockllm-scenario": "b"}
    assert (await harness.ask(call(body, "/v1/embeddings", **scenario_header)))[
        2
    ] == second_response.body
    assert (await harness.ask(call(body, "/v1/embeddings", **scenario_header)))[
        2
    ] != second_response.body
    assert (await harness.ask(call(body, "/v1/embeddings")))[2] == first_response.body


async def test_recording_of_a_path_without_an_endpoint_is_replayed() -> None:
    url = "https://api.openai.com/v1/vector_stores"
    first, second = recorded_response({"id": "vs_1"}), recorded_response({"id": "vs_2"})
    harness = Harness(
        cassette(
            (recorded_request({"name": "a"}, url=url), first),
            (recorded_request({"name": "b"}, url=url), second),
        )
    )
    explanation = await harness.explain(call({"name": "a"}, "/v1/vector_stores"))
    assert explanation.reply.body == first.body
    assert (await harness.ask(call({"name": "a"}, "/v1/vector_stores")))[::2] == (200, first.body)
    assert (await harness.ask(call({"name": "b"}, "/v1/vector_stores")))[::2] == (200, second.body)
    assert (await harness.ask(call({"name": "b"}, "/v1/vector_stores")))[0] == 404


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
async def test_recorded_answer_can_be_continued(stream: bool) -> None:
    event = {"type": "response.completed", "response": RESPONSE}
    body = b"event: response.completed\ndata: %s\n\n" % json.dumps(event).encode()
    content_type = "text/event-stream" if stream else "application/json"
    recorded = recorded_response(body if stream else RESPONSE, **{"content-type": content_type})
    first = {"model": "gpt-4o", "input": "hi", "stream": stream}
    follow = {
        "match": {"messages": [{"role": "assistant", "contains": "Hello"}]},
        "produce": {"text": "As I said."},
    }
    document = cassette((recorded_request(first, url=RESPONSES), recorded))
    harness = Harness(document, {"name": "follow", "steps": [follow]})
    assert (await harness.ask(call(first, "/v1/responses")))[2] == recorded.body
    next_body = {"model": "gpt-4o", "input": "what?", "previous_response_id": "resp_recorded"}
    status, _, answer = await harness.ask(call(next_body, "/v1/responses"))
    assert status == 200 and b"As I said." in answer


async def test_request_with_an_unknown_previous_response_is_replayed() -> None:
    body = {"model": "gpt-4o", "input": "what?", "previous_response_id": "resp_of_long_ago"}
    recorded = recorded_response({**RESPONSE, "id": "resp_2"})
    harness = Harness(cassette((recorded_request(body, url=RESPONSES), recorded)))
    assert (await harness.ask(call(body, "/v1/responses")))[2] == recorded.body


@pytest.mark.parametrize("body", [b"data: {broken", b"{broken", b'data: "x"\n\n', b"[]"])
async def test_recorded_answer_without_an_id_is_replayed(body: bytes) -> None:
    first = {"model": "gpt-4o", "input": "hi"}
    recorded = recorded_response(body)
    harness = Harness(cassette((recorded_request(first, url=RESPONSES), recorded)))
    assert (await harness.ask(call(first, "/v1/responses")))[2] == body


async def test_recording_of_a_dialect_answers_its_own_path_and_the_plain_one() -> None:
    url = "https://api.groq.com/openai/v1/chat/completions"
    document = cassette(
        (recorded_request(chat_body("hi"), url=url), recorded_response(completion("Groq")))
    )
    document["steps"][0]["consume"] = False
    harness = Harness(document)
    for path in ("/groq/openai/v1/chat/completions", "/v1/chat/completions"):
        assert (await harness.ask(call(chat_body("hi"), path)))[2] == recorded_response(
            completion("Groq")
        ).body
