"""Responses in each dialect of OpenAI's API."""

from typing import Any

import pytest
from openai._models import validate_type
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from scenarios_app.engine.canonical import Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.openai.dialects.openrouter import vendor_of
from scenarios_app.wire.openai.dialects.rows import DIALECTS
from tests.wire.openai.dialect_cases import (
    CALL,
    HEX,
    UUID,
    read_request,
    render_body,
    render_message,
    stream_chunks,
    stream_deltas,
    stream_text,
)
from tests.wire.openai.openai_cases import HELLO


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    "parts", [(TextPart("Hi"),), (CALL,), (ReasoningPart("Hm.", "sig"), TextPart("a"), CALL)]
)
def test_official_types_accept_every_dialect(name: str, parts: tuple[AnswerPart, ...]) -> None:
    body = render_body(name, *parts)
    chunks = stream_chunks(name, *parts, stream_options={"include_usage": True})
    if name == "mistral":
        # Mistral's client reads reasoning inside the content, and calls without a type.
        body["choices"][0]["message"] |= {"content": "", "tool_calls": None}
        chunks = [c for c in chunks if isinstance(c["choices"][0]["delta"].get("content", ""), str)]
    if name == "groq":
        # OpenAI's types do not have Groq's tier.
        assert body.pop("service_tier") == "on_demand"
    if name != "vllm":
        validate_type(type_=ChatCompletion, value=body)
    for chunk in chunks:
        if chunk["id"]:
            validate_type(type_=ChatCompletionChunk, value=chunk)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    "parts",
    [
        (TextPart("Hello"),),
        (CALL, ToolCallPart("call_2", "g", "{}")),
        (ReasoningPart("I think."), TextPart("So:"), CALL),
    ],
)
def test_stream_adds_up_to_the_message_of_its_dialect(
    name: str, parts: tuple[AnswerPart, ...]
) -> None:
    text, reasoning, calls = "", "", {}
    for delta in stream_deltas(name, *parts):
        content = delta.get("content") or ""
        for piece in content if isinstance(content, list) else []:
            reasoning += piece["thinking"][0]["text"]
        text += content if isinstance(content, str) else ""
        reasoning += delta.get("reasoning") or delta.get("reasoning_content") or ""
        for call in delta.get("tool_calls") or []:
            joined_call = calls.setdefault(call["index"], {"name": "", "arguments": ""})
            for key, value in call["function"].items():
                joined_call[key] += value
    message = render_message(name, *parts)
    if isinstance(message.get("content"), list):
        assert "".join(p["text"] for p in message["content"] if p["type"] == "text") == text
        assert reasoning == message["content"][0]["thinking"][0]["text"]
    else:
        assert (message.get("content") or "") == text
        assert (message.get("reasoning") or message.get("reasoning_content") or "") == reasoning
    assert [call["function"] for call in message.get("tool_calls") or []] == list(calls.values())


@pytest.mark.parametrize(
    ("name", "expected_id"),
    [
        ("openai", f"chatcmpl-{HEX}"),
        ("openrouter", f"gen-1735689600-{HEX[:20]}"),
        ("vllm", f"chatcmpl-{HEX}"),
        ("deepseek", UUID),
        ("groq", f"chatcmpl-{UUID}"),
        ("mistral", HEX),
        ("xai", UUID),
        ("ollama", f"chatcmpl-{int(HEX[:8], 16) % 1000}"),
    ],
)
def test_ids_follow_the_dialect(name: str, expected_id: str) -> None:
    assert render_body(name, TextPart("Hi"))["id"] == expected_id
    assert stream_chunks(name, TextPart("Hi"))[0]["id"] == expected_id


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openai", {"reasoning": "Hm."}),
        ("azure", {"reasoning": "Hm."}),
        ("vllm", {"reasoning_content": "Hm."}),
        ("deepseek", {"reasoning_content": "Hm."}),
        ("groq", {"reasoning": "Hm."}),
        ("xai", {"reasoning_content": "Hm."}),
        ("ollama", {"reasoning": "Hm."}),
    ],
)
def test_reasoning_is_in_one_field_of_its_dialect(name: str, expected: dict[str, str]) -> None:
    message = render_message(name, ReasoningPart("Hm."), TextPart("Hi"))
    names = ("reasoning", "reasoning_content", "reasoning_details")
    assert {key: message[key] for key in names if message.get(key)} == expected
    matching_deltas = [
        delta
        for delta in stream_deltas(name, ReasoningPart("Hm."))
        if expected.items() <= delta.items()
    ]
    assert len(matching_deltas) == 1


def test_mistral_reasoning_is_a_content_part() -> None:
    message = render_message("mistral", ReasoningPart("Hm."), TextPart("Hi"))
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    assert message["content"] == [thinking, {"type": "text", "text": "Hi"}]
    assert render_message("mistral", ReasoningPart("Hm."), CALL)["content"] == [thinking]
    assert {"content": [thinking]} in stream_deltas("mistral", ReasoningPart("Hm."))


