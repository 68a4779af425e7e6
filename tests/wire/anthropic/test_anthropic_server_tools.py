"""Anthropic's server tools and citations: native blocks, streamed or not, in the SDK's types."""

import json
from typing import Any

import httpx2
import pytest
from anthropic import Anthropic
from anthropic.types import Message
from anthropic.types.beta import BetaMessage

from scenarios_app.engine.canonical import CanonicalResponse, Choice, Json, Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    Citation,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from tests.wire.anthropic.anthropic_cases import (
    MINIMAL_BODY,
    read_stream,
    render,
    response,
    stream,
    transport,
)

USE = ServerToolUsePart("srvtoolu_1", "web_search", '{"query":"quantum"}')
HIT: Json = {"url": "https://a.example", "title": "A", "encrypted_content": "e", "page_age": "1 d"}
SEARCH_RESULT = {"type": "web_search_result", **HIT}
CITED = TextPart(
    "It is so.", (Citation("https://a.example", "A", "so"), Citation("https://b.example"))
)


def tool_result(content: Json, name: str = "web_search", error: str | None = None) -> AnswerPart:
    return ServerToolResultPart("srvtoolu_1", name, json.dumps(content), error)


def render_block(part: AnswerPart) -> dict[str, Any]:
    (content_block,) = render(response(part))["content"]
    return content_block


def test_server_tool_use_is_a_block_with_its_input() -> None:
    assert render_block(USE) == {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {"query": "quantum"},
    }


@pytest.mark.parametrize(
    "content",
    [
        [HIT],
        HIT,
        {"type": "web_search_result", "search_results": [HIT]},
        {"results": [HIT]},
        {"content": [HIT]},
    ],
)
def test_search_results_of_any_scripted_shape_become_a_list(content: Json) -> None:
    assert render_block(tool_result(content)) == {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [SEARCH_RESULT],
    }


@pytest.mark.parametrize("content", [None, [], {"search_results": []}])
def test_search_without_results_has_an_empty_list(content: Json) -> None:
    assert render_block(tool_result(content))["content"] == []


@pytest.mark.parametrize(
    ("hit", "title", "url"),
    [("text", "text", ""), (5, "5", ""), ({"url": "u"}, "", "u"), ({"title": ["é"]}, '["é"]', "")],
)
def test_search_result_has_every_field_of_its_type(hit: Json, title: str, url: str) -> None:
    (search_result,) = render_block(tool_result([hit]))["content"]
    assert search_result == {
        "type": "web_search_result",
        "url": url,
        "title": title,
        "encrypted_content": "",
        "page_age": None,
    }


def test_scripted_text_becomes_a_search_result() -> None:
    assert [hit["title"] for hit in render_block(tool_result("just text"))["content"]] == [
        "just text"
    ]


def test_error_replaces_the_result() -> None:
    assert render_block(tool_result(None, error="unavailable"))["content"] == {
        "type": "web_search_tool_result_error",
        "error_code": "unavailable",
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("web_fetch", "web_fetch_tool_result"),
        ("bash_code_execution", "bash_code_execution_tool_result"),
        ("tool_search_tool_regex", "tool_search_tool_result"),
        ("tool_search_tool_bm25", "tool_search_tool_result"),
        ("mine", "mine_tool_result"),
    ],
)
def test_a_result_has_the_type_of_its_tool(name: str, kind: str) -> None:
    assert render_block(tool_result({"x": 1}, name))["type"] == kind
    assert render_block(tool_result(None, name, "x"))["content"]["type"] == f"{kind}_error"


@pytest.mark.parametrize(
    ("scripted", "expected"),
    [
        (None, {"type": "web_fetch_result"}),
        ({"url": "u"}, {"type": "web_fetch_result", "url": "u"}),
        ({"type": "own", "url": "u"}, {"type": "own", "url": "u"}),
        (["as it", "stands"], ["as it", "stands"]),
    ],
)
def test_result_of_another_tool_is_sent_as_scripted(scripted: Json, expected: Json) -> None:
    assert render_block(tool_result(scripted, "web_fetch"))["content"] == expected


