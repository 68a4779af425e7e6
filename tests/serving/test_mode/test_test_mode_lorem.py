"""Requirement 000, R2 to R6: the answers of test mode without any script."""

import hashlib
import json
from typing import Any

import pytest

from scenarios_app.serving.reply import Frame
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName, fetch_body, harness_in_test_mode, sample_call
from tests.serving.reading import (
    ParsedChoice,
    deltas_of,
    events_of,
    parse_anthropic_body,
    parse_anthropic_stream,
    parse_openai_body,
    parse_openai_stream,
)

REASONED_MESSAGE = "Why is the sky blue?\nReason: think of\n  scattered light"
MESSAGES = ["Hello", REASONED_MESSAGE, "", "  spaces \n and “quotes”  ", "{{ city }} <b>"]


def expected_word_count(message: str) -> int:
    return 5 + int.from_bytes(hashlib.sha256(message.encode()).digest()[:4], "little") % 496


async def fetch_choice(message: str, *, stream: bool = True) -> ParsedChoice:
    harness = harness_in_test_mode(words_per_second=0)
    body = await fetch_body(harness, sample_call("openai", message, stream=stream))
    (choice,) = parse_openai_stream(body) if stream else parse_openai_body(body)
    return choice


async def fetch_blocks(message: str, *, stream: bool = True) -> list[tuple[str, str]]:
    harness = harness_in_test_mode(words_per_second=0)
    body = await fetch_body(harness, sample_call("anthropic", message, stream=stream))
    content_blocks, reason = parse_anthropic_stream(body) if stream else parse_anthropic_body(body)
    assert reason == "end_turn"
    return [(b["type"], b.get("thinking", "") + b.get("text", "")) for b in content_blocks]


async def test_r2_1_chunks_are_openais_with_content_for_text_and_reasoning_for_thought() -> None:
    harness = harness_in_test_mode(words_per_second=0)
    body = await fetch_body(harness, sample_call("openai", REASONED_MESSAGE, stream=True))
    *chunks, done = events_of(body)
    assert done == "[DONE]"
    decoded_chunks = [json.loads(chunk) for chunk in chunks]
    assert {chunk["object"] for chunk in decoded_chunks} == {"chat.completion.chunk"}
    keys = [set(chunk["choices"][0]["delta"]) for chunk in decoded_chunks]
    assert keys[0] == {"role", "content", "refusal"}
    assert {"reasoning"} in keys
    assert {"content"} in keys
    assert all("reasoning" in key or "content" in key for key in keys[1:-1])


