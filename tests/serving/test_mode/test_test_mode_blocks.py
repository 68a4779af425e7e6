"""Requirement 000, R9: instruction blocks over every wire, streamed and whole."""

import json
from typing import Any

import pytest

from scenarios_app.engine.instructions import END, START
from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS
from tests.serving.modes import (
    WIRES,
    WireName,
    fetch_body,
    harness_in_test_mode,
    sample_call,
    with_marks,
)
from tests.serving.reading import (
    events_of,
)
from tests.serving.test_mode.block_answers import (
    CALL,
    MIXED,
    SEARCH,
    fetch_answer,
    fetch_blocks,
    fetch_choices,
    fetch_texts,
    join_messages,
    without_ids,
)


async def test_r9_1_only_the_json_inside_the_block_is_read() -> None:
    block = json.dumps({"messages": [{"text": "inside"}]})
    text = f"Say outside.\nReason: no {START} {block} {END} {{'text': 'outside'}}"
    (choice,) = await fetch_choices(sample_call("openai", text, stream=True), stream=True)
    assert (choice.text, choice.reasoning) == ("inside", "")


@pytest.mark.parametrize("stream", [True, False])
async def test_r9_2_marks_and_lengths_of_reasoning_and_text(stream: bool) -> None:
    choices = await fetch_choices(
        sample_call("openai", with_marks(MIXED), stream=stream), stream=stream
    )
    for text, length in ((choices[1].reasoning, 12), (choices[1].text, 25)):
        inside = text.removeprefix("The mark ").removesuffix(" The mark")
        assert len(inside.split()) == length == len(text.split()) - 4
    assert choices[2].text == "The mark verbatim  text The mark"


@pytest.mark.parametrize("stream", [True, False])
async def test_r9_3_each_message_is_a_separate_choice_with_its_index(stream: bool) -> None:
    choices = await fetch_choices(
        sample_call("openai", with_marks(MIXED), stream=stream), stream=stream
    )
    assert [choice.finish for choice in choices] == ["tool_calls", "stop", "stop"]
    assert [len(choice.calls) for choice in choices] == [2, 0, 0]
    assert [bool(choice.text) for choice in choices] == [False, True, True]


@pytest.mark.parametrize("stream", [True, False])
async def test_r9_4_reasoning_precedes_the_text_of_its_message(stream: bool) -> None:
    choices = await fetch_choices(
        sample_call("openai", with_marks(MIXED), stream=stream), stream=stream
    )
    # `parse_openai_stream` refuses reasoning after text.
    assert [bool(choice.reasoning) for choice in choices] == [True, True, False]


async def test_r9_5_tool_calls_stream_the_name_first_and_then_fragments() -> None:
    body = await fetch_body(
        harness_in_test_mode(words_per_second=0),
        sample_call("openai", with_marks(MIXED), stream=True),
    )
    deltas = [json.loads(e)["choices"][0]["delta"] for e in events_of(body) if e != "[DONE]"]
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    names = [(c["index"], c["function"].get("name")) for c in calls]
    assert names == [(0, "get_weather"), (0, None), (0, None), (1, "now"), (1, None)]
    assert calls[0]["function"]["arguments"] == ""
    assert "".join(c["function"]["arguments"] for c in calls[1:3]) == (
        '{"location":"Chicago","days":[1,2]}'
    )
    assert calls[4]["function"]["arguments"] == "{}"


async def test_r9_5_the_calls_of_each_message_are_counted_from_0() -> None:
    block = {"messages": [{"tool_call": [CALL]}, {"text": "and"}, {"tool_call": [CALL, CALL]}]}
    body = await fetch_body(
        harness_in_test_mode(words_per_second=0),
        sample_call("openai", with_marks(block), stream=True),
    )
    (*chunks, _) = (json.loads(e)["choices"][0] for e in events_of(body) if e != "[DONE]")
    call_indexes = [
        (chunk["index"], call["index"])
        for chunk in chunks
        for call in chunk["delta"].get("tool_calls", [])
        if "name" in call["function"]
    ]
    assert call_indexes == [(0, 0), (2, 0), (2, 1)]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("inside", ["no JSON", '{"messages": [', "NaN", "{}{}"])
async def test_r9_6_invalid_json_falls_back_to_lorem(wire: WireName, inside: str) -> None:
    text = f"{START}{inside}{END}\nReason: it is broken"
    harness = harness_in_test_mode(words_per_second=0)
    body = await fetch_body(harness, sample_call(wire, text, stream=True))
    answer = DIALECTS[wire].parse(body, stream=True)
    assert answer.thinking == f"it is broken {text}"
    assert answer.text.endswith(text)
    assert harness.journal[0].fallback


