"""Server tools are left out of chat completions; citations become annotations."""

from typing import Any

import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from scenarios_app.engine.parts import (
    AnswerPart,
    Citation,
    ReasoningPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
)
from tests.wire.openai.openai_cases import answer, parse, parse_chunks, render, stream

USE = ServerToolUsePart("srvtoolu_1", "web_search", '{"query":"quantum"}')
RESULT = ServerToolResultPart("srvtoolu_1", "web_search", "[]")
CITED = TextPart("It is so.", (Citation("https://a.example", "A", "so"), Citation("u")))


def annotation(
    start: int, end: int, url: str = "https://a.example", title: str = "A"
) -> dict[str, Any]:
    source = {"start_index": start, "end_index": end, "title": title, "url": url}
    return {"type": "url_citation", "url_citation": source}


def stream_choices(
    *choices: tuple[AnswerPart, ...],
) -> list[tuple[int, dict[str, Any], str | None]]:
    """Return index, delta and finish reason of each chunk of a stream without a role."""
    choices_of_chunks = [
        chunk["choices"][0] for chunk in parse_chunks(stream(parse(), answer(*choices), (9,)))
    ]
    return [
        (c["index"], c["delta"], c["finish_reason"])
        for c in choices_of_chunks
        if "role" not in c["delta"]
    ]


def test_server_tools_are_left_out_but_their_choices_keep_the_index() -> None:
    body = render(parse(), answer((USE,), (RESULT,), (ReasoningPart("Hm."), USE, TextPart("x"))))
    assert [choice["index"] for choice in body["choices"]] == [0, 1, 2]
    assert [choice["finish_reason"] for choice in body["choices"]] == ["stop"] * 3
    assert [choice["message"]["content"] for choice in body["choices"]] == ["", "", "x"]
    assert body["choices"][2]["message"]["reasoning"] == "Hm."


def test_server_tools_are_left_out_of_a_stream() -> None:
    assert stream_choices((USE,), (RESULT,), (USE, RESULT, TextPart("x"))) == [
        (0, {}, "stop"),
        (1, {}, "stop"),
        (2, {"content": "x"}, None),
        (2, {}, "stop"),
    ]


def test_citations_are_annotations_of_the_message() -> None:
    body = render(parse(), answer((TextPart("Well. "), CITED)))
    (choice,) = body["choices"]
    assert choice["message"]["content"] == "Well. It is so."
    assert choice["message"]["annotations"] == [annotation(12, 14), annotation(6, 15, "u", "")]


def test_citations_follow_their_text_in_a_stream() -> None:
    assert stream_choices((TextPart("Well. "), CITED)) == [
        (0, {"content": "Well. "}, None),
        (0, {"content": "It is so."}, None),
        (0, {"annotations": [annotation(12, 14), annotation(6, 15, "u", "")]}, None),
        (0, {}, "stop"),
    ]


@pytest.mark.parametrize(
    ("words", "span"), [("It", (0, 2)), ("so.", (6, 9)), ("elsewhere", (0, 9)), ("", (0, 9))]
)
def test_a_citation_spans_its_words_or_the_whole_text(words: str, span: tuple[int, int]) -> None:
    part = TextPart("It is so.", (Citation("https://a.example", "A", words),))
    (choice,) = render(parse(), answer((part,)))["choices"]
    assert choice["message"]["annotations"] == [annotation(*span)]


def test_sdk_types_accept_server_tools_and_citations() -> None:
    choices = ((USE,), (RESULT,), (CITED,))
    ChatCompletion.model_validate(render(parse(), answer(*choices)), strict=True)
    for chunk in parse_chunks(stream(parse(), answer(*choices))):
        ChatCompletionChunk.model_validate(chunk, strict=True)


@pytest.mark.parametrize("separator", ["\u2028", "\x85"])
def test_line_separators_in_citations_are_escaped(separator: str) -> None:
    part = TextPart("x", (Citation(f"u{separator}", f"t{separator}"),))
    stream_bytes = stream(parse(), answer((part,)))
    assert separator not in stream_bytes.decode()
    assert [d["annotations"] for _, d, _ in stream_choices((part,)) if "annotations" in d] == [
        [annotation(0, 1, f"u{separator}", f"t{separator}")]
    ]