async def test_r2_2_a_finish_chunk_with_stop_is_followed_by_done() -> None:
    harness = harness_in_test_mode(words_per_second=0)
    body = await fetch_body(harness, sample_call("openai", stream=True))
    *_, last, done = events_of(body)
    assert done == "[DONE]"
    assert json.loads(last)["choices"] == [
        {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
    ]


@pytest.mark.parametrize("wire", WIRES)
async def test_r2_3_stream_request_gets_one_streamed_answer(
    wire: WireName,
) -> None:
    harness = harness_in_test_mode(words_per_second=0)
    await fetch_body(harness, sample_call(wire, stream=True))
    assert [entry.streamed for entry in harness.journal] == [True]


@pytest.mark.parametrize("message", MESSAGES)
async def test_r2_3_a_request_for_no_stream_gets_the_same_content_whole(message: str) -> None:
    assert await fetch_choice(message, stream=False) == await fetch_choice(message)
    assert await fetch_blocks(message, stream=False) == await fetch_blocks(message)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("wire", WIRES)
async def test_r4_1_every_wire_gives_the_same_words(
    wire: WireName, message: str, stream: bool
) -> None:
    harness = harness_in_test_mode(words_per_second=0)
    body = await fetch_body(harness, sample_call(wire, message, stream=stream))
    answer, choice = DIALECTS[wire].parse(body, stream=stream), await fetch_choice(message)
    assert (answer.thinking, answer.text) == (choice.reasoning, choice.text)
    assert answer.finish == DIALECTS[wire].finish["stop"]
    if stream:
        assert (answer.reasoning_deltas, answer.pieces) == (choice.reasoning_deltas, choice.pieces)
        assert body.endswith(DIALECTS[wire].end)


async def test_r3_1_reasoning_streams_before_any_text() -> None:
    choice = await fetch_choice(REASONED_MESSAGE)
    assert (
        choice.reasoning_deltas and choice.pieces
    )  # `parse_openai_stream` refuses any other order
    assert (await fetch_choice("Why is the sky blue?")).reasoning_deltas == []
    assert [kind for kind, _ in await fetch_blocks(REASONED_MESSAGE)] == ["thinking", "text"]
    assert [kind for kind, _ in await fetch_blocks("Why?")] == ["text"]


async def test_r3_1_only_the_latest_user_message_asks_for_reasoning() -> None:
    harness = harness_in_test_mode(words_per_second=0)
    turns = [
        {"role": "user", "content": REASONED_MESSAGE},
        {"role": "assistant", "content": "Because."},
        {"role": "user", "content": "I see."},
    ]
    body = await fetch_body(harness, sample_call("openai", stream=True, messages=turns))
    (choice,) = parse_openai_stream(body)
    assert (choice.reasoning_deltas, choice.text.endswith(" I see.")) == ([], True)


async def test_r3_2_reasoning_is_visible() -> None:
    harness = harness_in_test_mode(words_per_second=0)
    body = await fetch_body(harness, sample_call("anthropic", REASONED_MESSAGE, stream=False))
    thinking, text = json.loads(body)["content"]
    assert text["type"] == "text"
    # Plain text without a signature or redaction.
    assert thinking == {
        "type": "thinking",
        "thinking": f"think of\n  scattered light {REASONED_MESSAGE}",
        "signature": "",
    }
    body = await fetch_body(harness, sample_call("openai", REASONED_MESSAGE, stream=True))
    deltas = [json.loads(e)["choices"][0]["delta"] for e in events_of(body) if e != "[DONE]"]
    streamed_reasoning = "".join(delta.get("reasoning", "") for delta in deltas)
    assert streamed_reasoning == thinking["thinking"]


async def test_r3_3_reasoning_is_the_text_after_reason() -> None:
    expected = f"think of\n  scattered light {REASONED_MESSAGE}"
    assert (await fetch_choice(REASONED_MESSAGE)).reasoning == expected
    assert (await fetch_blocks(REASONED_MESSAGE))[0] == ("thinking", expected)


@pytest.mark.parametrize("message", MESSAGES)
async def test_r4_1_text_has_the_number_of_words_that_the_message_hashes_to(message: str) -> None:
    text = (await fetch_choice(message)).text
    assert len(text.removesuffix(message).split()) == expected_word_count(message)
    assert (await fetch_blocks(message))[-1] == ("text", text)


@pytest.mark.parametrize("wire", WIRES)
async def test_r4_2_chunks_leave_at_fifty_words_a_second_on_absolute_deadlines(
    wire: WireName,
) -> None:
    answer = await harness_in_test_mode().pipeline.answer(
        sample_call(wire, REASONED_MESSAGE, stream=True)
    )
    before = 0
    for frame in answer.reply.frames:
        words = count_words(frame, wire)
        assert frame.at == pytest.approx(before / 50)
        before += words
    assert answer.reply.frames[-1].at == pytest.approx(before / 50)
    assert before == expected_word_count(REASONED_MESSAGE) + 2 * len(REASONED_MESSAGE.split()) + 4
    assert answer.reply.delay == 0


def count_words(frame: Frame, wire: WireName) -> int:
    """Count the words of reasoning and text in a frame, which has at most one delta with text."""
    if wire == "openai":
        choices = [json.loads(e)["choices"][0] for e in events_of(frame.data) if e[0] == "{"]
        deltas = [choice["delta"] for choice in choices]
        texts = [d.get("reasoning", "") + (d.get("content") or "") for d in deltas]
    elif wire == "anthropic":
        texts = [d.get("thinking", "") + d.get("text", "") for d in deltas_of(frame.data)]
    else:
        parsed = DIALECTS[wire].parse(frame.data, stream=True)
        texts = [*parsed.reasoning_deltas, *parsed.pieces]
    assert sum(bool(text) for text in texts) <= 1
    return sum(len(text.split()) for text in texts)


@pytest.mark.parametrize(("pace", "seconds"), [(10, 3.0), (0, 0.0)])
async def test_r4_2_the_pace_is_a_setting_and_zero_is_none(pace: float, seconds: float) -> None:
    harness = harness_in_test_mode(words_per_second=pace)
    answer = await harness.pipeline.answer(sample_call("openai", "Hello", stream=True))
    assert answer.reply.frames[-1].at == pytest.approx(seconds)


@pytest.mark.parametrize("wire", WIRES)
async def test_r4_2_whole_answers_are_not_paced(wire: WireName) -> None:
    answer = await harness_in_test_mode().pipeline.answer(sample_call(wire, stream=False))
    assert answer.is_immediate


async def test_r4_2_pacing_of_a_step_overrides_the_setting() -> None:
    step = {"produce": {"generate": {"kind": "lorem"}, "pacing": {"chunk_ms": 7, "first_ms": 20}}}
    harness = harness_in_test_mode({"name": "own", "steps": [step]})
    answer = await harness.pipeline.answer(sample_call("openai", stream=True))
    assert [frame.at for frame in answer.reply.frames[:3]] == pytest.approx([0, 0.02, 0.027])


async def test_r4_2_the_setting_keeps_a_steps_first_wait() -> None:
    step = {"produce": {"generate": {"kind": "lorem"}, "pacing": {"first_ms": 500}}}
    harness = harness_in_test_mode({"name": "own", "steps": [step]})
    answer = await harness.pipeline.answer(sample_call("openai", stream=True))
    assert answer.reply.frames[1].at == pytest.approx(0.5)
    assert answer.reply.frames[-1].at == pytest.approx(0.5 + 30 / 50)


@pytest.mark.parametrize("message", MESSAGES)
async def test_r4_3_chunks_hold_3_to_10_words(message: str) -> None:
    choice = await fetch_choice(message)
    for pieces in (choice.reasoning_deltas, choice.pieces):
        counts = [len(piece.split()) for piece in pieces]
        # The last chunk of the lorem and of the echo may be shorter.
        assert sum(count < 3 for count in counts) <= 2
        assert all(count <= 10 for count in counts)


@pytest.mark.parametrize("message", MESSAGES)
async def test_r5_1_the_verbatim_message_is_appended_to_both_streams(message: str) -> None:
    choice = await fetch_choice(message)
    assert choice.text.endswith(message)
    assert (choice.reasoning or message).endswith(message)
    assert "".join(choice.pieces) == choice.text
    assert all(text.endswith(message) for _, text in await fetch_blocks(message))


async def test_r5_2_the_echo_does_not_count() -> None:
    choice = await fetch_choice(REASONED_MESSAGE)
    assert len(choice.text.split()) == expected_word_count(REASONED_MESSAGE) + len(
        REASONED_MESSAGE.split()
    )


@pytest.mark.parametrize("message", MESSAGES)
async def test_r6_1_finish_reason_is_stop(message: str) -> None:
    assert (await fetch_choice(message)).finish == "stop"
    await fetch_blocks(message)  # which says `end_turn`


async def test_r6_2_the_last_line_is_done() -> None:
    harness = harness_in_test_mode(words_per_second=0)
    body = await fetch_body(harness, sample_call("openai", stream=True))
    assert body.endswith(b"\n\ndata: [DONE]\n\n")
    body = await fetch_body(harness, sample_call("anthropic", stream=True))
    assert body.endswith(b'event: message_stop\ndata: {"type":"message_stop"}\n\n')


@pytest.mark.parametrize("wire", WIRES)
async def test_the_user_message_is_the_last_one_with_a_user_even_after_tool_results(
    wire: WireName,
) -> None:
    if wire == "ollama":
        turns: list[dict[str, Any]] = [
            {"role": "user", "content": "Look it up"},
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]},
            {"role": "tool", "tool_name": "f", "content": "sunny"},
        ]
    elif wire == "gemini":
        tool_result = {"functionResponse": {"name": "f", "response": {"result": "sunny"}}}
        turns = [
            {"role": "user", "content": "Look it up"},
            {"role": "assistant", "content": [{"functionCall": {"name": "f"}}]},
            {"role": "user", "content": [tool_result]},
        ]
    elif wire == "openai":
        call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        turns = [
            {"role": "user", "content": "Look it up"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "sunny"},
        ]
    else:
        use = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
        tool_result = {"type": "tool_result", "tool_use_id": "c", "content": "sunny"}
        turns = [
            {"role": "user", "content": "Look it up"},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [tool_result]},
        ]
    harness = harness_in_test_mode(words_per_second=0)
    body = await fetch_body(harness, sample_call(wire, stream=False, messages=turns))
    assert DIALECTS[wire].parse(body, stream=False).text.endswith(" Look it up")


async def test_a_message_that_is_too_long_to_echo_is_a_400() -> None:
    harness = harness_in_test_mode(max_text_bytes=1_000)
    status, _, body = await harness.ask(sample_call("openai", "x" * 1_000, stream=True))
    assert status == 400
    assert b"more text than the limit of 1000 bytes" in body
