"""Hosted tools and their results on each wire, rendered, streamed and decoded."""

import json
from typing import Any

import pytest

from scenarios_app.engine.parts import (
    AnswerPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
)
from tests.wire.exchanges import decode_body, encode_events, read_request, render_body

DONE = TextPart("Done.")
INCLUDE = [
    "web_search_call.action.sources",
    "code_interpreter_call.outputs",
    "file_search_call.results",
]
HITS = [{"url": "https://a.example", "title": "A"}, {"title": "no address"}]
MCP_TOOLS = [{"name": "ask", "description": "Asks.", "input_schema": {"type": "object"}}]


def tool_parts(
    name: str, arguments: Any, result: Any = None, *, error: str | None = None, server: str = ""
) -> tuple[AnswerPart, ...]:
    """Return the parts of a tool use and its result, if there is one."""
    use = ServerToolUsePart("s-1", name, json.dumps(arguments), server)
    if result is None and error is None:
        return (use,)
    return use, ServerToolResultPart("s-1", name, json.dumps(result), error, server)


SEARCH = tool_parts("web_search", {"query": "rain"}, HITS)
CODE = tool_parts("code_execution", {"code": "print(1)"}, {"stdout": "1\n", "stderr": "warned"})
FILES = tool_parts("file_search", {"queries": ["tower"]}, [{"document": "a.txt", "text": "Tower."}])
IMAGE = tool_parts("image_generation", {"prompt": "a cat", "size": "512x512"}, "aW1n")
MCP_CALL = tool_parts("ask", {"q": 1}, "yes", server="wiki")
MCP_LISTING = tool_parts("mcp_list_tools", {}, MCP_TOOLS, server="wiki")


def render_item(*parts: AnswerPart, **keys: Any) -> dict[str, Any]:
    """Return a Response's single tool item without its id; check that a stream has the same."""
    first, *others = render_body("responses", *parts, DONE, **keys)["output"]
    assert [other["type"] for other in others] == ["message"]
    events = encode_events("responses", *parts, DONE, stream=True, **keys)
    items = [e["item"] for e in events if e["type"] == "response.output_item.done"]
    assert items[0] == first == events[-1]["response"]["output"][0]
    del first["id"]
    return dict(first)


def stream_event_types(*parts: AnswerPart) -> list[str]:
    """Return the event types of a Response's first item."""
    events = encode_events("responses", *parts, stream=True)
    return [e["type"].removeprefix("response.") for e in events if e.get("output_index") == 0]


def test_web_search_shows_its_sources_if_they_are_included() -> None:
    action: dict[str, Any] = {"type": "search", "query": "rain", "queries": ["rain"]}
    expected = {"type": "web_search_call", "status": "completed", "action": action}
    assert render_item(*SEARCH) == expected
    action["sources"] = [{"type": "url", "url": "https://a.example"}]
    assert render_item(*SEARCH, include=INCLUDE) == expected


def test_file_search_shows_its_results_if_they_are_included() -> None:
    expected = {"type": "file_search_call", "status": "completed", "queries": ["tower"]}
    assert render_item(*FILES) == {**expected, "results": None}
    result = {"attributes": {}, "file_id": None, "score": None, "filename": "a.txt"}
    assert render_item(*FILES, include=INCLUDE) == {
        **expected,
        "results": [{**result, "text": "Tower."}],
    }
    assert stream_event_types(*FILES) == [
        "output_item.added",
        "file_search_call.in_progress",
        "file_search_call.searching",
        "file_search_call.completed",
        "output_item.done",
    ]


@pytest.mark.parametrize(
    ("result", "error", "logs"),
    [
        ({"stdout": "1\n", "stderr": "warned"}, None, "1\nwarned"),
        ({"stdout": "1\n", "stderr": None}, None, "1\n"),
        ("1\n", None, "1\n"),
        ([1], None, "[1]"),
        (None, "too slow", "too slow"),
    ],
)
def test_code_shows_its_output_if_it_is_included(result: Any, error: Any, logs: str) -> None:
    parts = tool_parts("code_execution", {"code": "print(1)"}, result, error=error)
    item = render_item(*parts, include=INCLUDE)
    assert item.pop("container_id").startswith("cntr_")
    assert item == {
        "type": "code_interpreter_call",
        "status": "failed" if error else "completed",
        "code": "print(1)",
        "outputs": [{"type": "logs", "logs": logs}],
    }
    assert render_item(*parts)["outputs"] is None


