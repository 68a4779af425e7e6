"""Calls of custom tools and tools in namespaces through OpenAI's client."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sdk.openai.openai_client import OpenAIClient
from tests.sdk.scripted import load
from tests.support.live_server import Live

CODEX = Path(__file__).resolve().parents[2] / "data" / "codex_request.json"
SCRIPT = 'await tools.exec_command({cmd: "echo done > result.txt"});\n'
EXEC = {"id": "call_1", "name": "exec", "input": SCRIPT}
USER: list[Any] = [{"role": "user", "content": "Write it."}]
SHELL: list[Any] = [{"type": "custom", "custom": {"name": "exec"}}]


@pytest.fixture(scope="module")
def codex() -> dict[str, Any]:
    """Return the body of a request of Codex as arguments of the client's `create`."""
    body: dict[str, Any] = json.loads(CODEX.read_text(encoding="utf-8"))
    metadata = body.pop("client_metadata")
    return {**body, "extra_body": {"client_metadata": metadata}}


def read_finished_items(client: OpenAIClient, body: dict[str, Any]) -> Any:
    """Return the items of a streamed response, after checking that its last event repeats them."""
    read = client.read(lambda c: c.responses.create(**body))
    assert read.error is None, read.error
    done = [event.item for event in read.items if event.type == "response.output_item.done"]
    assert done == read.items[-1].response.output
    deltas = [event.delta for event in read.items if event.type.endswith("_input.delta")]
    inputs = [item.input for item in done if item.type == "custom_tool_call"]
    assert "".join(deltas) == "".join(inputs)
    assert len(deltas) > len(inputs)
    return [item for item in done if item.type != "reasoning"]


@pytest.mark.parametrize("call", [EXEC, {"id": "call_1", "name": "exec", "arguments": SCRIPT}])
def test_codex_gets_a_custom_call_in_its_namespace(
    live: Live, client: OpenAIClient, codex: dict[str, Any], call: dict[str, Any]
) -> None:
    load(live, tool_calls=[call])
    (item,) = read_finished_items(client, codex)
    assert (item.type, item.call_id, item.name) == ("custom_tool_call", "call_1", "exec")
    assert (item.namespace, item.input) == ("functions", SCRIPT)


def test_scripted_namespace_selects_one_of_two_tools(
    live: Live, client: OpenAIClient, codex: dict[str, Any]
) -> None:
    wait = {"name": "wait", "arguments": {"timeout_ms": 1}}
    load(live, tool_calls=[EXEC, wait, {**wait, "namespace": "collaboration"}])
    _, first, second = read_finished_items(client, codex)
    assert (first.type, first.namespace) == ("function_call", "functions")
    assert (second.type, second.namespace) == ("function_call", "collaboration")


def test_automatic_answer_calls_a_tool_of_codex(
    live: Live, client: OpenAIClient, codex: dict[str, Any]
) -> None:
    load(live, generate={"kind": "auto"})
    body = {**codex, "input": codex["input"][:4]}
    (item,) = read_finished_items(client, body)
    assert (item.type, item.name, item.namespace) == ("custom_tool_call", "exec", "functions")


def test_custom_call_of_chat_is_whole_and_streamed(live: Live, client: OpenAIClient) -> None:
    load(live, tool_calls=[EXEC])
    request: dict[str, Any] = {"model": "gpt-4o", "messages": USER, "tools": SHELL}
    (call,) = (
        client.ask(lambda c: c.chat.completions.create(**request)).choices[0].message.tool_calls
    )
    assert (call.type, call.custom.name, call.custom.input) == ("custom", "exec", SCRIPT)
    # The client's type for chunks has no custom calls, although the real API streams them.
    lenient = type(client)({**client.options, "_strict_response_validation": False})
    stream = lenient.read(lambda c: c.chat.completions.create(**request, stream=True))
    assert stream.error is None, stream.error
    deltas = [delta for chunk in stream.items for delta in chunk.choices[0].delta.tool_calls or ()]
    assert (deltas[0].id, deltas[0].type, deltas[0].custom["name"]) == ("call_1", "custom", "exec")
    assert "".join(delta.custom["input"] for delta in deltas) == SCRIPT
    assert stream.items[-1].choices[0].finish_reason == "tool_calls"


def test_custom_input_becomes_the_argument_of_a_function_tool(
    live: Live, client: OpenAIClient
) -> None:
    load(live, tool_calls=[EXEC])
    tools: list[Any] = [{"type": "function", "function": {"name": "exec"}}]
    request: dict[str, Any] = {"model": "gpt-4o", "messages": USER, "tools": tools}
    (call,) = (
        client.ask(lambda c: c.chat.completions.create(**request)).choices[0].message.tool_calls
    )
    assert json.loads(call.function.arguments) == {"input": SCRIPT}
