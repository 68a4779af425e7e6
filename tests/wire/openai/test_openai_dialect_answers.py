"""What each dialect of OpenAI's API says in its own way."""

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
    chunks,
    deltas,
    message,
    read,
    sent,
    whole,
)
from tests.wire.openai.openai_cases import HELLO


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    "parts", [(TextPart("Hi"),), (CALL,), (ReasoningPart("Hm.", "sig"), TextPart("a"), CALL)]
)
def test_the_official_client_reads_every_dialect(name: str, parts: tuple[AnswerPart, ...]) -> None:
    body = whole(name, *parts)
    found = chunks(name, *parts, stream_options={"include_usage": True})
    if name == "mistral":
        # Its own client reads thoughts inside the content, and calls without a type.
        body["choices"][0]["message"] |= {"content": "", "tool_calls": None}
        found = [c for c in found if isinstance(c["choices"][0]["delta"].get("content", ""), str)]
    if name == "groq":
        # Its tier is none of OpenAI's.
        assert body.pop("service_tier") == "on_demand"
    if name != "vllm":
        validate_type(type_=ChatCompletion, value=body)
    for chunk in found:
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
def test_a_stream_says_what_the_whole_answer_says(name: str, parts: tuple[AnswerPart, ...]) -> None:
    text, thought, calls = "", "", {}
    for delta in deltas(name, *parts):
        content = delta.get("content") or ""
        for piece in content if isinstance(content, list) else []:
            thought += piece["thinking"][0]["text"]
        text += content if isinstance(content, str) else ""
        thought += delta.get("reasoning") or delta.get("reasoning_content") or ""
        for call in delta.get("tool_calls") or []:
            slot = calls.setdefault(call["index"], {"name": "", "arguments": ""})
            for key, value in call["function"].items():
                slot[key] += value
    said = message(name, *parts)
    if isinstance(said.get("content"), list):
        assert "".join(p["text"] for p in said["content"] if p["type"] == "text") == text
        assert thought == said["content"][0]["thinking"][0]["text"]
    else:
        assert (said.get("content") or "") == text
        assert (said.get("reasoning") or said.get("reasoning_content") or "") == thought
    assert [call["function"] for call in said.get("tool_calls") or []] == list(calls.values())