def test_code_is_streamed_in_a_delta() -> None:
    assert stream_event_types(*CODE) == [
        "output_item.added",
        "code_interpreter_call.in_progress",
        "code_interpreter_call_code.delta",
        "code_interpreter_call_code.done",
        "code_interpreter_call.interpreting",
        "code_interpreter_call.completed",
        "output_item.done",
    ]
    events = encode_events("responses", *CODE, stream=True)
    assert [e["delta"] for e in events if "delta" in e] == ["print(1)"]
    assert render_item(*tool_parts("code_execution", {"x": 1}))["code"] == '{"x": 1}'


def test_use_without_result_has_no_output() -> None:
    assert (
        render_item(*tool_parts("code_execution", {"code": "1"}), include=INCLUDE)["outputs"]
        is None
    )


def test_generated_image_is_the_result_of_its_item() -> None:
    assert render_item(*IMAGE) == {
        "type": "image_generation_call",
        "status": "completed",
        "action": "generate",
        "background": "opaque",
        "output_format": "png",
        "quality": "auto",
        "result": "aW1n",
        "revised_prompt": "a cat",
        "size": "512x512",
    }
    assert stream_event_types(*IMAGE)[1:-1] == [
        "image_generation_call.in_progress",
        "image_generation_call.generating",
        "image_generation_call.completed",
    ]


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ("yes", "yes"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ({"a": 1}, '{"a":1}'),
    ],
)
def test_mcp_call_has_its_arguments_and_the_text_of_its_result(result: Any, output: str) -> None:
    assert render_item(*tool_parts("ask", {"q": 1}, result, server="wiki")) == {
        "type": "mcp_call",
        "status": "completed",
        "approval_request_id": None,
        "arguments": '{"q": 1}',
        "error": None,
        "name": "ask",
        "output": output,
        "server_label": "wiki",
    }


def test_mcp_call_streams_its_arguments() -> None:
    assert stream_event_types(*MCP_CALL) == [
        "output_item.added",
        "mcp_call.in_progress",
        "mcp_call_arguments.delta",
        "mcp_call_arguments.done",
        "mcp_call.completed",
        "output_item.done",
    ]


def test_failed_mcp_call_has_an_error_and_its_event() -> None:
    failed_call = tool_parts("ask", {}, error="no such wiki", server="wiki")
    item = render_item(*failed_call)
    content = [{"type": "text", "text": "no such wiki"}]
    assert item["error"] == {"type": "mcp_tool_execution_error", "content": content}
    assert (item["status"], item["output"]) == ("failed", None)
    assert stream_event_types(*failed_call)[-2:] == ["mcp_call.failed", "output_item.done"]


def test_list_of_mcp_tools_is_an_item_or_a_block() -> None:
    expected = {"type": "mcp_list_tools", "server_label": "wiki", "error": None}
    assert render_item(*MCP_LISTING) == {
        **expected,
        "tools": [{**MCP_TOOLS[0], "annotations": None}],
    }
    assert stream_event_types(*MCP_LISTING)[-2:] == ["mcp_list_tools.completed", "output_item.done"]
    failed = tool_parts("mcp_list_tools", {}, error="gone", server="wiki")
    assert render_item(*failed) == {**expected, "tools": [], "error": "gone"}
    assert stream_event_types(*failed)[-2:] == ["mcp_list_tools.failed", "output_item.done"]
    listing = {"type": "mcp_tool_listing", "mcp_server_name": "wiki"}
    assert render_blocks(*MCP_LISTING) == [{**listing, "tools": MCP_TOOLS}]
    assert render_blocks(*failed) == [{**listing, "tools": []}]


def render_blocks(*parts: AnswerPart) -> list[dict[str, Any]]:
    """Return a message's blocks before the last text; check that a stream has the same."""
    content = render_body("anthropic", *parts, DONE)["content"]
    events = encode_events("anthropic", *parts, DONE, stream=True)
    starts = [e["content_block"]["type"] for e in events if e["type"] == "content_block_start"]
    assert starts == [block["type"] for block in content]
    return list(content[:-1])