@pytest.mark.parametrize("stream", [True, False])
async def test_anthropic_carries_the_messages_as_blocks_in_order(stream: bool) -> None:
    content_blocks, reason = await fetch_blocks(
        sample_call("anthropic", with_marks(MIXED), stream=stream), stream=stream
    )
    assert [block["type"] for block in content_blocks] == [
        *("thinking", "tool_use", "tool_use"),
        *("thinking", "text"),
        "text",
    ]
    assert reason == "tool_use"
    assert [block["input"] for block in content_blocks[1:3]] == [CALL["args"], {}]
    assert content_blocks[5]["text"] == "The mark verbatim  text The mark"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_every_wire_gives_the_same_texts_and_calls(wire: WireName, stream: bool) -> None:
    choices = await fetch_choices(
        sample_call("openai", with_marks(MIXED), stream=True), stream=True
    )
    answer = await fetch_answer(
        wire, sample_call(wire, with_marks(MIXED), stream=stream), stream=stream
    )
    assert answer.thinking == "".join(choice.reasoning for choice in choices)
    assert answer.texts == join_messages(wire, [choice.text for choice in choices if choice.text])
    assert [(name, arguments) for _, name, arguments in answer.calls] == [
        ("get_weather", CALL["args"]),
        ("now", {}),
    ]


@pytest.mark.parametrize("stream", [True, False])
async def test_ollama_carries_the_messages_one_after_another(stream: bool) -> None:
    call = sample_call("ollama", with_marks(MIXED), stream=stream)
    body = await fetch_body(harness_in_test_mode(words_per_second=0), call)
    kinds: list[str] = []
    for line in map(json.loads, body.splitlines()):
        (kind,) = (
            [k for k in ("thinking", "tool_calls", "content") if line["message"].get(k)] or ["end"]
            if stream
            else ["all"]
        )
        kinds += [kind] if kinds[-1:] != [kind] or kind == "tool_calls" else []
    assert kinds == (
        ["thinking", "tool_calls", "tool_calls", "thinking", "content", "end"]
        if stream
        else ["all"]
    )
    assert (await fetch_answer("ollama", call, stream=stream)).finish == "stop"


@pytest.mark.parametrize("stream", [True, False])
async def test_a_search_is_left_out_on_ollama(stream: bool) -> None:
    call = sample_call("ollama", with_marks(SEARCH), stream=stream)
    answer = await fetch_answer("ollama", call, stream=stream)
    assert (answer.texts, answer.calls, answer.finish) == (["It is so."], [], "stop")


@pytest.mark.parametrize("block", [MIXED, SEARCH], ids=["mixed", "search"])
@pytest.mark.parametrize("wire", WIRES)
async def test_streams_and_whole_answers_agree(wire: WireName, block: dict[str, Any]) -> None:
    def call(stream: bool) -> Call:
        return sample_call(wire, with_marks(block), stream=stream)

    if wire not in ("openai", "anthropic"):
        whole, streamed = [await fetch_answer(wire, call(s), stream=s) for s in (False, True)]
        for answer in (whole, streamed):
            answer.calls = [("", name, arguments) for _, name, arguments in answer.calls]
        assert streamed == whole
    elif wire == "openai":
        whole = await fetch_choices(call(False), stream=False)
        streamed = await fetch_choices(call(True), stream=True)
        # Ids depend on the body, which differs.
        for choice in (*whole, *streamed):
            choice.calls = [{k: v for k, v in c.items() if k != "id"} for c in choice.calls]
        assert streamed == whole
    else:
        assert without_ids(await fetch_blocks(call(True), stream=True)) == without_ids(
            await fetch_blocks(call(False), stream=False)
        )


@pytest.mark.parametrize("stream", [True, False])
async def test_a_search_is_native_on_anthropic(stream: bool) -> None:
    content_blocks, reason = await fetch_blocks(
        sample_call("anthropic", with_marks(SEARCH), stream=stream), stream=stream
    )
    use, result, text = content_blocks
    assert (use["type"], use["input"]) == ("server_tool_use", {"query": "q"})
    assert result["type"] == "web_search_tool_result"
    assert result["tool_use_id"] == use["id"]
    assert text["citations"][0]["url"] == "u"
    assert reason == "end_turn"


@pytest.mark.parametrize("stream", [True, False])
async def test_search_is_left_out_on_openai_except_for_its_indexes(stream: bool) -> None:
    choices = await fetch_choices(
        sample_call("openai", with_marks(SEARCH), stream=stream), stream=stream
    )
    assert [c.text for c in choices] == ["", "", "It is so."]
    assert [c.finish for c in choices] == ["stop"] * 3
    assert choices[2].annotations[0]["url_citation"]["url"] == "u"


@pytest.mark.parametrize("wire", WIRES)
async def test_n_does_not_repeat_a_block(wire: WireName) -> None:
    fields = {"n": 3} if wire == "openai" else {}
    block = {"messages": [{"text": "a"}, {"text": "b"}]}
    assert await fetch_texts(wire, block, **fields) == join_messages(wire, ["a", "b"])
