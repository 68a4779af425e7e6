"""Recorded responses of Anthropic, Gemini and Ollama are decoded to parts, streamed or not."""

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
    completion,
    convert,
    convert_parts,
    events,
)

BLOCKS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "ZGF0YQ"},
    {"type": "text", "text": "Hi", "citations": [{}]},
    {"type": "server_tool_use", "name": "web_search"},
    {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
]


def test_anthropic_message_is_decoded_to_parts() -> None:
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
    expected = {
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
    assert convert_parts(MESSAGES, body, **headers) == expected
    (note,) = convert(MESSAGES, body, **headers).notes
    assert note.endswith("without citations, server_tool_use")


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("end_turn", {}),
        ("stop_sequence", {"finish_reason": "stop_sequence", "stop_sequence": "END"}),
        ("max_tokens", {"finish_reason": "length"}),
        ("refusal", {"finish_reason": "content_filter"}),
        ("pause_turn", {}),
    ],
)
def test_anthropic_stop_reason_is_decoded(reason: str, expected: dict[str, str]) -> None:
    body = {"content": [], "stop_reason": reason, "stop_sequence": "END"}
    assert convert_parts(MESSAGES, body) == {"text": "", **expected}


def test_anthropic_stream_is_decoded_to_parts() -> None:
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
    assert convert_parts(MESSAGES, body) == {
        "reasoning": [{"text": "Hm.", "signature": "c2ln"}],
        "text": "Hi",
        "tool_calls": [{"id": "toolu_1", "name": "f", "arguments": {"a": 1}}],
        "usage": {"input_tokens": 5, "output_tokens": 7},
    }


def test_gemini_response_is_decoded_to_parts() -> None:
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
    assert convert_parts(url, body) == {
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
    (note,) = convert(url, body).notes
    assert note.endswith("without inlineData, thoughtSignature")


@pytest.mark.parametrize("as_list", [True, False])
def test_gemini_stream_is_decoded_to_parts(as_list: bool) -> None:
    def chunk(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
        return {"candidates": [{"content": {"parts": list(parts)}, **fields}]}

    chunks = [
        chunk({"text": "H", "thought": True}),
        chunk({"text": "m.", "thought": True}),
        chunk({"text": "Hel"}),
        chunk({"text": "lo"}, finishReason="MAX_TOKENS"),
    ]
    body = json.dumps(chunks).encode() if as_list else events(*chunks)
    assert convert_parts(f"{GEMINI}:streamGenerateContent", body) == {
        "reasoning": [{"text": "Hm."}],
        "text": "Hello",
        "finish_reason": "length",
    }


@pytest.mark.parametrize(
    ("reason", "finish"), [("SAFETY", "content_filter"), ("MALFORMED_FUNCTION_CALL", None)]
)
def test_gemini_finish_reason_is_decoded(reason: str, finish: str | None) -> None:
    body = {"candidates": [{"finishReason": reason, "groundingMetadata": {"x": 1}}]}
    parts = convert_parts(f"{GEMINI}:generateContent", body)
    assert parts.get("finish_reason") == finish


def test_ollama_response_is_decoded_to_parts() -> None:
    call = {"function": {"name": "f", "arguments": {"a": 1}}}
    lines = (
        b'{"message": {"role": "assistant", "thinking": "Hm.", "content": ""}, "done": false}\n'
        b'{"message": {"role": "assistant", "content": "Hi"}, "done": false}\n'
        b'{"message": {"content": "", "tool_calls": [%s]}, "done": true, "done_reason": "stop",'
        b' "prompt_eval_count": 3, "eval_count": 2}\n'
    ) % json.dumps(call).encode()
    assert convert_parts(OLLAMA, lines) == {
        "reasoning": [{"text": "Hm."}],
        "text": "Hi",
        "tool_calls": [{"name": "f", "arguments": {"a": 1}}],
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    generated = {"response": "Hi", "done": True, "done_reason": "length"}
    url = "http://localhost:11434/api/generate"
    assert convert_parts(url, generated, request_body={"model": "m", "prompt": "hi"}) == {
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
def test_undecodable_response_becomes_an_unedited_recording(url: str, body: bytes) -> None:
    document = convert(url, body).document
    (scenario,) = load_documents(document)
    assert scenario.steps[0].produce.is_unedited_recording


def test_braces_of_a_recorded_text_are_escaped() -> None:
    document = convert(CHAT, completion(content="Say {{ name }}!")).document
    assert document["variables"] == {"braces": "{{"}
    assert document["steps"][0]["produce"]["text"] == "Say {{ braces }} name }}!"
    load_documents(document)