def test_mcp_call_is_two_blocks_of_anthropic() -> None:
    use, result = render_blocks(*MCP_CALL)
    assert use == {
        "type": "mcp_tool_use",
        "id": "s-1",
        "name": "ask",
        "server_name": "wiki",
        "input": {"q": 1},
    }
    expected = {"type": "mcp_tool_result", "tool_use_id": "s-1", "is_error": False}
    assert result == {**expected, "content": [{"type": "text", "text": "yes"}]}
    content = [{"type": "text", "text": "a"}]
    assert render_blocks(*tool_parts("ask", {}, content, server="w"))[1]["content"] == content
    failed = render_blocks(*tool_parts("ask", {}, error="gone", server="w"))[1]
    assert (failed["is_error"], failed["content"][0]["text"]) == (True, "gone")


@pytest.mark.parametrize("name", ["code_execution", "bash_code_execution"])
@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("1\n", {"stdout": "1\n"}),
        ({"stdout": "", "stderr": "oops", "return_code": 1}, {"stderr": "oops", "return_code": 1}),
        ({"stdout": "1"}, {"stdout": "1"}),
    ],
)
def test_output_of_code_has_every_field_of_anthropic(name: str, result: Any, expected: Any) -> None:
    _, block = render_blocks(*tool_parts(name, {}, result))
    empty = {"stdout": "", "stderr": "", "return_code": 0, "content": []}
    assert block["content"] == {"type": f"{name}_result", **empty, **expected}


@pytest.mark.parametrize("parts", [FILES, IMAGE, tool_parts("google_maps", {}, {})])
def test_tools_that_anthropic_lacks_are_left_out(parts: tuple[AnswerPart, ...]) -> None:
    assert render_blocks(*parts) == []


def test_gemini_has_images_but_no_mcp_calls() -> None:
    def parts_of(*parts: AnswerPart) -> list[Any]:
        return list(render_body("gemini", *parts, DONE)["candidates"][0]["content"]["parts"][:-1])

    assert parts_of(*IMAGE) == [{"inlineData": {"mimeType": "image/png", "data": "aW1n"}}]
    assert parts_of(*tool_parts("image_generation", {}, {"url": "u"})) == []
    assert parts_of(*MCP_CALL, *MCP_LISTING) == []
    queries = render_body("gemini", *tool_parts("web_search", {"queries": ["a", "b"]}), DONE)
    grounding = queries["candidates"][0]["groundingMetadata"]
    assert grounding == {"webSearchQueries": ["a", "b"]}
    assert "groundingMetadata" not in str(
        render_body("gemini", *tool_parts("web_search", ["a"]), DONE)
    )


@pytest.mark.parametrize("wire", ["chat", "ollama"])
def test_other_apis_leave_hosted_tools_out(wire: str) -> None:
    assert "web_search" not in json.dumps(render_body(wire, *SEARCH, DONE))
    assert "Done." in json.dumps(render_body(wire, *SEARCH, DONE))


WIKI = {"server": "wiki", "name": "ask"}


@pytest.mark.parametrize(
    ("parts", "scripted"),
    [
        (SEARCH, {"tool": "web_search", "input": {"queries": ["rain"]}}),
        (CODE, {"tool": "code_execution", "input": {"code": "print(1)"}}),
        (FILES, {"tool": "file_search", "input": {"queries": ["tower"]}, "result": []}),
        (MCP_CALL, {"tool": "mcp", "input": {"q": 1}, **WIKI, "result": "yes"}),
        (
            MCP_LISTING,
            {"tool": "mcp_list_tools", "input": {}, "server": "wiki", "result": MCP_TOOLS},
        ),
        (
            tool_parts("image_generation", {}, "aW1n"),
            {
                "tool": "image_generation",
                "input": {"size": "1024x1024", "quality": "auto"},
                "result": "aW1n",
            },
        ),
    ],
)
def test_recorded_item_becomes_a_hosted_tool(parts: Any, scripted: Any) -> None:
    expected = {"parts": [{"hosted_tool": scripted}, {"text": "Done."}]}
    assert decode_body("responses", render_body("responses", *parts, DONE)) == (expected, ())
    assert decode_body("responses", encode_events("responses", *parts, DONE, stream=True)) == (
        expected,
        (),
    )


def test_recorded_output_of_code_becomes_its_result() -> None:
    body = render_body("responses", *CODE, include=INCLUDE)
    scripted = {"tool": "code_execution", "input": {"code": "print(1)"}, "result": "1\nwarned"}
    assert decode_body("responses", body) == ({"parts": [{"hosted_tool": scripted}]}, ())


RECORDED_MCP_CALL = {"type": "mcp_call", "error": None, "output": "yes", "arguments": "{}", **WIKI}


