"""OpenAI chat streams, event by event."""

from typing import Any

import pytest

from scenarios_app.engine.parts import (
    AnswerPart,
    Finish,
    PartDelta,
    PartEnd,
    PartStart,
    ReasoningPart,
    RefusalPart,
    StreamEvent,
    TextPart,
    ToolCallPart,
)
from tests.wire.openai.openai_cases import CHAT, answer, parse, parse_chunks, stream
from tests.wire.openai.test_openai_answer import USAGE

CALL = ToolCallPart("call_1", "f", '{"a":1}')
HEAD = {
    "id": "chatcmpl-f00d",
    "object": "chat.completion.chunk",
    "created": 1735689600,
    "model": "gpt-4o",
    "service_tier": "default",
    "system_fingerprint": "fp_a2a69af70d",
}


def stream_deltas(*parts: AnswerPart, size: int = 3, **fields: Any) -> list[dict[str, Any]]:
    """Return the deltas of a stream of one choice, without the last, empty one."""
    *chunks, last = parse_chunks(stream(parse(**fields), answer(parts), [size]))
    assert last["choices"][0]["delta"] == {}
    return [chunk["choices"][0]["delta"] for chunk in chunks]


def test_text_stream_has_exact_bytes() -> None:
    head = (
        '"id":"chatcmpl-f00d","object":"chat.completion.chunk","created":1735689600,'
        '"model":"gpt-4o","service_tier":"default","system_fingerprint":"fp_a2a69af70d"'
    )
    choices = [
        '"delta":{"role":"assistant","content":"","refusal":null},'
        '"logprobs":null,"finish_reason":null}],"obfuscation":"kT3vQxZ8mYw1Lr5D"',
        '"delta":{"content":"Grü"},"logprobs":null,"finish_reason":null}],'
        '"obfuscation":"kT3vQxZ8mYw1L"',
        '"delta":{"content":"ße"},"logprobs":null,"finish_reason":null}],'
        '"obfuscation":"kT3vQxZ8mYw1Lr"',
        '"delta":{},"logprobs":null,"finish_reason":"stop"}],"obfuscation":"kT3vQxZ8mYw1Lr5D"',
    ]
    events = ["{" + head + ',"choices":[{"index":0,' + choice + "}" for choice in choices]
    expected = "".join(f"data: {event}\n\n" for event in [*events, "[DONE]"])
    assert stream(parse(stream=True), answer([TextPart("Grüße")])).decode() == expected


def test_every_chunk_has_the_same_head() -> None:
    options = {"include_usage": True}
    chunks = parse_chunks(stream(parse(stream_options=options), answer([TextPart("Hello"), CALL])))
    for chunk in chunks:
        assert {key: chunk[key] for key in HEAD} == HEAD


@pytest.mark.parametrize(
    "options", [None, {}, {"include_usage": False}, {"include_obfuscation": True}]
)
def test_chunks_have_no_usage_unless_requested(options: dict[str, bool] | None) -> None:
    chunks = parse_chunks(stream(parse(stream_options=options), answer([TextPart("Hi")])))
    assert not any("usage" in chunk for chunk in chunks)
    assert all(chunk["choices"] for chunk in chunks)


def test_requested_usage_is_in_the_last_chunk_and_null_before() -> None:
    request = parse(stream_options={"include_usage": True})
    *chunks, last = parse_chunks(stream(request, answer([TextPart("Hi"), CALL])))
    obfuscation = {"obfuscation": "kT3vQxZ8mYw1Lr5D"}
    assert last == {**HEAD, "choices": [], "usage": USAGE, **obfuscation}
    assert [chunk["usage"] for chunk in chunks] == [None] * len(chunks)


def test_tool_call_has_its_name_in_the_first_chunk_only() -> None:
    first_call = {
        "index": 0,
        "id": "call_1",
        "type": "function",
        "function": {"name": "f", "arguments": ""},
    }
    assert stream_deltas(CALL, size=4) == [
        {"role": "assistant", "content": None, "tool_calls": [first_call], "refusal": None},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]},
    ]


def test_parallel_calls_are_numbered_despite_text_between_them() -> None:
    parts = (TextPart("a"), CALL, TextPart("b"), ToolCallPart("call_2", "g", "{}"))
    calls = [delta["tool_calls"][0] for delta in stream_deltas(*parts) if "tool_calls" in delta]
    assert [call["index"] for call in calls] == [0, 0, 0, 0, 1, 1]
    assert [call["id"] for call in calls if "id" in call] == ["call_1", "call_2"]


def test_tool_calls_are_numbered_from_0_in_every_choice() -> None:
    chunks = parse_chunks(stream(parse(n=2), answer([CALL], [CALL])))
    calls = [
        (chunk["choices"][0]["index"], call["index"])
        for chunk in chunks
        for call in chunk["choices"][0]["delta"].get("tool_calls", [])
    ]
    assert sorted(set(calls)) == [(0, 0), (1, 0)]


def test_several_calls_start_in_separate_chunks() -> None:
    first, *rest = stream_deltas(CALL, ToolCallPart("call_2", "g", "{}"), size=7)
    assert first == {"role": "assistant", "content": None}
    calls = [(c["index"], c.get("id")) for delta in rest for c in delta["tool_calls"]]
    assert calls == [(0, "call_1"), (0, None), (1, "call_2"), (1, None)]