@pytest.mark.parametrize(
    ("model", "part", "expected_details"),
    [
        ("anthropic/c", ReasoningPart("Hm.", "sig"), [("reasoning.text", "signature", "sig")]),
        ("anthropic/c", ReasoningPart("", redacted="x"), [("reasoning.encrypted", "data", "x")]),
        ("google/g", ReasoningPart("", "sig"), [("reasoning.text", "signature", "sig")]),
        ("qwen/q", ReasoningPart("Hm."), [("reasoning.text", "text", "Hm.")]),
        (
            "openai/gpt-5",
            ReasoningPart("Hm.", "sig"),
            [("reasoning.summary", "summary", "Hm."), ("reasoning.encrypted", "data", "sig")],
        ),
        ("x-ai/grok", ReasoningPart("", "sig"), [("reasoning.encrypted", "data", "sig")]),
    ],
)
def test_openrouter_reasoning_details_are_read_back_unchanged(
    model: str, part: ReasoningPart, expected_details: list[tuple[str, str, str]]
) -> None:
    message = render_message("openrouter", part, TextPart("Hi"), model=model)
    details = message["reasoning_details"]
    assert [
        (d["type"], key, d[key]) for d, (_, key, _) in zip(details, expected_details, strict=True)
    ] == expected_details
    assert {detail["format"] for detail in details} == {vendor_of(model).form}
    assert message["reasoning"] == (part.text or None)
    streamed_details = [
        d
        for delta in stream_deltas("openrouter", part, model=model)
        for d in delta.get("reasoning_details", [])
    ]
    assert {d["type"] for d in streamed_details} == {kind for kind, _, _ in expected_details}
    (_, parsed_message) = read_request("openrouter", HELLO, message).messages
    reasoning_parts = [p for p in parsed_message.parts if isinstance(p, ReasoningPart)]
    assert [t.text for t in reasoning_parts if t.text] == [part.text] * bool(part.text)
    signatures = {t.signature or t.redacted for t in reasoning_parts} - {None}
    assert signatures == {part.signature or part.redacted} - {None}


@pytest.mark.parametrize("model", ["anthropic/c", "openai/gpt-5"])
def test_streamed_reasoning_details_of_openrouter_are_numbered(model: str) -> None:
    parts = (ReasoningPart("a", "s"), TextPart("b"), ReasoningPart("c", "t"))
    details = render_message("openrouter", *parts, model=model)["reasoning_details"]
    streamed = [
        detail
        for delta in stream_deltas("openrouter", *parts, model=model)
        for detail in delta.get("reasoning_details", [])
    ]
    assert [detail["index"] for detail in streamed] == [0, 0, 1, 1]
    ids = [detail.get("id") for detail in details if "id" in detail]
    assert [detail["id"] for detail in streamed if "id" in detail] == ids


def test_unscripted_encrypted_reasoning_is_equal_in_a_stream() -> None:
    part, model = ReasoningPart("Hm."), "openai/gpt-5"
    (_, encrypted) = render_message("openrouter", part, model=model)["reasoning_details"]
    streamed = [
        delta.get("reasoning_details") for delta in stream_deltas("openrouter", part, model=model)
    ]
    assert [encrypted] in streamed


def test_unscripted_openai_reasoning_is_encrypted() -> None:
    (_, encrypted) = render_message("openrouter", ReasoningPart("Hm."), model="openai/o3")[
        "reasoning_details"
    ]
    assert encrypted["data"].startswith("gAAAAAB")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openai", {"content": None}),
        ("openrouter", {"content": None}),
        ("deepseek", {"content": ""}),
        ("groq", {}),
        ("mistral", {"content": ""}),
        ("ollama", {"content": ""}),
    ],
)
def test_message_of_calls_has_the_content_of_its_dialect(
    name: str, expected: dict[str, Any]
) -> None:
    message = render_message(name, CALL)
    assert {key: message[key] for key in message.keys() & {"content"}} == expected


@pytest.mark.parametrize("name", DIALECTS)
def test_refusal_is_sent_in_every_dialect(name: str) -> None:
    assert render_message(name, RefusalPart("No."))["refusal"] == "No."
    assert "".join(d.get("refusal") or "" for d in stream_deltas(name, RefusalPart("No."))) == "No."


@pytest.mark.parametrize("name", DIALECTS)
def test_usage_adds_up(name: str) -> None:
    usage = DIALECTS[name].usage(Usage(9, 7, reasoning_tokens=5, cached_tokens=3))
    completion_tokens = usage["completion_tokens"]
    assert isinstance(completion_tokens, int)
    reasoning_tokens = 5 if name == "xai" else 0
    assert (
        usage["prompt_tokens"],
        completion_tokens + reasoning_tokens,
        usage["total_tokens"],
    ) == (9, 7, 16)


