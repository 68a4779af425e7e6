"""Anthropic's own tools and citations: native blocks, whole and streamed, as the SDK types them."""

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
    LEAST,
    read_stream,
    render,
    response,
    stream,
    transport,
)

USE = ServerToolUsePart("srvtoolu_1", "web_search", '{"query":"quantum"}')
HIT: Json = {"url": "https://a.example", "title": "A", "encrypted_content": "e", "page_age": "1 d"}
FOUND = {"type": "web_search_result", **HIT}  # type: ignore[dict-item]
CITED = TextPart(
    "It is so.", (Citation("https://a.example", "A", "so"), Citation("https://b.example"))
)


def gave(content: Json, name: str = "web_search", error: str | None = None) -> AnswerPart:
    return ServerToolResultPart("srvtoolu_1", name, json.dumps(content), error)


def block(part: AnswerPart) -> dict[str, Any]:
    (found,) = render(response(part))["content"]
    return found


def test_a_use_is_a_block_with_its_input() -> None:
    assert block(USE) == {
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
def test_a_searchs_results_are_a_list_of_hits_however_they_are_scripted(content: Json) -> None:
    assert block(gave(content)) == {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [FOUND],
    }


@pytest.mark.parametrize("content", [None, [], {"search_results": []}])
def test_a_search_may_find_nothing(content: Json) -> None:
    assert block(gave(content))["content"] == []


@pytest.mark.parametrize(
    ("hit", "title", "url"),
    [("text", "text", ""), (5, "5", ""), ({"url": "u"}, "", "u"), ({"title": ["é"]}, '["é"]', "")],
)
def test_a_hit_has_every_field_that_its_type_asks_for(hit: Json, title: str, url: str) -> None:
    (found,) = block(gave([hit]))["content"]
    assert found == {
        "type": "web_search_result",
        "url": url,
        "title": title,
        "encrypted_content": "",
        "page_age": None,
    }


def test_a_search_for_a_text_has_that_as_its_hit() -> None:
    assert [hit["title"] for hit in block(gave("just text"))["content"]] == ["just text"]


def test_an_error_takes_the_place_of_a_result() -> None:
    assert block(gave(None, error="unavailable"))["content"] == {
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
    assert block(gave({"x": 1}, name))["type"] == kind
    assert block(gave(None, name, "x"))["content"]["type"] == f"{kind}_error"


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (None, {"type": "web_fetch_result"}),
        ({"url": "u"}, {"type": "web_fetch_result", "url": "u"}),
        ({"type": "own", "url": "u"}, {"type": "own", "url": "u"}),
        (["as it", "stands"], ["as it", "stands"]),
    ],
)
def test_another_tools_result_is_sent_as_it_is_scripted(given: Json, sent: Json) -> None:
    assert block(gave(given, "web_fetch"))["content"] == sent


def test_a_tool_searchs_result_has_a_name_of_its_own() -> None:
    sent = block(gave({"tool_references": []}, "tool_search_tool_bm25"))["content"]
    assert sent == {"type": "tool_search_tool_search_result", "tool_references": []}


def test_a_text_names_its_sources() -> None:
    assert block(CITED) == {
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
    events = read_stream(stream(response(USE, gave([HIT]), CITED), cut=10))
    assert [data for name, data in events if name.startswith("content_block")] == [
        {"type": "content_block_start", "index": 0, "content_block": {**block(USE), "input": {}}},
        *[
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": piece},
            }
            for piece in ("", '{"query":"', 'quantum"}')
        ],
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": block(gave([HIT]))},
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
            for citation in block(CITED)["citations"]
        ],
        {"type": "content_block_stop", "index": 2},
    ]


@pytest.mark.parametrize("content", [HIT, None])
@pytest.mark.parametrize("model", [Message, BetaMessage])
def test_the_sdks_types_accept_it(model: Any, content: Json) -> None:
    found = model.model_validate(render(response(USE, gave(content), CITED)), strict=True)
    assert [part.type for part in found.content] == [
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]


def test_the_sdk_puts_a_stream_together_to_the_whole_message() -> None:
    answer = response(USE, gave([HIT]), gave(None, error="unavailable"), CITED)
    http = httpx2.Client(transport=transport(answer))
    with Anthropic(api_key="k", http_client=http, _strict_response_validation=True) as client:
        whole = client.messages.create(**LEAST)
        with client.messages.stream(**LEAST) as streamed:
            blocks = streamed.get_final_message().to_dict()["content"]
    assert blocks == whole.to_dict()["content"]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_block_start_escapes_line_separators(separator: str) -> None:
    text = f"a{separator}b"
    sent = stream(response(gave([text]), TextPart("x", (Citation(text, text, text),))))
    assert separator not in sent.decode()
    titles = [
        data["content_block"]["content"][0]["title"]
        for name, data in read_stream(sent)
        if name == "content_block_start" and data["index"] == 0
    ]
    assert titles == [text]


def test_a_message_that_calls_tools_anywhere_stops_for_them() -> None:
    def reason(*choices: Choice) -> str:
        answer = CanonicalResponse("ab12", 0, "claude-x", choices, Usage(1, 1))
        stopped: str = render(answer)["stop_reason"]
        return stopped

    calls = Choice((ToolCallPart("toolu_1", "f", "{}"),), "tool_calls")
    text = Choice((TextPart("x"),), "stop")
    assert reason(calls, text) == reason(text, calls, text) == "tool_use"
    assert reason(text, text) == "end_turn"
    assert reason(calls, Choice((TextPart("x"),), "length")) == "max_tokens"
