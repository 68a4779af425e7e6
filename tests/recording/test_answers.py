"""Recorded answers read back into parts, whole and streamed, of every provider."""

import json
from typing import Any

import pytest

from scenarios_app.engine.document import load_documents
from tests.recording.interactions import (
    CHAT,
    GEMINI,
    MESSAGES,
    OLLAMA,
    RESPONSES,
    SAID,
    events,
    made,
    parts_of,
)

CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
STREAM = {**SAID, "stream": True}


def completion(reason: str = "stop", **message: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, **message}
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}


def test_a_chat_completion_in_parts() -> None:
    body = completion("length", reasoning_content="Hm.", content="Hi", refusal="No.")
    body["usage"] = {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "total_tokens": 9,
        "completion_tokens_details": {"reasoning_tokens": 1},
        "prompt_tokens_details": {"cached_tokens": 2},
    }
    assert parts_of(CHAT, body) == {
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


def test_calls_end_an_answer_as_calls_do() -> None:
    said = parts_of(CHAT, completion("tool_calls", tool_calls=[CALL]))
    assert said == {"tool_calls": [{"id": "call_1", "name": "f", "arguments": {"a": 1}}]}


def test_broken_arguments_stay_as_they_came() -> None:
    broken = {**CALL, "function": {"name": "f", "arguments": '{"a": '}}
    (call,) = parts_of(CHAT, completion(tool_calls=[broken]))["tool_calls"]
    assert call["arguments"] == '{"a": '


def test_several_choices_stay_several() -> None:
    body = completion(content="a")
    body["choices"] += completion(content="b")["choices"]
    assert parts_of(CHAT, body) == {"choices": [{"text": "a"}, {"text": "b"}]}


def test_an_empty_answer_says_nothing() -> None:
    assert parts_of(CHAT, completion()) == {"text": ""}


def test_what_parts_cannot_say_is_told() -> None:
    body = completion(content="x", annotations=[{"type": "url_citation"}], audio={"id": "a"})
    body["choices"][0]["logprobs"] = {"content": []}
    (note,) = made(CHAT, body).notes
    assert note == "once edited, an answer is without annotations, audio, logprobs"


def test_content_of_parts_is_read_too() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    content = [thinking, {"type": "text", "text": "Hi"}, {"type": "reference"}]
    assert parts_of(CHAT, completion(content=content)) == {
        "reasoning": [{"text": "Hm."}],
        "text": "Hi",
    }


def delta(reason: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def test_a_chat_stream_in_parts() -> None:
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
    assert (
        parts_of(CHAT, body + b"data: [DONE]\n\n", body_=None)
        if False
        else parts_of(CHAT, body + b"data: [DONE]\n\n")
        == {
            "reasoning": [{"text": "Hm."}],
            "text": "Hi you",
            "tool_calls": [
                {"id": "call_1", "name": "f", "arguments": {"a": 1}},
                {"id": "call_2", "name": "g"},
            ],
            "usage": {"input_tokens": 1, "output_tokens": 2},
        }
    )


def test_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    body = events(
        delta(tool_calls=[CALL, {**CALL, "id": "call_2"}]),
        {"choices": [], "x_groq": {"usage": {"prompt_tokens": 4}}},
    )
    said = parts_of(CHAT, body)
    assert [call["id"] for call in said["tool_calls"]] == ["call_1", "call_2"]
    assert said["usage"] == {"input_tokens": 4}


def test_completions_of_old_in_parts() -> None:
    url = "https://api.openai.com/v1/completions"
    asked = {"model": "m", "prompt": "hi"}
    whole = {"choices": [{"index": 0, "text": "Hi", "finish_reason": "length"}]}
    said = {"text": "Hi", "finish_reason": "length"}
    assert parts_of(url, whole, asked=asked) == said
    streamed = events({"choices": [{"text": "H"}]}, whole | {"choices": [{"text": "i"}]})
    assert parts_of(url, streamed, asked=asked) == {"text": "Hi"}


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
SAID_THERE = {
    "parts": [
        {"reasoning": "Hm."},
        {"text": "Hi"},
        {"refusal": "No."},
        {"tool_call": {"id": "call_1", "name": "f"}},
    ],
    "usage": {"input_tokens": 5, "output_tokens": 4},
}


def test_a_response_in_parts_in_its_order() -> None:
    assert parts_of(RESPONSES, ANSWER) == SAID_THERE
    (note,) = made(RESPONSES, ANSWER).notes
    assert note.endswith("without encrypted_content, logprobs, web_search_call")
    ended = events({"type": "response.created"}, {"type": "response.completed", "response": ANSWER})
    assert parts_of(RESPONSES, ended) == SAID_THERE


def test_a_response_that_ended_early_says_why() -> None:
    for reason, finish in (("max_output_tokens", "length"), ("content_filter", "content_filter")):
        cut = {"status": "incomplete", "incomplete_details": {"reason": reason}, "output": []}
        assert parts_of(RESPONSES, cut) == {"text": "", "finish_reason": finish}


def test_a_stream_of_a_response_that_was_cut_says_what_it_had_said() -> None:
    pieces = [{"type": "response.output_text.delta", "delta": text} for text in ("Hel", "lo")]
    done = {"type": "response.output_item.done", "item": OUTPUT[0]}
    assert parts_of(RESPONSES, events(done, *pieces)) == {
        "reasoning": [{"text": "Hm."}],
        "text": "Hello",
    }


def test_a_response_that_failed_stays_raw() -> None:
    failed = {"status": "failed", "output": [], "error": {"code": "server_error"}}
    assert parts_of(RESPONSES, failed) == {"raw": {"body": failed}}


BLOCKS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "ZGF0YQ"},
    {"type": "text", "text": "Hi", "citations": [{}]},
    {"type": "server_tool_use", "name": "web_search"},
    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
]