def test_usage_has_the_fields_of_its_dialect() -> None:
    usage = Usage(10, 4, cached_tokens=3)
    openrouter: Any = DIALECTS["openrouter"].usage(usage)
    assert openrouter["cost"] == openrouter["cost_details"]["upstream_inference_cost"] > 0
    deepseek = DIALECTS["deepseek"].usage(usage)
    assert (deepseek["prompt_cache_hit_tokens"], deepseek["prompt_cache_miss_tokens"]) == (3, 7)
    assert "completion_tokens_details" not in deepseek
    groq: Any = DIALECTS["groq"].usage(Usage(10, 4, reasoning_tokens=2))
    assert groq["total_time"] == pytest.approx(groq["prompt_time"] + groq["completion_time"])
    assert groq["completion_tokens_details"] == {"reasoning_tokens": 2}


@pytest.mark.parametrize("include_usage", [False, True])
@pytest.mark.parametrize("name", DIALECTS)
def test_usage_is_streamed_in_the_chunks_of_its_dialect(name: str, include_usage: bool) -> None:
    options = {"stream_options": {"include_usage": include_usage}}
    chunks = stream_chunks(name, TextPart("Hi"), **options)
    usage_chunks = [chunk for chunk in chunks if chunk.get("usage")]
    match DIALECTS[name].usage_chunk:
        case "always":
            assert [chunk["choices"] for chunk in usage_chunks] == [[]]
        case "asked":
            assert [chunk["choices"] for chunk in usage_chunks] == [[]] * include_usage
        case "never":
            (last,) = usage_chunks
            assert last["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("name", [n for n, d in DIALECTS.items() if d.whole_calls])
def test_dialects_with_whole_calls_stream_each_call_in_one_chunk(name: str) -> None:
    calls = [d["tool_calls"] for d in stream_deltas(name, CALL, CALL) if d.get("tool_calls")]
    assert [len(call) for call in calls] == [1, 1]
    assert [call["index"] for (call,) in calls] == [0, 1]
    assert {call["function"]["arguments"] for (call,) in calls} == {'{"a":1}'}
    assert ("type" in calls[0][0]) is (name != "mistral")


def test_legacy_call_is_streamed_in_dialects_with_whole_calls() -> None:
    deltas = stream_deltas("groq", CALL, functions=[{"name": "f"}])
    assert not any("tool_calls" in delta for delta in deltas)
    arguments = "".join(d["function_call"]["arguments"] for d in deltas if "function_call" in d)
    assert arguments == '{"a":1}'


def test_openrouter_sends_a_comment_and_names_the_provider() -> None:
    assert stream_text("openrouter", TextPart("Hi")).startswith(": OPENROUTER PROCESSING\n\ndata: ")
    body = render_body("openrouter", TextPart("Hi"), model="anthropic/claude")
    assert body["provider"] == "Anthropic"
    assert body["choices"][0]["native_finish_reason"] == "end_turn"
    chunks = stream_chunks("openrouter", TextPart("Hi"), model="google/gemini")
    assert {chunk["provider"] for chunk in chunks} == {"Google"}
    finish_reasons = [c["choices"][0]["native_finish_reason"] for c in chunks if c["choices"]]
    assert (finish_reasons[0], finish_reasons[-1]) == (None, "STOP")


def test_azure_sends_content_filter_results() -> None:
    first, *rest = stream_chunks("azure", TextPart("Hi"))
    assert (first["choices"], len(first["prompt_filter_results"])) == ([], 1)
    assert all("content_filter_results" in chunk["choices"][0] for chunk in rest)
    body = render_body("azure", TextPart("Hi"))
    assert body["prompt_filter_results"] == first["prompt_filter_results"]
    assert body["choices"][0]["content_filter_results"]["hate"] == {
        "filtered": False,
        "severity": "safe",
    }


def test_groq_sends_its_request_id_in_the_first_and_last_chunk() -> None:
    first, *_, last = stream_chunks("groq", TextPart("Hi"), model="openai/gpt-oss-20b")
    assert first["x_groq"]["id"] == last["x_groq"]["id"]
    assert last["x_groq"]["usage"] == last["usage"]
    deltas = stream_deltas("groq", ReasoningPart("Hm."), model="openai/gpt-oss-20b")
    assert {"reasoning": "Hm.", "channel": "analysis"} in deltas


def test_vllm_sends_empty_fields() -> None:
    body = render_body("vllm", TextPart("Hi"))
    assert body["prompt_logprobs"] is None and body["choices"][0]["stop_reason"] is None
    assert body["choices"][0]["message"]["tool_calls"] == []