def test_opening_is_empty_if_a_message_begins_with_a_call() -> None:
    assert CHAT.encode(parse(), answer([CALL])).opening() == b""
    assert CHAT.encode(parse(), answer([TextPart("a"), CALL])).opening() != b""


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 40])
def test_obfuscation_pads_deltas_to_sixteen_characters(length: int) -> None:
    stream_bytes = stream(parse(), answer([TextPart("a" * length)]), [max(length, 1)])
    lengths = {
        len(c["obfuscation"])
        for c in parse_chunks(stream_bytes)
        if c["choices"][0]["delta"].get("content")
    }
    assert lengths == ({16 - length % 16} if length else set())
    plain_stream = stream(
        parse(stream_options={"include_obfuscation": False}), answer([TextPart("a")])
    )
    assert not any("obfuscation" in chunk for chunk in parse_chunks(plain_stream))


def test_reasoning_is_streamed_before_the_text() -> None:
    assert stream_deltas(ReasoningPart("Hm."), TextPart("Hi")) == [
        {"role": "assistant", "content": "", "refusal": None},
        {"reasoning": "Hm."},
        {"content": "Hi"},
    ]


def test_refusal_is_streamed_as_refusal() -> None:
    assert stream_deltas(RefusalPart("Nope")) == [
        {"role": "assistant", "content": None, "refusal": None},
        {"refusal": "Nop"},
        {"refusal": "e"},
    ]


@pytest.mark.parametrize(
    ("parts", "content"),
    [
        ((TextPart("Hi"), CALL), ""),
        ((), ""),
        ((ReasoningPart("Hm."),), ""),
        ((CALL, TextPart("Hi")), None),
        ((ReasoningPart("Hm."), CALL), None),
        ((TextPart(""), CALL), None),
    ],
)
def test_the_role_chunk_has_empty_content_or_none(
    parts: tuple[AnswerPart, ...], content: str | None
) -> None:
    assert stream_deltas(*parts)[0]["content"] == content


def test_legacy_function_call_is_streamed() -> None:
    request = parse(functions=[{"name": "f"}])
    stream_bytes = stream(request, answer([CALL], finish="tool_calls"), [4])
    choices = [chunk["choices"][0] for chunk in parse_chunks(stream_bytes)]
    assert [choice["delta"] for choice in choices[1:]] == [
        {"function_call": {"name": "f", "arguments": ""}},
        {"function_call": {"arguments": '{"a"'}},
        {"function_call": {"arguments": ":1}"}},
        {},
    ]
    assert choices[-1]["finish_reason"] == "function_call"


def test_each_choice_has_one_role_and_one_finish_reason() -> None:
    chunks = parse_chunks(stream(parse(n=3), answer([TextPart("a")], [], [CALL], finish="length")))
    choices_by_index: dict[int, list[Any]] = {}
    for chunk in chunks:
        (choice,) = chunk["choices"]
        choices_by_index.setdefault(choice["index"], []).append(choice)
    assert list(choices_by_index) == [0, 1, 2]
    for choices in choices_by_index.values():
        roles = [choice["delta"].get("role") for choice in choices]
        reasons = [choice["finish_reason"] for choice in choices]
        assert roles == ["assistant"] + [None] * (len(choices) - 1)
        assert reasons == [None] * (len(choices) - 1) + ["length"]
        assert choices[-1]["delta"] == {}


def test_choices_are_streamed_in_order() -> None:
    chunks = parse_chunks(stream(parse(n=2), answer([TextPart("abcdef")], [TextPart("ghi")])))
    indexes = [chunk["choices"][0]["index"] for chunk in chunks]
    assert indexes == sorted(indexes)
    assert set(indexes) == {0, 1}


def test_interleaved_deltas_are_assigned_to_their_parts() -> None:
    text, call = TextPart("ab"), CALL
    encoder = CHAT.encode(parse(), answer([text, call]))
    events: list[StreamEvent] = [
        PartStart(0, 0, text),
        PartDelta(0, 0, text, "a"),
        PartStart(0, 1, call),
        PartDelta(0, 1, call, '{"a"'),
        PartDelta(0, 0, text, "b"),
        PartDelta(0, 1, call, ":1}"),
        PartEnd(0, 0, text),
        PartEnd(0, 1, call),
        Finish(0, "tool_calls"),
    ]
    middle = b"".join(encoder.event(event) for event in events)
    chunks = parse_chunks(encoder.opening() + middle + encoder.closing())
    streamed_deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert "".join(delta.get("content") or "" for delta in streamed_deltas) == "ab"
    pieces = [
        delta["tool_calls"][0]["function"]["arguments"]
        for delta in streamed_deltas[2:]
        if "tool" in str(delta)
    ]
    assert "".join(pieces) == '{"a":1}'


def test_scripted_metadata_is_in_every_chunk() -> None:
    metadata: dict[str, Any] = {"system_fingerprint": "fp_1", "object": "no", "usage": {}}
    request = parse(stream_options={"include_usage": True})
    chunks = parse_chunks(stream(request, answer([TextPart("Hi")], metadata=metadata)))
    assert {chunk["system_fingerprint"] for chunk in chunks} == {"fp_1"}
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert chunks[-1]["usage"] == USAGE


def test_repeated_streams_of_a_response_are_equal() -> None:
    response = answer([ReasoningPart("Hm."), TextPart("Hello"), CALL])
    assert stream(parse(), response) == stream(parse(), response)