@pytest.mark.parametrize(
    ("name", "made"),
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
def test_ids_are_the_dialects_own(name: str, made: str) -> None:
    assert whole(name, TextPart("Hi"))["id"] == made
    assert chunks(name, TextPart("Hi"))[0]["id"] == made


@pytest.mark.parametrize(
    ("name", "told"),
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
def test_thinking_stands_in_one_field(name: str, told: dict[str, str]) -> None:
    said = message(name, ReasoningPart("Hm."), TextPart("Hi"))
    names = ("reasoning", "reasoning_content", "reasoning_details")
    assert {key: said[key] for key in names if said.get(key)} == told
    flown = [delta for delta in deltas(name, ReasoningPart("Hm.")) if told.items() <= delta.items()]
    assert len(flown) == 1


def test_thinking_of_mistrals_is_a_part_of_the_content() -> None:
    said = message("mistral", ReasoningPart("Hm."), TextPart("Hi"))
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    assert said["content"] == [thinking, {"type": "text", "text": "Hi"}]
    assert message("mistral", ReasoningPart("Hm."), CALL)["content"] == [thinking]
    assert {"content": [thinking]} in deltas("mistral", ReasoningPart("Hm."))


@pytest.mark.parametrize(
    ("model", "part", "kinds"),
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
def test_thinking_of_openrouters_has_details_that_come_back_unharmed(
    model: str, part: ReasoningPart, kinds: list[tuple[str, str, str]]
) -> None:
    said = message("openrouter", part, TextPart("Hi"), model=model)
    found = said["reasoning_details"]
    assert [(d["type"], key, d[key]) for d, (_, key, _) in zip(found, kinds, strict=True)] == kinds
    assert {detail["format"] for detail in found} == {vendor_of(model).form}
    assert said["reasoning"] == (part.text or None)
    flown = [
        d
        for delta in deltas("openrouter", part, model=model)
        for d in delta.get("reasoning_details", [])
    ]
    assert {d["type"] for d in flown} == {kind for kind, _, _ in kinds}
    (_, back) = read("openrouter", HELLO, said).messages
    thoughts = [p for p in back.parts if isinstance(p, ReasoningPart)]
    assert [t.text for t in thoughts if t.text] == [part.text] * bool(part.text)
    sealed = {t.signature or t.redacted for t in thoughts} - {None}
    assert sealed == {part.signature or part.redacted} - {None}


@pytest.mark.parametrize("model", ["anthropic/c", "openai/gpt-5"])
def test_streamed_reasoning_blocks_of_openrouter_have_their_numbers(model: str) -> None:
    parts = (ReasoningPart("a", "s"), TextPart("b"), ReasoningPart("c", "t"))
    sent_whole = message("openrouter", *parts, model=model)["reasoning_details"]
    streamed = [
        detail
        for delta in deltas("openrouter", *parts, model=model)
        for detail in delta.get("reasoning_details", [])
    ]
    assert [detail["index"] for detail in streamed] == [0, 0, 1, 1]
    ids = [detail.get("id") for detail in sent_whole if "id" in detail]
    assert [detail["id"] for detail in streamed if "id" in detail] == ids


def test_unscripted_encrypted_reasoning_is_equal_in_a_stream() -> None:
    part, model = ReasoningPart("Hm."), "openai/gpt-5"
    (_, encrypted) = message("openrouter", part, model=model)["reasoning_details"]
    streamed = [delta.get("reasoning_details") for delta in deltas("openrouter", part, model=model)]
    assert [encrypted] in streamed


def test_unscripted_openai_reasoning_is_encrypted() -> None:
    (_, sealed) = message("openrouter", ReasoningPart("Hm."), model="openai/o3")[
        "reasoning_details"
    ]
    assert sealed["data"].startswith("gAAAAAB")


@pytest.mark.parametrize(
    ("name", "silent"),
    [
        ("openai", {"content": None}),
        ("openrouter", {"content": None}),
        ("deepseek", {"content": ""}),
        ("groq", {}),
        ("mistral", {"content": ""}),
        ("ollama", {"content": ""}),
    ],
)
def test_a_message_of_calls_has_the_content_of_its_dialect(
    name: str, silent: dict[str, Any]
) -> None:
    said = message(name, CALL)
    assert {key: said[key] for key in said.keys() & {"content"}} == silent


@pytest.mark.parametrize("name", DIALECTS)
def test_a_refusal_is_told_in_every_dialect(name: str) -> None:
    assert message(name, RefusalPart("No."))["refusal"] == "No."
    assert "".join(d.get("refusal") or "" for d in deltas(name, RefusalPart("No."))) == "No."


@pytest.mark.parametrize("name", DIALECTS)
def test_usage_adds_up(name: str) -> None:
    made = DIALECTS[name].usage(Usage(9, 7, reasoning_tokens=5, cached_tokens=3))
    out = made["completion_tokens"]
    assert isinstance(out, int)
    beside = 5 if name == "xai" else 0
    assert (made["prompt_tokens"], out + beside, made["total_tokens"]) == (9, 7, 16)


def test_usage_has_what_only_its_dialect_counts() -> None:
    usage = Usage(10, 4, cached_tokens=3)
    router: Any = DIALECTS["openrouter"].usage(usage)
    assert router["cost"] == router["cost_details"]["upstream_inference_cost"] > 0
    seek = DIALECTS["deepseek"].usage(usage)
    assert (seek["prompt_cache_hit_tokens"], seek["prompt_cache_miss_tokens"]) == (3, 7)
    assert "completion_tokens_details" not in seek
    groq: Any = DIALECTS["groq"].usage(Usage(10, 4, reasoning_tokens=2))
    assert groq["total_time"] == pytest.approx(groq["prompt_time"] + groq["completion_time"])
    assert groq["completion_tokens_details"] == {"reasoning_tokens": 2}


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("name", DIALECTS)
def test_a_stream_tells_usage_where_its_dialect_does(name: str, asked: bool) -> None:
    options = {"stream_options": {"include_usage": asked}}
    found = chunks(name, TextPart("Hi"), **options)
    told = [chunk for chunk in found if chunk.get("usage")]
    match DIALECTS[name].usage_chunk:
        case "always":
            assert [chunk["choices"] for chunk in told] == [[]]
        case "asked":
            assert [chunk["choices"] for chunk in told] == [[]] * asked
        case "never":
            (last,) = told
            assert last["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("name", [n for n, d in DIALECTS.items() if d.whole_calls])
def test_calls_come_in_one_piece_where_their_provider_sends_them_so(name: str) -> None:
    calls = [d["tool_calls"] for d in deltas(name, CALL, CALL) if d.get("tool_calls")]
    assert [len(call) for call in calls] == [1, 1]
    assert [call["index"] for (call,) in calls] == [0, 1]
    assert {call["function"]["arguments"] for (call,) in calls} == {'{"a":1}'}
    assert ("type" in calls[0][0]) is (name != "mistral")


def test_a_legacy_call_keeps_its_form_in_dialects_of_whole_calls() -> None:
    found = deltas("groq", CALL, functions=[{"name": "f"}])
    assert not any("tool_calls" in delta for delta in found)
    flown = "".join(d["function_call"]["arguments"] for d in found if "function_call" in d)
    assert flown == '{"a":1}'


def test_openrouter_keeps_the_line_open_and_says_who_answered() -> None:
    assert sent("openrouter", TextPart("Hi")).startswith(": OPENROUTER PROCESSING\n\ndata: ")
    body = whole("openrouter", TextPart("Hi"), model="anthropic/claude")
    assert body["provider"] == "Anthropic"
    assert body["choices"][0]["native_finish_reason"] == "end_turn"
    found = chunks("openrouter", TextPart("Hi"), model="google/gemini")
    assert {chunk["provider"] for chunk in found} == {"Google"}
    ended = [c["choices"][0]["native_finish_reason"] for c in found if c["choices"]]
    assert (ended[0], ended[-1]) == (None, "STOP")


def test_azure_tells_what_it_filtered() -> None:
    first, *rest = chunks("azure", TextPart("Hi"))
    assert (first["choices"], len(first["prompt_filter_results"])) == ([], 1)
    assert all("content_filter_results" in chunk["choices"][0] for chunk in rest)
    body = whole("azure", TextPart("Hi"))
    assert body["prompt_filter_results"] == first["prompt_filter_results"]
    assert body["choices"][0]["content_filter_results"]["hate"] == {
        "filtered": False,
        "severity": "safe",
    }


def test_groq_names_its_request_at_the_beginning_and_the_end() -> None:
    first, *_, last = chunks("groq", TextPart("Hi"), model="openai/gpt-oss-20b")
    assert first["x_groq"]["id"] == last["x_groq"]["id"]
    assert last["x_groq"]["usage"] == last["usage"]
    flown = deltas("groq", ReasoningPart("Hm."), model="openai/gpt-oss-20b")
    assert {"reasoning": "Hm.", "channel": "analysis"} in flown


def test_vllm_leaves_nothing_out() -> None:
    body = whole("vllm", TextPart("Hi"))
    assert body["prompt_logprobs"] is None and body["choices"][0]["stop_reason"] is None
    assert body["choices"][0]["message"]["tool_calls"] == []
