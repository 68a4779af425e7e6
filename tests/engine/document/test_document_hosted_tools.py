"""Hosted tools in a document: their parts and their errors."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import CanonicalResponse
from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.parts import AnswerPart, ServerToolResultPart, ServerToolUsePart
from scenarios_app.engine.producing.produce import make_seed, produce
from tests.engine.documents import load_error_lines, one_step_scenario
from tests.engine.match_builders import chat_request, text_message


def produce_parts(*tools: Any, **variables: Any) -> tuple[AnswerPart, ...]:
    """Return the parts of an answer with these hosted tools, after templates and ids."""
    scripted_answer = {"parts": [{"hosted_tool": tool} for tool in tools]}
    (document,) = load_documents(
        one_step_scenario(produce=scripted_answer) | {"variables": variables}
    )
    scenario = compile_scenario(document)
    response = produce(
        scenario,
        scenario.steps[0],
        chat_request(text_message("Hello")),
        seed=make_seed("s", "POST", "/", b"", 1),
        created=0,
        tool_call_prefix="call_",
        groups={},
    )
    assert isinstance(response, CanonicalResponse)
    return response.choices[0].parts


def test_use_and_result_have_the_same_generated_id() -> None:
    use, result = produce_parts({"tool": "web_search", "input": {"query": "q"}, "result": []})
    assert isinstance(use, ServerToolUsePart) and isinstance(result, ServerToolResultPart)
    assert use.id.startswith("srvtoolu_") and result.tool_use_id == use.id
    assert (use.name, use.input, result.content) == ("web_search", '{"query":"q"}', "[]")


def test_tool_of_an_mcp_server_has_its_own_name_and_prefix() -> None:
    tool = {"tool": "mcp", "server": "wiki", "name": "ask", "input": {"a": 1}, "result": "yes"}
    use, result = produce_parts(tool)
    assert isinstance(use, ServerToolUsePart) and isinstance(result, ServerToolResultPart)
    assert use.id.startswith("mcptoolu_")
    assert (use.name, use.server, result.server, result.content) == ("ask", "wiki", "wiki", '"yes"')


def test_scripted_id_is_kept_and_an_error_is_a_result() -> None:
    tool = {"tool": "web_fetch", "id": "srvtoolu_1", "error": "url_not_accessible"}
    assert produce_parts(tool) == (
        ServerToolUsePart("srvtoolu_1", "web_fetch", "{}"),
        ServerToolResultPart("srvtoolu_1", "web_fetch", "null", "url_not_accessible"),
    )


def test_use_without_a_result_is_the_only_part() -> None:
    assert len(produce_parts({"tool": "web_search", "input": {"query": "q"}})) == 1


def test_templates_are_filled_in_input_and_result() -> None:
    tool = {"tool": "web_search", "input": {"query": "{{ q }}"}, "result": [{"title": "{{ q }}"}]}
    use, result = produce_parts(tool, q='"rain"')
    assert isinstance(use, ServerToolUsePart) and isinstance(result, ServerToolResultPart)
    assert use.input == '{"query":"\\"rain\\""}'
    assert result.content == '[{"title":"\\"rain\\""}]'


def test_hosted_tool_survives_load_and_dump() -> None:
    scripted = {"parts": [{"hosted_tool": {"tool": "web_search", "result": []}}]}
    (document,) = load_documents(one_step_scenario(produce=scripted))
    dumped = document.model_dump(by_alias=True, exclude_defaults=True)
    assert dumped["steps"][0]["produce"] == scripted


@pytest.mark.parametrize(
    ("tool", "problem"),
    [
        ({}, ".tool: missing"),
        ({"tool": "websearch"}, '.tool: "websearch" is unknown, did you mean "web_search"?'),
        ({"tool": "x"}, ".tool: expected web_search, web_fetch, "),
        ({"tool": "web_search", "query": "q"}, ".query: unknown key, expected one of "),
        ({"tool": "web_search", "input": "q"}, ".input: expected an object"),
        (
            {"tool": "web_search", "result": [], "error": "e"},
            ".error: cannot be combined with result",
        ),
        ({"tool": "web_search", "server": "s"}, ".server: does not belong to web_search"),
        ({"tool": "mcp", "name": "f"}, ".server: missing"),
        ({"tool": "mcp", "server": "s"}, ".name: missing"),
        ({"tool": "mcp_list_tools", "server": "s", "name": "f"}, ".name: does not belong to mcp_"),
        ({"tool": "web_search", "input": {"query": "{{ town }}"}}, ": unknown name in {{ town }}"),
    ],
)
def test_invalid_hosted_tool_is_rejected_with_its_path(tool: Any, problem: str) -> None:
    (line,) = load_error_lines(one_step_scenario(produce={"parts": [{"hosted_tool": tool}]}))
    assert line.startswith(f"steps[0].produce.parts[0].hosted_tool{problem}")
