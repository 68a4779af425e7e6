"""Requirement 000, R9: instruction blocks through every wire, streamed and whole."""

import json
from typing import Any

import pytest

from scenarios_app.engine.instructions import END, START
from scenarios_app.wire.base import Call
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName, asking, body_of, in_test_mode, marked
from tests.serving.reading import (
    events_of,
)
from tests.serving.test_mode.block_answers import (
    CALL,
    MIXED,
    SEARCH,
    apart,
    blocks,
    choices,
    hear,
    texts,
    without_ids,
)


async def test_r9_1_only_the_json_inside_the_block_is_read() -> None:
    block = json.dumps({"messages": [{"text": "inside"}]})
    text = f"Say outside.\nReason: no {START} {block} {END} {{'text': 'outside'}}"
    (choice,) = await choices(asking("openai", text, stream=True), stream=True)
    assert (choice.text, choice.reasoning) == ("inside", "")


@pytest.mark.parametrize("stream", [True, False])
async def test_r9_2_marks_and_lengths_of_reasoning_and_text(stream: bool) -> None:
    found = await choices(asking("openai", marked(MIXED), stream=stream), stream=stream)
    for text, length in ((found[1].reasoning, 12), (found[1].text, 25)):
        inside = text.removeprefix("The mark ").removesuffix(" The mark")
        assert len(inside.split()) == length == len(text.split()) - 4
    assert found[2].text == "The mark verbatim  text The mark"


@pytest.mark.parametrize("stream", [True, False])
async def test_r9_3_each_message_is_a_stream_of_its_own_with_its_index(stream: bool) -> None:
    found = await choices(asking("openai", marked(MIXED), stream=stream), stream=stream)
    assert [choice.finish for choice in found] == ["tool_calls", "stop", "stop"]
    assert [len(choice.calls) for choice in found] == [2, 0, 0]
    assert [bool(choice.text) for choice in found] == [False, True, True]


@pytest.mark.parametrize("stream", [True, False])
async def test_r9_4_reasoning_comes_first_where_it_belongs(stream: bool) -> None:
    found = await choices(asking("openai", marked(MIXED), stream=stream), stream=stream)
    # `openai_stream` refuses reasoning after text.
    assert [bool(choice.reasoning) for choice in found] == [True, True, False]


