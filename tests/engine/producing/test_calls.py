"""Calls take the kind and the namespace of the tools that the request offers."""

import json

import pytest

from scenarios_app.engine.canonical import Choice, Tool
from scenarios_app.engine.parts import Chunk, TextPart, ToolCallPart
from scenarios_app.engine.producing.calls import fit_calls

EXEC = Tool("exec", kind="custom", namespace="functions")
WAIT_TOOLS = (Tool("wait", namespace="functions"), Tool("wait", namespace="agents"))
SCRIPT = ToolCallPart("c1", "exec", 'say("ü")\n', custom=True)


def fit_call(call: ToolCallPart, *tools: Tool, custom_tools: bool = True) -> ToolCallPart:
    choice = fit_calls(Choice((call,), "tool_calls"), tools, custom_tools=custom_tools)
    (part,) = choice.parts
    assert isinstance(part, ToolCallPart)
    return part


def test_custom_call_gets_the_namespace_of_its_tool() -> None:
    assert fit_call(SCRIPT, *WAIT_TOOLS, EXEC) == ToolCallPart(
        "c1", "exec", 'say("ü")\n', custom=True, namespace="functions"
    )


def test_arguments_become_the_input_of_an_offered_custom_tool() -> None:
    call = fit_call(ToolCallPart("c1", "exec", "ls"), EXEC, custom_tools=False)
    assert (call.custom, call.arguments) == (True, "ls")


@pytest.mark.parametrize("namespace", ["", "functions", "agents"])
def test_namespace_of_a_script_selects_among_tools_of_one_name(namespace: str) -> None:
    call = fit_call(ToolCallPart("c1", "wait", "{}", namespace=namespace), *WAIT_TOOLS)
    assert (call.custom, call.namespace) == (False, namespace or "functions")


def test_namespace_that_is_not_offered_is_kept() -> None:
    call = fit_call(ToolCallPart("c1", "wait", "{}", namespace="crm"), *WAIT_TOOLS)
    assert (call.custom, call.namespace) == (False, "crm")


def test_call_is_not_matched_to_a_hosted_tool() -> None:
    assert fit_call(SCRIPT, Tool("exec", kind="hosted", namespace="server")) == SCRIPT


@pytest.mark.parametrize(("tools", "custom_tools"), [((Tool("exec"),), True), ((), False)])
def test_input_for_a_function_is_its_argument(tools: tuple[Tool, ...], custom_tools: bool) -> None:
    call = fit_call(SCRIPT, *tools, custom_tools=custom_tools)
    assert call == ToolCallPart("c1", "exec", '{"input":"say(\\"ü\\")\\n"}')


def test_call_of_an_unoffered_tool_stays_custom_if_the_api_has_custom_calls() -> None:
    assert fit_call(SCRIPT) == SCRIPT


def test_chunks_of_an_input_join_to_the_arguments_of_a_function() -> None:
    chunks = (Chunk(0, "Hi"), Chunk(1, 'say("'), Chunk(0, "!"), Chunk(1, 'ü")\n'))
    choice = Choice((TextPart("Hi!"), SCRIPT), "tool_calls", chunks=chunks)
    fitted_choice = fit_calls(choice, (), custom_tools=False)
    assert fitted_choice.chunks is not None
    assert [chunk.part for chunk in fitted_choice.chunks] == [0, 1, 0, 1]
    joined = "".join(chunk.text for chunk in fitted_choice.chunks if chunk.part == 1)
    assert joined == fitted_choice.parts[1].arguments
    assert json.loads(joined) == {"input": 'say("ü")\n'}
    assert fit_calls(choice, (EXEC,), custom_tools=True).chunks == chunks
