"""Requirement 000, R9: instruction blocks through every wire, streamed and whole."""

import json
from typing import Any

import pytest
from hypothesis import given

from scenarios_app.engine.instructions import END, START
from scenarios_app.wire.base import Call
from tests.engine.instructions.blocks import ANY_BLOCKS, RIGHT_BLOCKS
from tests.serving.dialects import DIALECTS, Heard
from tests.serving.modes import WIRES, WireName, asking, body_of, in_test_mode, marked
from tests.serving.reading import (
    Spoken,
    anthropic_stream,
    anthropic_whole,
    events_of,
    openai_stream,
    openai_whole,
)

SCHEMA = {"type": "object", "properties": {"location": {"type": "string"}}}
CALL = {"name": "get_weather", "args": {"location": "Chicago", "days": [1, 2]}}
MIXED: dict[str, Any] = {
    "id": "mixed",
    "id_message": "The mark",
    "reasoning": {"length": 12},
    "messages": [
        {"tool_call": [CALL, {"name": "now", "args": {}}]},
        {"text_message": {"length": 25}},
        {"text": "verbatim  text"},
    ],
}
SEARCH: dict[str, Any] = {
    "messages": [
        {"server_tool_use": {"name": "web_search", "input": {"query": "q"}}},
        {"server_tool_result": {"name": "web_search", "result": [{"url": "u", "title": "t"}]}},
        {"text_with_citations": {"text": "It is so.", "citations": [{"url": "u", "title": "t"}]}},
    ]
}


def tools(wire: WireName) -> list[dict[str, Any]]:
    return [DIALECTS[wire].tool("get_weather", description="Weather.", schema=SCHEMA)]


async def choices(call: Call, *, stream: bool) -> list[Spoken]:
    body = await body_of(in_test_mode(words_per_second=0), call)
    return openai_stream(body) if stream else openai_whole(body)


async def blocks(call: Call, *, stream: bool) -> tuple[list[dict[str, Any]], str | None]:
    body = await body_of(in_test_mode(words_per_second=0), call)
    return anthropic_stream(body) if stream else anthropic_whole(body)


async def texts(wire: WireName, block: dict[str, Any], **fields: Any) -> list[str]:
    """What an answer of texts alone says, message by message where they can be told apart."""
    return (await hear(wire, asking(wire, marked(block), stream=True, **fields), stream=True)).texts


async def hear(wire: WireName, call: Call, *, stream: bool) -> Heard:
    return DIALECTS[wire].hear(await body_of(in_test_mode(words_per_second=0), call), stream=stream)


def apart(wire: WireName, texts: list[str]) -> list[str]:
    """Texts of several messages, as a wire gives them."""
    return ["".join(texts)] if DIALECTS[wire].one_message else texts


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
        # Ids come from the body, which differs.
        for choice in (*whole, *streamed):
            choice.calls = [{k: v for k, v in c.items() if k != "id"} for c in choice.calls]
        assert streamed == whole
    else:
        assert _anonymous(await blocks(call(True), stream=True)) == _anonymous(
            await blocks(call(False), stream=False)
        )


def _anonymous(found: tuple[list[dict[str, Any]], str | None]) -> Any:
    blocks, reason = found
    return [{k: v for k, v in b.items() if k not in ("id", "tool_use_id")} for b in blocks], reason


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


PROBES: list[tuple[dict[str, Any], str]] = [
    ({"system_prompt_echo": {}}, "Be brief."),
    ({"tools_list": {}}, "get_weather"),
    ({"tool_schema": {"name": "get_weather"}}, json.dumps(SCHEMA, separators=(",", ":"))),
    ({"tool_schema": {"name": "get_time"}}, "Tool not found: get_time"),
    ({"request_params_echo": {"fields": ["model"]}}, '{"model":"m"}'),
    ({"request_params_echo": {"fields": ["seed"]}}, "Not in the request: seed"),
]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(("probe", "said"), PROBES, ids=lambda value: str(value)[:40])
async def test_probes_tell_what_the_request_holds(
    wire: WireName, probe: dict[str, Any], said: str
) -> None:
    block = {"messages": [probe]}
    user = {"role": "user", "content": marked(block)}
    fields = DIALECTS[wire].system([user], "Be brief.")
    found = await texts(wire, block, **fields, tools=tools(wire), model="m")
    assert found == [said]


@pytest.mark.parametrize("wire", WIRES)
async def test_tools_are_echoed_as_they_were_sent(wire: WireName) -> None:
    (echoed,) = await texts(wire, {"messages": [{"tools_echo": {}}]}, tools=tools(wire))
    assert json.loads(echoed) == tools(wire)


@pytest.mark.parametrize("wire", WIRES)
async def test_probes_say_what_is_absent(wire: WireName) -> None:
    block = {"messages": [{"system_prompt_echo": {}}, {"tools_list": {}}, {"tools_echo": {}}]}
    said = [
        "The request has no system prompt.",
        "The request offers no tools.",
        "The request offers no tools.",
    ]
    assert await texts(wire, block) == apart(wire, said)