async def test_r9_5_tool_calls_stream_the_name_first_and_then_fragments() -> None:
    body = await body_of(
        in_test_mode(words_per_second=0), asking("openai", marked(MIXED), stream=True)
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
    body = await body_of(
        in_test_mode(words_per_second=0), asking("openai", marked(block), stream=True)
    )
    (*chunks, _) = (json.loads(e)["choices"][0] for e in events_of(body) if e != "[DONE]")
    begun = [
        (chunk["index"], call["index"])
        for chunk in chunks
        for call in chunk["delta"].get("tool_calls", [])
        if "name" in call["function"]
    ]
    assert begun == [(0, 0), (2, 0), (2, 1)]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("inside", ["no JSON", '{"messages": [', "NaN", "{}{}"])
async def test_r9_6_invalid_json_falls_back_to_lorem(wire: WireName, inside: str) -> None:
    text = f"{START}{inside}{END}\nReason: it is broken"
    playing = in_test_mode(words_per_second=0)
    body = await body_of(playing, asking(wire, text, stream=True))
    heard = DIALECTS[wire].hear(body, stream=True)
    assert heard.thinking == f"it is broken {text}"
    assert heard.text.endswith(text)
    assert playing.journal[0].fallback


@pytest.mark.parametrize("stream", [True, False])
async def test_anthropic_carries_the_messages_as_blocks_in_order(stream: bool) -> None:
    found, reason = await blocks(asking("anthropic", marked(MIXED), stream=stream), stream=stream)
    assert [block["type"] for block in found] == [
        *("thinking", "tool_use", "tool_use"),
        *("thinking", "text"),
        "text",
    ]
    assert reason == "tool_use"
    assert [block["input"] for block in found[1:3]] == [CALL["args"], {}]
    assert found[5]["text"] == "The mark verbatim  text The mark"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_every_wire_says_the_same(wire: WireName, stream: bool) -> None:
    spoken = await choices(asking("openai", marked(MIXED), stream=True), stream=True)
    heard = await hear(wire, asking(wire, marked(MIXED), stream=stream), stream=stream)
    assert heard.thinking == "".join(choice.reasoning for choice in spoken)
    assert heard.texts == apart(wire, [choice.text for choice in spoken if choice.text])
    assert [(name, arguments) for _, name, arguments in heard.calls] == [
        ("get_weather", CALL["args"]),
        ("now", {}),
    ]


@pytest.mark.parametrize("stream", [True, False])
async def test_ollama_carries_the_messages_one_after_another(stream: bool) -> None:
    call = asking("ollama", marked(MIXED), stream=stream)
    body = await body_of(in_test_mode(words_per_second=0), call)
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
    assert (await hear("ollama", call, stream=stream)).finish == "stop"


@pytest.mark.parametrize("stream", [True, False])
async def test_a_search_is_left_out_on_ollama(stream: bool) -> None:
    call = asking("ollama", marked(SEARCH), stream=stream)
    heard = await hear("ollama", call, stream=stream)
    assert (heard.texts, heard.calls, heard.finish) == (["It is so."], [], "stop")


@pytest.mark.parametrize("block", [MIXED, SEARCH], ids=["mixed", "search"])
@pytest.mark.parametrize("wire", WIRES)
async def test_streams_and_whole_answers_agree(wire: WireName, block: dict[str, Any]) -> None:
    def call(stream: bool) -> Call:
        return asking(wire, marked(block), stream=stream)

    if wire not in ("openai", "anthropic"):
        whole, streamed = [await hear(wire, call(s), stream=s) for s in (False, True)]
        for heard in (whole, streamed):
            heard.calls = [("", name, arguments) for _, name, arguments in heard.calls]
        assert streamed == whole
    elif wire == "openai":
        whole = await choices(call(False), stream=False)
        streamed = await choices(call(True), stream=True)
        # Ids depend on the body, which differs.
        for choice in (*whole, *streamed):
            choice.calls = [{k: v for k, v in c.items() if k != "id"} for c in choice.calls]
        assert streamed == whole
    else:
        assert without_ids(await blocks(call(True), stream=True)) == without_ids(
            await blocks(call(False), stream=False)
        )


@pytest.mark.parametrize("stream", [True, False])
async def test_a_search_is_native_on_anthropic(stream: bool) -> None:
    found, reason = await blocks(asking("anthropic", marked(SEARCH), stream=stream), stream=stream)
    use, result, text = found
    assert (use["type"], use["input"]) == ("server_tool_use", {"query": "q"})
    assert result["type"] == "web_search_tool_result"
    assert result["tool_use_id"] == use["id"]
    assert text["citations"][0]["url"] == "u"
    assert reason == "end_turn"


@pytest.mark.parametrize("stream", [True, False])
async def test_a_search_is_left_out_on_openai_but_for_its_indexes(stream: bool) -> None:
    found = await choices(asking("openai", marked(SEARCH), stream=stream), stream=stream)
    assert [c.text for c in found] == ["", "", "It is so."]
    assert [c.finish for c in found] == ["stop"] * 3
    assert found[2].annotations[0]["url_citation"]["url"] == "u"


@pytest.mark.parametrize("wire", WIRES)
async def test_n_does_not_repeat_a_block(wire: WireName) -> None:
    fields = {"n": 3} if wire == "openai" else {}
    block = {"messages": [{"text": "a"}, {"text": "b"}]}
    assert await texts(wire, block, **fields) == apart(wire, ["a", "b"])