@pytest.mark.parametrize(
    "item",
    [
        {"type": "web_search_call", "status": "completed", "action": {"type": "open_page"}},
        {"type": "web_search_call", "status": "completed", "action": {"queries": [], "sources": 1}},
        {"type": "web_search_call", "status": "failed"},
        {
            "type": "code_interpreter_call",
            "status": "completed",
            "code": "1",
            "outputs": [{"type": "image", "url": "u"}],
        },
        RECORDED_MCP_CALL,
        {**RECORDED_MCP_CALL, "server_label": "wiki", "arguments": "[]"},
        {"type": "mcp_list_tools", "tools": [], "server_label": "wiki", "error": "gone"},
        {"type": "computer_call"},
    ],
)
def test_recorded_item_without_an_equivalent_is_lost(item: Any) -> None:
    _, lost = decode_body("responses", {"output": [item]})
    assert lost == (item["type"],)


@pytest.mark.parametrize(
    ("parts", "scripted"),
    [
        (
            tool_parts("web_search", {"query": "q"}, [{"url": "u", "encrypted_content": "e"}]),
            {
                "tool": "web_search",
                "input": {"query": "q"},
                "id": "s-1",
                "result": [
                    {
                        "type": "web_search_result",
                        "url": "u",
                        "title": "",
                        "encrypted_content": "e",
                        "page_age": None,
                    }
                ],
            },
        ),
        (
            tool_parts("web_fetch", {"url": "u"}, error="url_not_accessible"),
            {
                "tool": "web_fetch",
                "input": {"url": "u"},
                "id": "s-1",
                "error": "url_not_accessible",
            },
        ),
        (
            MCP_CALL,
            {
                "tool": "mcp",
                "input": {"q": 1},
                "server": "wiki",
                "name": "ask",
                "id": "s-1",
                "result": [{"type": "text", "text": "yes"}],
            },
        ),
        (tool_parts("web_search", {}), {"tool": "web_search", "input": {}, "id": "s-1"}),
    ],
)
def test_recorded_blocks_become_a_hosted_tool(parts: Any, scripted: Any) -> None:
    expected = {"parts": [{"hosted_tool": scripted}, {"text": "Done."}]}
    assert decode_body("anthropic", render_body("anthropic", *parts, DONE)) == (expected, ())
    assert decode_body("anthropic", encode_events("anthropic", *parts, DONE, stream=True)) == (
        expected,
        (),
    )


USE = {"type": "server_tool_use", "id": "s-1", "name": "web_fetch", "input": {}}
FETCH = {"type": "web_fetch_tool_result", "tool_use_id": "s-1"}


@pytest.mark.parametrize(
    ("recorded", "lost"),
    [
        ([{**USE, "name": "advisor"}], "server_tool_use"),
        ([{**USE, "input": "{"}], "server_tool_use"),
        ([{**USE, "type": "mcp_tool_use", "server_name": "w", "name": None}], "mcp_tool_use"),
        ([{**FETCH, "content": {}}], "web_fetch_tool_result"),
        ([USE, {**FETCH, "tool_use_id": "s-2", "content": {}}], "web_fetch_tool_result"),
        (
            [USE, {**FETCH, "content": {"type": "e_error", "error_code": "x", "more": 1}}],
            "web_fetch_tool_result",
        ),
        (
            [USE, {**FETCH, "type": "mcp_tool_result", "is_error": True, "content": []}],
            "mcp_tool_result",
        ),
    ],
)
def test_recorded_block_without_an_equivalent_is_lost(recorded: Any, lost: str) -> None:
    assert decode_body("anthropic", {"content": recorded})[1] == (lost,)


@pytest.mark.parametrize("parts", [SEARCH, CODE, MCP_CALL, MCP_LISTING])
@pytest.mark.parametrize("wire", ["responses", "anthropic"])
def test_returned_hosted_tools_belong_to_the_assistant_message(wire: str, parts: Any) -> None:
    body = render_body(wire, *parts, DONE)
    user = {"role": "user", "content": "And then?"}
    if wire == "responses":
        _, request = read_request(wire, input=[user, *body["output"], user])
    else:
        answer = {"role": "assistant", "content": body["content"]}
        _, request = read_request(wire, messages=[user, answer, user])
    assert [message.role for message in request.messages] == ["user", "assistant", "user"]
    assert request.messages[1].text == "Done."
    assert request.turn == 2
