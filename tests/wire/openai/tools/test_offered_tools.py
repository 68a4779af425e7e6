"""Tools are read from every place where a Responses request lists them."""

import json
from pathlib import Path
from typing import Any

import pytest

from scenarios_app.engine.canonical import Tool
from scenarios_app.engine.parts import TextPart, ToolCallPart
from tests.wire.openai.responses_answers import answer
from tests.wire.openai.responses_cases import Session, catch_error, parse

CODEX = Path(__file__).resolve().parents[3] / "data" / "codex_request.json"
USER = {"role": "user", "content": "Hello"}
FIND = {"type": "function", "name": "find"}
DEFERRED = {**FIND, "defer_loading": True}


def read_tools(*items: Any, **body: Any) -> list[tuple[str, str, str]]:
    """Return namespace, name and kind of each tool of a parsed request."""
    tools = parse(input=[USER, *items], **body).tools
    return [(tool.namespace, tool.name, tool.kind) for tool in tools]


def additional_tools(*tools: Any) -> dict[str, Any]:
    return {"type": "additional_tools", "role": "developer", "tools": list(tools)}


def test_request_of_codex_offers_its_tools_by_namespace() -> None:
    body = json.loads(CODEX.read_text(encoding="utf-8"))
    request = Session().read(body)
    assert [(tool.namespace, tool.name, tool.kind) for tool in request.tools] == [
        ("functions", "exec", "custom"),
        ("functions", "wait", "function"),
        ("collaboration", "spawn_agent", "function"),
        ("collaboration", "wait", "function"),
        ("", "web_search", "hosted"),
    ]
    assert request.tools[0].schema == body["input"][0]["tools"][0]["tools"][0]["format"]
    (call,) = request.tool_calls
    assert (call.id, call.name, call.namespace) == ("call_ls", "exec", "functions")
    assert call.custom
    assert call.arguments.startswith("const r")
    (result,) = request.tool_results
    assert (result.tool_call_id, result.name) == ("call_ls", "exec")
    assert result.content.endswith("README.md\nsrc\n")
    assert request.turn == 2


def test_tools_in_a_namespace_carry_it() -> None:
    namespace = {"type": "namespace", "name": "crm", "tools": [FIND]}
    assert read_tools(tools=[namespace, FIND]) == [
        ("crm", "find", "function"),
        ("", "find", "function"),
    ]


@pytest.mark.parametrize(
    ("items", "tools"),
    [
        ([], [{"type": "tool_search"}, DEFERRED]),
        ([{"type": "tool_search_output", "call_id": "c", "tools": [FIND]}], []),
        ([additional_tools(FIND)], []),
        ([additional_tools(FIND), {"type": "tool_search_output", "tools": [DEFERRED]}], [DEFERRED]),
    ],
)
def test_function_that_is_loaded_on_demand_is_in_a_namespace_of_its_name(
    items: list[Any], tools: list[Any]
) -> None:
    functions = [tool for tool in read_tools(*items, tools=tools) if tool[2] != "hosted"]
    assert functions == [("find", "find", "function")]


def test_custom_tool_that_is_added_has_no_namespace() -> None:
    assert read_tools(additional_tools({"type": "custom", "name": "exec"})) == [
        ("", "exec", "custom")
    ]


def test_tools_of_an_mcp_server_are_hosted_below_its_label() -> None:
    server_tools = {
        "type": "mcp_list_tools",
        "server_label": "wiki",
        "tools": [{"name": "ask", "description": "Asks.", "input_schema": {"type": "object"}}],
    }
    server = {"type": "mcp", "server_label": "wiki", "server_url": "http://127.0.0.1:1"}
    request = parse(input=[USER, server_tools], tools=[server])
    assert request.tools == (
        Tool("wiki", kind="hosted"),
        Tool("ask", "Asks.", {"type": "object"}, "hosted", "wiki"),
    )


@pytest.mark.parametrize("kind", ["mcp_list_tools", "tool_search_output"])
def test_list_without_tools_offers_nothing(kind: str) -> None:
    assert read_tools({"type": kind}) == []


@pytest.mark.parametrize(
    ("tools", "path"),
    [
        (1, "input[1].tools"),
        ([{"type": "namespace", "tools": []}], "input[1].tools[0].name"),
        ([{"type": "namespace", "name": "n"}], "input[1].tools[0].tools"),
        ([{"type": "namespace", "name": "n", "tools": [{}]}], "input[1].tools[0].tools[0].name"),
    ],
)
def test_invalid_tools_are_rejected_with_their_path(tools: Any, path: str) -> None:
    item = {"type": "additional_tools", "role": "developer", "tools": tools}
    assert catch_error(input=[USER, item]).param == path


def test_tools_of_earlier_items_stay_offered_in_a_continued_response() -> None:
    session = Session()
    first = session.respond(answer((TextPart("Hi"),)), input=[additional_tools(FIND), USER])
    request = session.read(
        {
            "input": "Find it.",
            "previous_response_id": first["id"],
            "tools": [{"type": "web_search"}],
        }
    )
    assert [tool.name for tool in request.tools] == ["web_search", "find"]


def test_calls_of_earlier_responses_keep_their_namespace() -> None:
    session = Session()
    call = ToolCallPart("c1", "exec", "ls", custom=True, namespace="functions")
    first = session.respond(answer((call,)), input=[USER])
    tool_result = {"type": "custom_tool_call_output", "call_id": "c1", "output": "README.md"}
    request = session.read({"input": [tool_result], "previous_response_id": first["id"]})
    assert request.tool_calls == (call,)
    assert [(tool_result.name, tool_result.content) for tool_result in request.tool_results] == [
        ("exec", "README.md")
    ]