def test_tool_search_result_has_its_own_type() -> None:
    content = render_block(tool_result({"tool_references": []}, "tool_search_tool_bm25"))["content"]
    assert content == {"type": "tool_search_tool_search_result", "tool_references": []}


def test_cited_text_lists_its_sources() -> None:
    assert render_block(CITED) == {
        "type": "text",
        "text": "It is so.",
        "citations": [
            {
                "type": "web_search_result_location",
                "url": "https://a.example",
                "title": "A",
                "cited_text": "so",
                "encrypted_index": "",
            },
            {
                "type": "web_search_result_location",
                "url": "https://b.example",
                "title": None,
                "cited_text": "",
                "encrypted_index": "",
            },
        ],
    }


def test_the_stream_of_a_search_is_exactly_the_providers() -> None:
    events = read_stream(stream(response(USE, tool_result([HIT]), CITED), delta_chars=10))
    assert [data for name, data in events if name.startswith("content_block")] == [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {**render_block(USE), "input": {}},
        },
        *[
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": piece},
            }
            for piece in ("", '{"query":"', 'quantum"}')
        ],
        {"type": "content_block_stop", "index": 0},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": render_block(tool_result([HIT])),
        },
        {"type": "content_block_stop", "index": 1},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "text", "text": "", "citations": []},
        },
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "text_delta", "text": "It is so."},
        },
        *[
            {
                "type": "content_block_delta",
                "index": 2,
                "delta": {"type": "citations_delta", "citation": citation},
            }
            for citation in render_block(CITED)["citations"]
        ],
        {"type": "content_block_stop", "index": 2},
    ]


@pytest.mark.parametrize("content", [HIT, None])
@pytest.mark.parametrize("model", [Message, BetaMessage])
def test_sdk_types_accept_a_search_with_citations(model: Any, content: Json) -> None:
    message = model.model_validate(render(response(USE, tool_result(content), CITED)), strict=True)
    assert [part.type for part in message.content] == [
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]


def test_sdk_stream_adds_up_to_the_unstreamed_message() -> None:
    answer = response(USE, tool_result([HIT]), tool_result(None, error="unavailable"), CITED)
    http = httpx2.Client(transport=transport(answer))
    with Anthropic(api_key="k", http_client=http, _strict_response_validation=True) as client:
        message = client.messages.create(**MINIMAL_BODY)
        with client.messages.stream(**MINIMAL_BODY) as streamed:
            blocks = streamed.get_final_message().to_dict()["content"]
    assert blocks == message.to_dict()["content"]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_block_start_escapes_line_separators(separator: str) -> None:
    text = f"a{separator}b"
    stream_bytes = stream(
        response(tool_result([text]), TextPart("x", (Citation(text, text, text),)))
    )
    assert separator not in stream_bytes.decode()
    titles = [
        data["content_block"]["content"][0]["title"]
        for name, data in read_stream(stream_bytes)
        if name == "content_block_start" and data["index"] == 0
    ]
    assert titles == [text]


def test_message_with_tool_calls_in_any_choice_stops_for_tool_use() -> None:
    def stop_reason_of(*choices: Choice) -> str:
        answer = CanonicalResponse("ab12", 0, "claude-x", choices, Usage(1, 1))
        stop_reason: str = render(answer)["stop_reason"]
        return stop_reason

    calls = Choice((ToolCallPart("toolu_1", "f", "{}"),), "tool_calls")
    text = Choice((TextPart("x"),), "stop")
    assert stop_reason_of(calls, text) == stop_reason_of(text, calls, text) == "tool_use"
    assert stop_reason_of(text, text) == "end_turn"
    assert stop_reason_of(calls, Choice((TextPart("x"),), "length")) == "max_tokens"
