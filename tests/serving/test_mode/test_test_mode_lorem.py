"""Requirement 000, R2 to R6: what test mode answers where nobody scripted anything."""

import hashlib
import json
from typing import Any

import pytest

from scenarios_app.serving.reply import Frame
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName, asking, body_of, in_test_mode
from tests.serving.reading import (
    Spoken,
    anthropic_stream,
    anthropic_whole,
    deltas_of,
    events_of,
    openai_stream,
    openai_whole,
)

REASONED = "Why is the sky blue?\nReason: think of\n  scattered light"
MESSAGES = ["Hello", REASONED, "", "  spaces \n and “quotes”  ", "{{ city }} <b>"]


def words_of(message: str) -> int:
    return 5 + int.from_bytes(hashlib.sha256(message.encode()).digest()[:4], "little") % 496


async def spoken(message: str, *, stream: bool = True) -> Spoken:
    playing = in_test_mode(words_per_second=0)
    body = await body_of(playing, asking("openai", message, stream=stream))
    (choice,) = openai_stream(body) if stream else openai_whole(body)
    return choice


async def blocks(message: str, *, stream: bool = True) -> list[tuple[str, str]]:
    playing = in_test_mode(words_per_second=0)
    body = await body_of(playing, asking("anthropic", message, stream=stream))
    found, reason = anthropic_stream(body) if stream else anthropic_whole(body)
    assert reason == "end_turn"
    return [(b["type"], b.get("thinking", "") + b.get("text", "")) for b in found]


async def test_r2_1_chunks_are_openais_with_content_for_text_and_reasoning_for_thought() -> None:
    playing = in_test_mode(words_per_second=0)
    body = await body_of(playing, asking("openai", REASONED, stream=True))
    *chunks, done = events_of(body)
    assert done == "[DONE]"
    found = [json.loads(chunk) for chunk in chunks]
    assert {chunk["object"] for chunk in found} == {"chat.completion.chunk"}
    keys = [set(chunk["choices"][0]["delta"]) for chunk in found]
    assert keys[0] == {"role", "content", "refusal"}
    assert {"reasoning"} in keys
    assert {"content"} in keys
    assert all("reasoning" in key or "content" in key for key in keys[1:-1])