async def test_all_params_are_echoed_where_none_is_named() -> None:
    block = {"messages": [{"request_params_echo": {}}]}
    call = asking("openai", marked(block), stream=False, seed=7)
    (choice,) = await choices(call, stream=False)
    assert json.loads(choice.text) == json.loads(call.body)


async def test_headers_are_echoed_with_their_secrets_masked() -> None:
    call = asking(
        "openai",
        marked({"messages": [{"request_headers_echo": {}}]}),
        stream=False,
        headers={"authorization": "Bearer sk-very-secret-1234", "x-team": "qa"},
    )
    (choice,) = await choices(call, stream=False)
    assert json.loads(choice.text) == {"authorization": "Bearer ***1234", "x-team": "qa"}


@pytest.mark.parametrize(
    ("query", "raw", "echoed"),
    [
        ({}, "", "/v1/chat/completions"),
        ({"a": "1"}, "a=%31&a=1&b", "/v1/chat/completions?a=%31&a=1&b"),
        (
            {"key": "a-long-secret-1234"},
            "key=a-long-secret-1234",
            "/v1/chat/completions?key=***1234",
        ),
    ],
)
async def test_the_url_is_echoed_as_received_but_for_a_key(
    query: dict[str, str], raw: str, echoed: str
) -> None:
    call = asking("openai", marked({"messages": [{"request_url_echo": {}}]}), stream=False)
    call = Call(call.method, call.path, query, call.headers, call.body, raw)
    (choice,) = await choices(call, stream=False)
    assert choice.text == echoed


WRONG = {"messages": [{"text_message": {"length": "ten"}}]}
SAID = (
    "instruction block: messages[0].text_message.length: expected a whole number from 0 to 100000"
)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("wire", WIRES)
async def test_a_wrong_block_is_a_400_in_the_providers_envelope(
    wire: WireName, stream: bool
) -> None:
    playing = in_test_mode()
    status, headers, body = await playing.ask(asking(wire, marked(WRONG), stream=stream))
    assert (status, headers["content-type"]) == (400, "application/json")
    told = json.loads(body)
    assert DIALECTS[wire].error(told) == SAID
    if wire in ("openai", "anthropic"):
        assert told["error"]["type"] == "invalid_request_error"
        assert told["error"].get("param", "messages") == "messages"
    status, _, _ = await playing.ask(asking(wire, "Hello", stream=False))
    assert status == 200


async def test_more_text_than_the_limit_names_the_key() -> None:
    block = {"messages": [{"text_message": {"length": 100_000}}] * 5}
    status, _, body = await in_test_mode().ask(asking("openai", marked(block), stream=True))
    assert status == 400
    assert json.loads(body)["error"]["message"] == (
        "instruction block: messages[3].text_message.length: "
        "more text than the limit of 2000000 bytes"
    )


async def test_the_longest_text_there_is_streams_to_its_end() -> None:
    block = {"messages": [{"text_message": {"length": 100_000}}]}
    (choice,) = await choices(asking("openai", marked(block), stream=True), stream=True)
    assert len(choice.text.split()) == 100_000
    assert choice.finish == "stop"


@given(ANY_BLOCKS)
async def test_any_block_is_answered_or_refused_and_never_breaks_a_wire(block: Any) -> None:
    playing = in_test_mode(words_per_second=0)
    statuses = set()
    for wire in WIRES:
        for stream in (True, False):
            status, _, body = await playing.ask(asking(wire, marked(block), stream=stream))
            statuses.add(status)
            if status == 200:
                _read(wire, body, stream=stream)
    assert statuses in ({200}, {400})


def _read(wire: WireName, body: bytes, *, stream: bool) -> None:
    if wire == "openai":
        found = openai_stream(body) if stream else openai_whole(body)
        # A stream that its block breaks off has no end.
        assert found or stream
    else:
        assert DIALECTS[wire].hear(body, stream=stream).finish or stream


@given(RIGHT_BLOCKS)
async def test_any_right_block_says_the_same_streamed_and_whole(block: dict[str, Any]) -> None:
    def call(wire: WireName, stream: bool) -> Call:
        return asking(wire, marked(block), stream=stream, model="m")

    spoken = [await choices(call("openai", stream), stream=stream) for stream in (False, True)]
    assert len(spoken[0]) == len(block["messages"])
    # Ids come from the body, which differs.
    anonymous = [[(c, [k.pop("id") for k in c.calls])[0] for c in found] for found in spoken]
    assert anonymous[0] == anonymous[1]
    carried = [await blocks(call("anthropic", stream), stream=stream) for stream in (False, True)]
    assert _anonymous(carried[0]) == _anonymous(carried[1])