def test_a_message_of_anthropics_in_parts() -> None:
    body = {
        "content": BLOCKS,
        "stop_reason": "tool_use",
        "usage": {
            "input_tokens": 1,
            "output_tokens": 2,
            "cache_read_input_tokens": 3,
            "cache_creation_input_tokens": 4,
        },
    }
    wanted = {
        "reasoning": [{"text": "Hm.", "signature": "c2ln"}, {"redacted": "ZGF0YQ"}],
        "text": "Hi",
        "tool_calls": [{"id": "toolu_1", "name": "f", "arguments": {"a": 1}}],
        "usage": {
            "input_tokens": 1,
            "output_tokens": 2,
            "cache_read_tokens": 3,
            "cache_write_tokens": 4,
        },
    }
    headers = {"anthropic-version": "2023-06-01"}
    assert parts_of(MESSAGES, body, **headers) == wanted
    (note,) = made(MESSAGES, body, **headers).notes
    assert note.endswith("without citations, server_tool_use")


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("end_turn", {}),
        ("stop_sequence", {"finish_reason": "stop_sequence", "stop_sequence": "END"}),
        ("max_tokens", {"finish_reason": "length"}),
        ("refusal", {"finish_reason": "content_filter"}),
        ("pause_turn", {}),
    ],
)
def test_why_anthropic_stopped(reason: str, said: dict[str, str]) -> None:
    body = {"content": [], "stop_reason": reason, "stop_sequence": "END"}
    assert parts_of(MESSAGES, body) == {"text": "", **said}


def test_a_stream_of_anthropics_in_parts() -> None:
    def start(index: int, **block: Any) -> dict[str, Any]:
        return {"type": "content_block_start", "index": index, "content_block": block}

    def more(index: int, **delta: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": delta}

    body = events(
        {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}},
        start(0, type="thinking", thinking="", signature=""),
        more(0, thinking="Hm."),
        more(0, signature="c2ln"),
        start(1, type="text", text=""),
        more(1, text="Hi"),
        more(1, citation={"url": "x"}),
        start(2, type="tool_use", id="toolu_1", name="f", input={}),
        more(2, partial_json='{"a"'),
        more(2, partial_json=": 1}"),
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 7},
        },
        {"type": "message_stop"},
    )
    assert parts_of(MESSAGES, body) == {
        "reasoning": [{"text": "Hm.", "signature": "c2ln"}],
        "text": "Hi",
        "tool_calls": [{"id": "toolu_1", "name": "f", "arguments": {"a": 1}}],
        "usage": {"input_tokens": 5, "output_tokens": 7},
    }


