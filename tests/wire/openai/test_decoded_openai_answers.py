"""Recorded responses of OpenAI's three endpoints are decoded to parts, streamed or not."""

from typing import Any

from tests.recording.interactions import (
    CHAT,
    RESPONSES,
    completion,
    convert,
    convert_parts,
    events,
)

CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


def test_chat_completion_is_decoded_to_parts() -> None:
    body = completion("length", reasoning_content="Hm.", content="Hi", refusal="No.")
    body["usage"] = {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "total_tokens": 9,
        "completion_tokens_details": {"reasoning_tokens": 1},
        "prompt_tokens_details": {"cached_tokens": 2},
    }
    assert convert_parts(CHAT, body) == {
        "reasoning": [{"text": "Hm."}],
        "text": "Hi",
        "refusal": "No.",
        "finish_reason": "length",
        "usage": {
            "input_tokens": 3,
            "output_tokens": 2,
            "reasoning_tokens": 1,
            "cached_tokens": 2,
            "total_tokens": 9,
        },
    }


def test_finish_reason_of_calls_is_left_out() -> None:
    parts = convert_parts(CHAT, completion("tool_calls", tool_calls=[CALL]))
    assert parts == {"tool_calls": [{"id": "call_1", "name": "f", "arguments": {"a": 1}}]}


def test_truncated_arguments_are_kept_as_text() -> None:
    truncated_call = {**CALL, "function": {"name": "f", "arguments": '{"a": '}}
    (call,) = convert_parts(CHAT, completion(tool_calls=[truncated_call]))["tool_calls"]
    assert call["arguments"] == '{"a": '


def test_several_choices_are_decoded_to_choices() -> None:
    body = completion(content="a")
    body["choices"] += completion(content="b")["choices"]
    assert convert_parts(CHAT, body) == {"choices": [{"text": "a"}, {"text": "b"}]}


def test_empty_response_is_an_empty_text() -> None:
    assert convert_parts(CHAT, completion()) == {"text": ""}


def test_note_lists_the_lost_fields() -> None:
    body = completion(content="x", annotations=[{"type": "url_citation"}], audio={"id": "a"})
    body["choices"][0]["logprobs"] = {"content": []}
    (note,) = convert(CHAT, body).notes
    assert note == "once edited, an answer is without annotations, audio, logprobs"


def test_content_parts_are_decoded() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    content = [thinking, {"type": "text", "text": "Hi"}, {"type": "reference"}]
    assert convert_parts(CHAT, completion(content=content)) == {
        "reasoning": [{"text": "Hm."}],
        "text": "Hi",
    }


