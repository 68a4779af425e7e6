"""Hosted tools with their results on each wire, whole and streamed, and back from recordings."""

import json
from typing import Any

import pytest

from scenarios_app.engine.parts import (
    AnswerPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
)
from tests.wire.exchanges import decoded, events, read, whole

DONE = TextPart("Done.")
INCLUDE = [
    "web_search_call.action.sources",
    "code_interpreter_call.outputs",
    "file_search_call.results",
]
HITS = [{"url": "https://a.example", "title": "A"}, {"title": "no address"}]
LISTED = [{"name": "ask", "description": "Asks.", "input_schema": {"type": "object"}}]


def tool(
    name: str, given: Any, result: Any = None, *, error: str | None = None, server: str = ""
) -> tuple[AnswerPart, ...]:
    """Return a use and its result, if there is one."""
    use = ServerToolUsePart("s-1", name, json.dumps(given), server)
    if result is None and error is None:
        return (use,)
    return use, ServerToolResultPart("s-1", name, json.dumps(result), error, server)


SEARCH = tool("web_search", {"query": "rain"}, HITS)
CODE = tool("code_execution", {"code": "print(1)"}, {"stdout": "1\n", "stderr": "warned"})
FILES = tool("file_search", {"queries": ["tower"]}, [{"document": "a.txt", "text": "Tower."}])
IMAGE = tool("image_generation", {"prompt": "a cat", "size": "512x512"}, "aW1n")
ASK = tool("ask", {"q": 1}, "yes", server="wiki")
LIST = tool("mcp_list_tools", {}, LISTED, server="wiki")


def item(*parts: AnswerPart, **keys: Any) -> dict[str, Any]:
    """Return the only item of a Response beside a message, without its id, the same streamed."""
    first, *others = whole("responses", *parts, DONE, **keys)["output"]
    assert [other["type"] for other in others] == ["message"]
    sent = events("responses", *parts, DONE, stream=True, **keys)
    items = [e["item"] for e in sent if e["type"] == "response.output_item.done"]
    assert items[0] == first == sent[-1]["response"]["output"][0]
    del first["id"]
    return dict(first)


def kinds(*parts: AnswerPart) -> list[str]:
    """Return the events of a Response's first item by name."""
    sent = events("responses", *parts, stream=True)
    return [e["type"].removeprefix("response.") for e in sent if e.get("output_index") == 0]


def test_web_search_shows_its_sources_if_they_are_included() -> None:
    action: dict[str, Any] = {"type": "search", "query": "rain", "queries": ["rain"]}
    expected = {"type": "web_search_call", "status": "completed", "action": action}
    assert item(*SEARCH) == expected
    action["sources"] = [{"type": "url", "url": "https://a.example"}]
    assert item(*SEARCH, include=INCLUDE) == expected


