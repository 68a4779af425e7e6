"""Lines of Ollama's streams, and the same content as the unstreamed body."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.parts import (
    AnswerPart,
    PartDelta,
    PartEnd,
    PartStart,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from tests.wire.ollama.ollama_cases import (
    ROUTES,
    STAMP,
    answer,
    join_lines,
    parse,
    parse_generate,
    parse_lines,
    render,
    stream,
)

CHAT, GENERATE = parse(), parse_generate()
REQUESTS = pytest.mark.parametrize("request_", [CHAT, GENERATE], ids=["chat", "generate"])
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
ARGUMENTS = st.sampled_from(["{}", '{"a":1}', '{"a":{"b":["ü"]}}', "{", "[1]", ""])
PARTS: st.SearchStrategy[AnswerPart] = st.one_of(
    st.builds(TextPart, TEXT),
    st.builds(ReasoningPart, TEXT),
    st.builds(RefusalPart, TEXT),
    st.builds(ToolCallPart, st.just("id"), st.text("fg_", min_size=1, max_size=3), ARGUMENTS),
    st.builds(ServerToolUsePart, st.just("id"), st.just("s"), st.just("{}")),
    st.builds(ServerToolResultPart, st.just("id"), st.just("s"), st.just("[]")),
)


def test_chat_stream_has_exact_lines() -> None:
    stream_bytes = stream(
        CHAT,
        answer([ReasoningPart("Hm."), TextPart("Hello"), ToolCallPart("1", "f", '{"a":1}')]),
        sizes=(3, 3, 2, 4),
    )
    head = {"model": "llama3.2", "created_at": STAMP}
    message_fields: list[dict[str, Any]] = [
        {"content": "", "thinking": "Hm."},
        {"content": "Hel"},
        {"content": "lo"},
        {"content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]},
    ]
    *lines, last = parse_lines(stream_bytes)
    assert lines == [
        {**head, "message": {"role": "assistant", **fields}, "done": False}
        for fields in message_fields
    ]
    assert last["message"] == {"role": "assistant", "content": ""}
    assert (last["done"], last["done_reason"], last["eval_count"]) == (True, "stop", 2)


def test_generate_stream_ends_with_the_context() -> None:
    stream_bytes = stream(GENERATE, answer([ReasoningPart("Hm."), TextPart("Hi")]))
    *lines, last = parse_lines(stream_bytes)
    assert [line["response"] for line in lines] == ["", "Hi"]
    assert [line.get("thinking") for line in lines] == ["Hm.", None]
    assert (last["response"], last["done"]) == ("", True)
    assert last["context"] == render(GENERATE, answer([TextPart("Hi")]))["context"]


@REQUESTS
def test_empty_response_is_only_the_last_line(request_: CanonicalRequest) -> None:
    (line,) = parse_lines(stream(request_, answer([TextPart("")])))
    assert line["done"] is True


@REQUESTS
@given(
    choices=st.lists(st.lists(PARTS, max_size=4), min_size=1, max_size=3),
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3),
)
def test_stream_adds_up_to_the_unstreamed_body(
    request_: CanonicalRequest, choices: list[list[AnswerPart]], sizes: list[int]
) -> None:
    response = answer(*choices)
    assert join_lines(parse_lines(stream(request_, response, sizes))) == render(request_, response)


def test_line_ends_in_texts_are_escaped() -> None:
    text = "a\nb\r\nc\u2028d\u2029e\x85f\x0b\x0c\x1c\0"
    response = answer(
        [ReasoningPart(text), TextPart(text), ToolCallPart("1", text, '{\n "a": "\u2028" }')],
        metadata={"note": text},
    )
    stream_bytes = stream(CHAT, response, sizes=(100,))
    assert len(parse_lines(stream_bytes)) == 4
    assert join_lines(parse_lines(stream_bytes)) == render(CHAT, response)


def test_interleaved_calls_are_sent_in_order_at_their_ends() -> None:
    first, second = ToolCallPart("1", "f", '{"a":1}'), ToolCallPart("2", "g", "{}")
    encoder = ROUTES["chat"].encode(CHAT, answer([first, second]))
    outputs = [
        encoder.event(event)
        for event in (
            PartStart(0, 0, first),
            PartDelta(0, 0, first, '{"a"'),
            PartStart(0, 1, second),
            PartDelta(0, 1, second, "{}"),
            PartEnd(0, 1, second),
            PartDelta(0, 0, first, ":1}"),
            PartEnd(0, 0, first),
        )
    ]
    assert outputs[:-1] == [b""] * 6
    names = [
        line["message"]["tool_calls"][0]["function"]["name"] for line in parse_lines(outputs[-1])
    ]
    assert names == ["f", "g"]


def test_metadata_fields_are_only_in_the_last_line() -> None:
    response = answer([TextPart("Hi")], metadata={"model": "other", "remote_model": "big"})
    first, last = parse_lines(stream(CHAT, response))
    assert (first["model"], last["model"]) == ("other", "other")
    assert "remote_model" not in first and last["remote_model"] == "big"