async def test_r2_2_a_finish_chunk_with_stop_is_followed_by_done() -> None:
    playing = in_test_mode(words_per_second=0)
    body = await body_of(playing, asking("openai", stream=True))
    *_, last, done = events_of(body)
    assert done == "[DONE]"
    assert json.loads(last)["choices"] == [
        {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
    ]


@pytest.mark.parametrize("wire", WIRES)
async def test_r2_3_a_stream_is_one_streamed_answer_and_nothing_else_is_asked(
    wire: WireName,
) -> None:
    playing = in_test_mode(words_per_second=0)
    await body_of(playing, asking(wire, stream=True))
    assert [entry.streamed for entry in playing.journal] == [True]


@pytest.mark.parametrize("message", MESSAGES)
async def test_r2_3_a_request_for_no_stream_gets_the_same_content_whole(message: str) -> None:
    assert await spoken(message, stream=False) == await spoken(message)
    assert await blocks(message, stream=False) == await blocks(message)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("wire", WIRES)
async def test_r4_1_every_wire_says_the_same_words(
    wire: WireName, message: str, stream: bool
) -> None:
    playing = in_test_mode(words_per_second=0)
    body = await body_of(playing, asking(wire, message, stream=stream))
    heard, choice = DIALECTS[wire].hear(body, stream=stream), await spoken(message)
    assert (heard.thinking, heard.text) == (choice.reasoning, choice.text)
    assert heard.finish == DIALECTS[wire].finish["stop"]
    if stream:
        assert (heard.thought, heard.pieces) == (choice.thoughts, choice.pieces)
        assert body.endswith(DIALECTS[wire].end)


async def test_r3_1_reasoning_streams_before_any_text() -> None:
    choice = await spoken(REASONED)
    assert choice.thoughts and choice.pieces  # `openai_stream` refuses any other order
    assert (await spoken("Why is the sky blue?")).thoughts == []
    assert [kind for kind, _ in await blocks(REASONED)] == ["thinking", "text"]
    assert [kind for kind, _ in await blocks("Why?")] == ["text"]


async def test_r3_1_only_the_latest_user_message_asks_for_reasoning() -> None:
    playing = in_test_mode(words_per_second=0)
    turns = [
        {"role": "user", "content": REASONED},
        {"role": "assistant", "content": "Because."},
        {"role": "user", "content": "I see."},
    ]
    body = await body_of(playing, asking("openai", stream=True, messages=turns))
    (choice,) = openai_stream(body)
    assert (choice.thoughts, choice.text.endswith(" I see.")) == ([], True)


async def test_r3_2_reasoning_is_visible() -> None:
    playing = in_test_mode(words_per_second=0)
    body = await body_of(playing, asking("anthropic", REASONED, stream=False))
    thinking, text = json.loads(body)["content"]
    assert text["type"] == "text"
    # Plain text without a signature or redaction.
    assert thinking == {
        "type": "thinking",
        "thinking": f"think of\n  scattered light {REASONED}",
        "signature": "",
    }
    body = await body_of(playing, asking("openai", REASONED, stream=True))
    thoughts = [json.loads(e)["choices"][0]["delta"] for e in events_of(body) if e != "[DONE]"]
    said = "".join(delta.get("reasoning", "") for delta in thoughts)
    assert said == thinking["thinking"]


async def test_r3_3_reasoning_is_the_text_after_reason() -> None:
    expected = f"think of\n  scattered light {REASONED}"
    assert (await spoken(REASONED)).reasoning == expected
    assert (await blocks(REASONED))[0] == ("thinking", expected)


@pytest.mark.parametrize("message", MESSAGES)
async def test_r4_1_text_has_the_number_of_words_that_the_message_hashes_to(message: str) -> None:
    text = (await spoken(message)).text
    assert len(text.removesuffix(message).split()) == words_of(message)
    assert (await blocks(message))[-1] == ("text", text)


@pytest.mark.parametrize("wire", WIRES)
async def test_r4_2_chunks_leave_at_fifty_words_a_second_on_absolute_deadlines(
    wire: WireName,
) -> None:
    answer = await in_test_mode().pipeline.answer(asking(wire, REASONED, stream=True))
    before = 0
    for frame in answer.reply.frames:
        words = words_in(frame, wire)
        assert frame.at == pytest.approx(before / 50)
        before += words
    assert answer.reply.frames[-1].at == pytest.approx(before / 50)
    assert before == words_of(REASONED) + 2 * len(REASONED.split()) + 4
    assert answer.reply.delay == 0


def words_in(frame: Frame, wire: WireName) -> int:
    """Words of thought and text in what leaves at once: one delta, and what stands around it."""
    if wire == "openai":
        choices = [json.loads(e)["choices"][0] for e in events_of(frame.data) if e[0] == "{"]
        deltas = [choice["delta"] for choice in choices]
        said = [d.get("reasoning", "") + (d.get("content") or "") for d in deltas]
    elif wire == "anthropic":
        said = [d.get("thinking", "") + d.get("text", "") for d in deltas_of(frame.data)]
    else:
        heard = DIALECTS[wire].hear(frame.data, stream=True)
        said = [*heard.thought, *heard.pieces]
    assert sum(bool(text) for text in said) <= 1
    return sum(len(text.split()) for text in said)


@pytest.mark.parametrize(("pace", "seconds"), [(10, 3.0), (0, 0.0)])
async def test_r4_2_the_pace_is_a_setting_and_zero_is_none(pace: float, seconds: float) -> None:
    playing = in_test_mode(words_per_second=pace)
    answer = await playing.pipeline.answer(asking("openai", "Hello", stream=True))
    assert answer.reply.frames[-1].at == pytest.approx(seconds)


@pytest.mark.parametrize("wire", WIRES)
async def test_r4_2_whole_answers_are_not_paced(wire: WireName) -> None:
    answer = await in_test_mode().pipeline.answer(asking(wire, stream=False))
    assert answer.is_immediate


async def test_r4_2_a_steps_own_pacing_goes_before_the_setting() -> None:
    step = {"produce": {"generate": {"kind": "lorem"}, "pacing": {"chunk_ms": 7, "first_ms": 20}}}
    playing = in_test_mode({"name": "own", "steps": [step]})
    answer = await playing.pipeline.answer(asking("openai", stream=True))
    assert [frame.at for frame in answer.reply.frames[:3]] == pytest.approx([0, 0.02, 0.027])


async def test_r4_2_the_setting_keeps_a_steps_first_wait() -> None:
    step = {"produce": {"generate": {"kind": "lorem"}, "pacing": {"first_ms": 500}}}
    playing = in_test_mode({"name": "own", "steps": [step]})
    answer = await playing.pipeline.answer(asking("openai", stream=True))
    assert answer.reply.frames[1].at == pytest.approx(0.5)
    assert answer.reply.frames[-1].at == pytest.approx(0.5 + 30 / 50)


@pytest.mark.parametrize("message", MESSAGES)
async def test_r4_3_chunks_hold_3_to_10_words(message: str) -> None:
    choice = await spoken(message)
    for pieces in (choice.thoughts, choice.pieces):
        counts = [len(piece.split()) for piece in pieces]
        # The last chunk of the lorem and of the echo may be shorter.
        assert sum(count < 3 for count in counts) <= 2
        assert all(count <= 10 for count in counts)


@pytest.mark.parametrize("message", MESSAGES)
async def test_r5_1_the_verbatim_message_is_appended_to_both_streams(message: str) -> None:
    choice = await spoken(message)
    assert choice.text.endswith(message)
    assert (choice.reasoning or message).endswith(message)
    assert "".join(choice.pieces) == choice.text
    assert all(text.endswith(message) for _, text in await blocks(message))


async def test_r5_2_the_echo_does_not_count() -> None:
    choice = await spoken(REASONED)
    assert len(choice.text.split()) == words_of(REASONED) + len(REASONED.split())


@pytest.mark.parametrize("message", MESSAGES)
async def test_r6_1_the_end_says_stop(message: str) -> None:
    assert (await spoken(message)).finish == "stop"
    await blocks(message)  # which says `end_turn`


async def test_r6_2_the_last_line_is_done() -> None:
    playing = in_test_mode(words_per_second=0)
    body = await body_of(playing, asking("openai", stream=True))
    assert body.endswith(b"\n\ndata: [DONE]\n\n")
    body = await body_of(playing, asking("anthropic", stream=True))
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
        gave = {"functionResponse": {"name": "f", "response": {"result": "sunny"}}}
        turns = [
            {"role": "user", "content": "Look it up"},
            {"role": "assistant", "content": [{"functionCall": {"name": "f"}}]},
            {"role": "user", "content": [gave]},
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
        gave = {"type": "tool_result", "tool_use_id": "c", "content": "sunny"}
        turns = [
            {"role": "user", "content": "Look it up"},
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [gave]},
        ]
    playing = in_test_mode(words_per_second=0)
    body = await body_of(playing, asking(wire, stream=False, messages=turns))
    assert DIALECTS[wire].hear(body, stream=False).text.endswith(" Look it up")


async def test_a_message_that_is_too_long_to_echo_is_a_400() -> None:
    playing = in_test_mode(max_text_bytes=1_000)
    status, _, body = await playing.ask(asking("openai", "x" * 1_000, stream=True))
    assert status == 400
    assert b"more text than the limit of 1000 bytes" in body