def test_file_search_shows_its_results_if_they_are_included() -> None:
    expected = {"type": "file_search_call", "status": "completed", "queries": ["tower"]}
    assert item(*FILES) == {**expected, "results": None}
    found = {"attributes": {}, "file_id": None, "score": None, "filename": "a.txt"}
    assert item(*FILES, include=INCLUDE) == {**expected, "results": [{**found, "text": "Tower."}]}
    assert kinds(*FILES) == [
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
    parts = tool("code_execution", {"code": "print(1)"}, result, error=error)
    shown = item(*parts, include=INCLUDE)
    assert shown.pop("container_id").startswith("cntr_")
    assert shown == {
        "type": "code_interpreter_call",
        "status": "failed" if error else "completed",
        "code": "print(1)",
        "outputs": [{"type": "logs", "logs": logs}],
    }
    assert item(*parts)["outputs"] is None


def test_code_streams_as_itself() -> None:
    assert kinds(*CODE) == [
        "output_item.added",
        "code_interpreter_call.in_progress",
        "code_interpreter_call_code.delta",
        "code_interpreter_call_code.done",
        "code_interpreter_call.interpreting",
        "code_interpreter_call.completed",
        "output_item.done",
    ]
    sent = events("responses", *CODE, stream=True)
    assert [e["delta"] for e in sent if "delta" in e] == ["print(1)"]
    assert item(*tool("code_execution", {"x": 1}))["code"] == '{"x": 1}'


def test_use_without_result_has_no_output() -> None:
    assert item(*tool("code_execution", {"code": "1"}), include=INCLUDE)["outputs"] is None


def test_generated_image_is_the_result_of_its_item() -> None:
    assert item(*IMAGE) == {
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
    assert kinds(*IMAGE)[1:-1] == [
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
    assert item(*tool("ask", {"q": 1}, result, server="wiki")) == {
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
    assert kinds(*ASK) == [
        "output_item.added",
        "mcp_call.in_progress",
        "mcp_call_arguments.delta",
        "mcp_call_arguments.done",
        "mcp_call.completed",
        "output_item.done",
    ]


def test_failed_mcp_call_has_an_error_and_its_event() -> None:
    failed = tool("ask", {}, error="no such wiki", server="wiki")
    shown = item(*failed)
    content = [{"type": "text", "text": "no such wiki"}]
    assert shown["error"] == {"type": "mcp_tool_execution_error", "content": content}
    assert (shown["status"], shown["output"]) == ("failed", None)
    assert kinds(*failed)[-2:] == ["mcp_call.failed", "output_item.done"]


def test_list_of_mcp_tools_is_an_item_or_a_block() -> None:
    expected = {"type": "mcp_list_tools", "server_label": "wiki", "error": None}
    assert item(*LIST) == {**expected, "tools": [{**LISTED[0], "annotations": None}]}
    assert kinds(*LIST)[-2:] == ["mcp_list_tools.completed", "output_item.done"]
    failed = tool("mcp_list_tools", {}, error="gone", server="wiki")
    assert item(*failed) == {**expected, "tools": [], "error": "gone"}
    assert kinds(*failed)[-2:] == ["mcp_list_tools.failed", "output_item.done"]
    listing = {"type": "mcp_tool_listing", "mcp_server_name": "wiki"}
    assert blocks(*LIST) == [{**listing, "tools": LISTED}]
    assert blocks(*failed) == [{**listing, "tools": []}]


def blocks(*parts: AnswerPart) -> list[dict[str, Any]]:
    """Return the blocks of a message before the last text, the same streamed."""
    content = whole("anthropic", *parts, DONE)["content"]
    sent = events("anthropic", *parts, DONE, stream=True)
    starts = [e["content_block"]["type"] for e in sent if e["type"] == "content_block_start"]
    assert starts == [block["type"] for block in content]
    return list(content[:-1])


def test_mcp_call_is_two_blocks_of_anthropic() -> None:
    use, result = blocks(*ASK)
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
    assert blocks(*tool("ask", {}, content, server="w"))[1]["content"] == content
    failed = blocks(*tool("ask", {}, error="gone", server="w"))[1]
    assert (failed["is_error"], failed["content"][0]["text"]) == (True, "gone")


@pytest.mark.parametrize("name", ["code_execution", "bash_code_execution"])
@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ("1\n", {"stdout": "1\n"}),
        ({"stdout": "", "stderr": "oops", "return_code": 1}, {"stderr": "oops", "return_code": 1}),
        ({"stdout": "1"}, {"stdout": "1"}),
    ],
)
def test_output_of_code_has_every_field_of_anthropic(name: str, result: Any, shown: Any) -> None:
    _, block = blocks(*tool(name, {}, result))
    empty = {"stdout": "", "stderr": "", "return_code": 0, "content": []}
    assert block["content"] == {"type": f"{name}_result", **empty, **shown}


@pytest.mark.parametrize("parts", [FILES, IMAGE, tool("google_maps", {}, {})])
def test_tools_that_anthropic_lacks_are_left_out(parts: tuple[AnswerPart, ...]) -> None:
    assert blocks(*parts) == []


def test_gemini_has_images_and_no_mcp() -> None:
    def parts_of(*parts: AnswerPart) -> list[Any]:
        return list(whole("gemini", *parts, DONE)["candidates"][0]["content"]["parts"][:-1])

    assert parts_of(*IMAGE) == [{"inlineData": {"mimeType": "image/png", "data": "aW1n"}}]
    assert parts_of(*tool("image_generation", {}, {"url": "u"})) == []
    assert parts_of(*ASK, *LIST) == []
    queries = whole("gemini", *tool("web_search", {"queries": ["a", "b"]}), DONE)
    grounding = queries["candidates"][0]["groundingMetadata"]
    assert grounding == {"webSearchQueries": ["a", "b"]}
    assert "groundingMetadata" not in str(whole("gemini", *tool("web_search", ["a"]), DONE))


@pytest.mark.parametrize("wire", ["chat", "ollama"])
def test_other_apis_leave_hosted_tools_out(wire: str) -> None:
    assert "web_search" not in json.dumps(whole(wire, *SEARCH, DONE))
    assert "Done." in json.dumps(whole(wire, *SEARCH, DONE))


WIKI = {"server": "wiki", "name": "ask"}


@pytest.mark.parametrize(
    ("parts", "scripted"),
    [
        (SEARCH, {"tool": "web_search", "input": {"queries": ["rain"]}}),
        (CODE, {"tool": "code_execution", "input": {"code": "print(1)"}}),
        (FILES, {"tool": "file_search", "input": {"queries": ["tower"]}, "result": []}),
        (ASK, {"tool": "mcp", "input": {"q": 1}, **WIKI, "result": "yes"}),
        (LIST, {"tool": "mcp_list_tools", "input": {}, "server": "wiki", "result": LISTED}),
        (
            tool("image_generation", {}, "aW1n"),
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
    assert decoded("responses", whole("responses", *parts, DONE)) == (expected, ())
    assert decoded("responses", events("responses", *parts, DONE, stream=True)) == (expected, ())


def test_recorded_output_of_code_becomes_its_result() -> None:
    body = whole("responses", *CODE, include=INCLUDE)
    scripted = {"tool": "code_execution", "input": {"code": "print(1)"}, "result": "1\nwarned"}
    assert decoded("responses", body) == ({"parts": [{"hosted_tool": scripted}]}, ())


MCP = {"type": "mcp_call", "error": None, "output": "yes", "arguments": "{}", **WIKI}


@pytest.mark.parametrize(
    "recorded",
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
        MCP,
        {**MCP, "server_label": "wiki", "arguments": "[]"},
        {"type": "mcp_list_tools", "tools": [], "server_label": "wiki", "error": "gone"},
        {"type": "computer_call"},
    ],
)
def test_recorded_item_that_a_document_cannot_hold_is_lost(recorded: Any) -> None:
    _, lost = decoded("responses", {"output": [recorded]})
    assert lost == (recorded["type"],)


@pytest.mark.parametrize(
    ("parts", "scripted"),
    [
        (
            tool("web_search", {"query": "q"}, [{"url": "u", "encrypted_content": "e"}]),
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
            tool("web_fetch", {"url": "u"}, error="url_not_accessible"),
            {
                "tool": "web_fetch",
                "input": {"url": "u"},
                "id": "s-1",
                "error": "url_not_accessible",
            },
        ),
        (
            ASK,
            {
                "tool": "mcp",
                "input": {"q": 1},
                "server": "wiki",
                "name": "ask",
                "id": "s-1",
                "result": [{"type": "text", "text": "yes"}],
            },
        ),
        (tool("web_search", {}), {"tool": "web_search", "input": {}, "id": "s-1"}),
    ],
)
def test_recorded_blocks_become_a_hosted_tool(parts: Any, scripted: Any) -> None:
    expected = {"parts": [{"hosted_tool": scripted}, {"text": "Done."}]}
    assert decoded("anthropic", whole("anthropic", *parts, DONE)) == (expected, ())
    assert decoded("anthropic", events("anthropic", *parts, DONE, stream=True)) == (expected, ())


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
def test_recorded_block_that_a_document_cannot_hold_is_lost(recorded: Any, lost: str) -> None:
    assert decoded("anthropic", {"content": recorded})[1] == (lost,)


@pytest.mark.parametrize("parts", [SEARCH, CODE, ASK, LIST])
@pytest.mark.parametrize("wire", ["responses", "anthropic"])
def test_hosted_tools_that_come_back_are_part_of_the_answer(wire: str, parts: Any) -> None:
    body = whole(wire, *parts, DONE)
    user = {"role": "user", "content": "And then?"}
    if wire == "responses":
        _, request = read(wire, input=[user, *body["output"], user])
    else:
        answer = {"role": "assistant", "content": body["content"]}
        _, request = read(wire, messages=[user, answer, user])
    assert [message.role for message in request.messages] == ["user", "assistant", "user"]
    assert request.messages[1].text == "Done."
    assert request.turn == 2