def delta(reason: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def test_chat_stream_is_decoded_to_parts() -> None:
    def piece(index: int, **function: Any) -> dict[str, Any]:
        return {"index": index, "function": function}

    first = {**piece(0, name="f", arguments=""), "id": "call_1"}
    second = {**piece(1, name="g", arguments="{}"), "id": "call_2"}
    body = events(
        delta(role="assistant", content="", reasoning="H"),
        delta(reasoning="m."),
        delta(content="Hi "),
        delta(content="you"),
        delta(tool_calls=[first]),
        delta(tool_calls=[piece(0, arguments='{"a"')]),
        delta(tool_calls=[piece(0, arguments=": 1}")]),
        delta(tool_calls=[second]),
        delta("tool_calls"),
        {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
    )
    assert convert_parts(CHAT, body + b"data: [DONE]\n\n") == {
        "reasoning": [{"text": "Hm."}],
        "text": "Hi you",
        "tool_calls": [
            {"id": "call_1", "name": "f", "arguments": {"a": 1}},
            {"id": "call_2", "name": "g"},
        ],
        "usage": {"input_tokens": 1, "output_tokens": 2},
    }


def test_texts_and_parts_of_a_streamed_content_are_joined() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    mistral = [delta(content=""), delta(content=[thinking]), delta(content="Hi "), delta("stop")]
    parts = convert_parts(CHAT, events(*mistral[:3], delta(content="you"), mistral[3]))
    assert parts == {"reasoning": [{"text": "Hm."}], "text": "Hi you"}
    text = {"type": "text", "text": "you"}
    parts = convert_parts(CHAT, events(delta(content="Hi "), delta(content=[text]), mistral[3]))
    assert parts == {"text": "Hi you"}


def test_calls_without_an_index_are_distinguished_by_id() -> None:
    body = events(
        delta(tool_calls=[CALL, {**CALL, "id": "call_2"}]),
        {"choices": [], "x_groq": {"usage": {"prompt_tokens": 4}}},
    )
    parts = convert_parts(CHAT, body)
    assert [call["id"] for call in parts["tool_calls"]] == ["call_1", "call_2"]
    assert parts["usage"] == {"input_tokens": 4}


def test_null_fields_in_the_first_chunk_of_a_call_are_skipped() -> None:
    pieces = [
        {"index": 0, "id": "call_1", "function": {"name": None, "arguments": None}},
        {"index": 0, "function": {"name": "f", "arguments": '{"a": '}},
        {"index": 0, "function": {"name": None, "arguments": "1}"}},
    ]
    stream = events(*[delta(tool_calls=[piece]) for piece in pieces], delta("tool_calls"))
    parts = convert_parts(CHAT, stream)
    assert parts == {"tool_calls": [{"id": "call_1", "name": "f", "arguments": {"a": 1}}]}


def test_legacy_completion_is_decoded_to_parts() -> None:
    url = "https://api.openai.com/v1/completions"
    request_body = {"model": "m", "prompt": "hi"}
    response_body = {"choices": [{"index": 0, "text": "Hi", "finish_reason": "length"}]}
    expected = {"text": "Hi", "finish_reason": "length"}
    assert convert_parts(url, response_body, request_body=request_body) == expected
    streamed = events({"choices": [{"text": "H"}]}, response_body | {"choices": [{"text": "i"}]})
    assert convert_parts(url, streamed, request_body=request_body) == {"text": "Hi"}


OUTPUT: list[dict[str, Any]] = [
    {"type": "reasoning", "summary": [{"text": "Hm."}], "encrypted_content": "gAAA"},
    {"type": "web_search_call"},
    {
        "type": "message",
        "content": [
            {"type": "output_text", "text": "Hi", "logprobs": [1]},
            {"type": "refusal", "refusal": "No."},
        ],
    },
    {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "call_1"},
]
ANSWER = {
    "status": "completed",
    "output": OUTPUT,
    "usage": {"input_tokens": 5, "output_tokens": 4, "output_tokens_details": {}},
}
DECODED_ANSWER = {
    "parts": [
        {"reasoning": "Hm."},
        {"text": "Hi"},
        {"refusal": "No."},
        {"tool_call": {"id": "call_1", "name": "f"}},
    ],
    "usage": {"input_tokens": 5, "output_tokens": 4},
}


def test_response_is_decoded_to_parts_in_order() -> None:
    assert convert_parts(RESPONSES, ANSWER) == DECODED_ANSWER
    (note,) = convert(RESPONSES, ANSWER).notes
    assert note.endswith("without encrypted_content, logprobs, web_search_call")
    stream_bytes = events(
        {"type": "response.created"}, {"type": "response.completed", "response": ANSWER}
    )
    assert convert_parts(RESPONSES, stream_bytes) == DECODED_ANSWER


def test_incomplete_response_has_a_finish_reason() -> None:
    for reason, finish in (("max_output_tokens", "length"), ("content_filter", "content_filter")):
        body = {"status": "incomplete", "incomplete_details": {"reason": reason}, "output": []}
        assert convert_parts(RESPONSES, body) == {"text": "", "finish_reason": finish}


def test_truncated_response_stream_keeps_its_text() -> None:
    pieces = [{"type": "response.output_text.delta", "delta": text} for text in ("Hel", "lo")]
    done = {"type": "response.output_item.done", "item": OUTPUT[0]}
    assert convert_parts(RESPONSES, events(done, *pieces)) == {
        "reasoning": [{"text": "Hm."}],
        "text": "Hello",
    }


def test_failed_response_is_kept_raw() -> None:
    failed = {"status": "failed", "output": [], "error": {"code": "server_error"}}
    assert convert_parts(RESPONSES, failed) == {"raw": {"body": failed}}