def test_an_answer_of_geminis_in_parts() -> None:
    parts = [
        {"text": "Hm.", "thought": True},
        {"text": "Hi", "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "f", "args": {"a": 1}}},
        {"inlineData": {}},
    ]
    body = {
        "candidates": [{"content": {"parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": 1,
            "candidatesTokenCount": 2,
            "thoughtsTokenCount": 3,
            "cachedContentTokenCount": 1,
        },
    }
    url = f"{GEMINI}:generateContent"
    assert parts_of(url, body) == {
        "reasoning": [{"text": "Hm."}],
        "text": "Hi",
        "tool_calls": [{"name": "f", "arguments": {"a": 1}}],
        "usage": {
            "input_tokens": 1,
            "output_tokens": 5,
            "reasoning_tokens": 3,
            "cached_tokens": 1,
        },
    }
    (note,) = made(url, body).notes
    assert note.endswith("without inlineData, thoughtSignature")


@pytest.mark.parametrize("as_list", [True, False])
def test_a_stream_of_geminis_in_parts(as_list: bool) -> None:
    def chunk(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"candidates": [{"content": {"parts": list(parts)}, **more}]}

    chunks = [
        chunk({"text": "H", "thought": True}),
        chunk({"text": "m.", "thought": True}),
        chunk({"text": "Hel"}),
        chunk({"text": "lo"}, finishReason="MAX_TOKENS"),
    ]
    body = json.dumps(chunks).encode() if as_list else events(*chunks)
    assert parts_of(f"{GEMINI}:streamGenerateContent", body) == {
        "reasoning": [{"text": "Hm."}],
        "text": "Hello",
        "finish_reason": "length",
    }


@pytest.mark.parametrize(
    ("reason", "finish"), [("SAFETY", "content_filter"), ("MALFORMED_FUNCTION_CALL", None)]
)
def test_why_gemini_stopped(reason: str, finish: str | None) -> None:
    body = {"candidates": [{"finishReason": reason, "groundingMetadata": {"x": 1}}]}
    said = parts_of(f"{GEMINI}:generateContent", body)
    assert said.get("finish_reason") == finish


def test_an_answer_of_ollamas_in_parts() -> None:
    call = {"function": {"name": "f", "arguments": {"a": 1}}}
    lines = (
        b'{"message": {"role": "assistant", "thinking": "Hm.", "content": ""}, "done": false}\n'
        b'{"message": {"role": "assistant", "content": "Hi"}, "done": false}\n'
        b'{"message": {"content": "", "tool_calls": [%s]}, "done": true, "done_reason": "stop",'
        b' "prompt_eval_count": 3, "eval_count": 2}\n'
    ) % json.dumps(call).encode()
    assert parts_of(OLLAMA, lines) == {
        "reasoning": [{"text": "Hm."}],
        "text": "Hi",
        "tool_calls": [{"name": "f", "arguments": {"a": 1}}],
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    generated = {"response": "Hi", "done": True, "done_reason": "length"}
    url = "http://localhost:11434/api/generate"
    assert parts_of(url, generated, asked={"model": "m", "prompt": "hi"}) == {
        "text": "Hi",
        "finish_reason": "length",
    }


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nothing",
        b"{}",
        b"[]",
        b'{"choices": 7}',
        b'{"choices": [{"message": 7}]}',
        b"data: 7",
    ],
)
@pytest.mark.parametrize("url", [CHAT, RESPONSES, MESSAGES, f"{GEMINI}:generateContent", OLLAMA])
def test_an_answer_that_nobody_understands_still_makes_a_step(url: str, body: bytes) -> None:
    document = made(url, body).document
    (loaded,) = load_documents(document)
    assert loaded.steps[0].produce.as_recorded


def test_a_text_that_looks_like_a_template_says_what_it_said() -> None:
    document = made(CHAT, completion(content="Say {{ name }}!")).document
    assert document["variables"] == {"braces": "{{"}
    assert document["steps"][0]["produce"]["text"] == "Say {{ braces }} name }}!"
    load_documents(document)
