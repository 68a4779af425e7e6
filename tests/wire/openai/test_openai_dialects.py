"""Selection of a dialect of OpenAI's API, and differences in parsing its requests."""

import json
from typing import Any

import msgspec
import pytest

from scenarios_app.engine.parts import (
    ReasoningPart,
    TextPart,
    ToolResultPart,
)
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.dialects.dialect import Dialect
from scenarios_app.wire.openai.dialects.rows import DIALECTS, PROVIDERS
from scenarios_app.wire.openai.responses.wire import WIRE as RESPONSES
from scenarios_app.wire.openai.shared import OLLAMA_PORT
from scenarios_app.wire.openai.wire import WIRES_BY_DIALECT
from scenarios_app.wire.registry import find_target
from tests.wire.openai.dialect_cases import (
    DOCS,
    PATHS,
    UUID,
    make_response,
    read_request,
    render_message,
    resolve_target,
    target_of,
)
from tests.wire.openai.openai_cases import HELLO, make_call


def test_helper_paths_cover_every_dialect() -> None:
    assert list(PATHS) == list(DIALECTS)


@pytest.mark.parametrize("name", DIALECTS)
def test_path_selects_the_dialect(name: str) -> None:
    target = target_of(name)
    assert target.wire is WIRES_BY_DIALECT[name]
    request = read_request(name)
    assert request.own.dialect is DIALECTS[name]
    assert request.route == "/v1/chat/completions"
    assert request.provider == target.wire.provider == DIALECTS[name].provider


@pytest.mark.parametrize("name", DIALECTS)
def test_header_selects_the_dialect(name: str) -> None:
    target = resolve_target(PATHS["openai"], **{"x-mockllm-dialect": f" {name.upper()}"})
    assert target.wire is WIRES_BY_DIALECT[name]
    assert target.endpoint is not None and target.endpoint.canonical == "/v1/chat/completions"


def test_header_selects_the_dialect_of_other_paths_and_errors() -> None:
    target = resolve_target("/v1/embeddings", **{"x-mockllm-dialect": "mistral"})
    assert target.wire is WIRES_BY_DIALECT["mistral"]
    assert target.endpoint is not None and target.endpoint.canonical == "/v1/embeddings"
    missing = resolve_target("/v1/nowhere", **{"x-mockllm-dialect": "mistral"})
    assert missing.wire is WIRES_BY_DIALECT["mistral"] and missing.error is not None


def test_unknown_dialect_is_a_400_with_the_known_ones() -> None:
    target = resolve_target(PATHS["openai"], **{"x-mockllm-dialect": "klingon"})
    assert target.endpoint is None and target.error is not None
    error = target.error.answer
    assert (error.status, error.code) == (400, "unknown_dialect")
    assert "'klingon'" in error.message and ", ".join(DIALECTS) in error.message
    assert json.loads(target.wire.error(error, request_id="r"))["error"]["code"] == error.code


def test_endpoint_missing_in_a_dialect_is_a_404_that_names_both() -> None:
    target = resolve_target("/v1/batches", **{"x-mockllm-dialect": "groq"})
    assert target.endpoint is None and target.error is not None
    error = target.error.answer
    assert (error.status, error.message) == (404, "The dialect 'groq' has no /v1/batches.")


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses"])
def test_other_wires_have_no_dialects(path: str) -> None:
    headers = {"anthropic-version": "2023-06-01", "x-mockllm-dialect": "klingon"}
    assert resolve_target(path, **headers).error is None


def test_dialect_header_does_not_claim_an_unowned_path() -> None:
    call = make_call(path="/nowhere", headers={"x-mockllm-dialect": "groq"})
    assert find_target(call) is None


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("groq/llama", "groq"),
        ("ollama/qwen3", "ollama"),
        ("azure/gpt", "azure"),
        ("openai/gpt-5", "openai"),
        ("qwen/qwen3", "openai"),
        ("groq", "openai"),
    ],
)
def test_prefix_of_the_model_selects_the_dialect(model: str, name: str) -> None:
    request = read_request("openai", model=model)
    assert request.own.dialect is DIALECTS[name]
    assert (request.provider, request.model) == ("openai", model)


def test_path_takes_precedence_over_the_model() -> None:
    assert (
        read_request("openrouter", model="deepseek/deepseek-chat").own.dialect.name == "openrouter"
    )


def test_request_has_the_names_of_its_dialects_provider() -> None:
    assert read_request("openai").also == PROVIDERS
    assert (read_request("groq").provider, read_request("groq").also) == ("groq", ("openai",))
    assert (read_request("azure").provider, read_request("azure").also) == ("openai", ("azure",))
    assert (read_request("ollama").provider, read_request("ollama").also) == ("openai", ())
    assert read_request("openai", model="groq/x").also == ("groq",)


def test_response_is_rendered_in_the_dialect_of_its_step() -> None:
    response = make_response(ReasoningPart("Hm."), TextPart("Hi"), spoken="deepseek")
    endpoint = target_of("openai").endpoint
    assert endpoint is not None and endpoint.render is not None
    body = json.loads(endpoint.render(read_request("openai"), response))
    assert (body["id"], body["choices"][0]["message"]["reasoning_content"]) == (UUID, "Hm.")


@pytest.mark.parametrize("name", PROVIDERS)
def test_responses_endpoint_exists_below_every_prefix(name: str) -> None:
    path = PATHS[name].replace("chat/completions", "responses")
    target = resolve_target(path)
    assert target.wire is RESPONSES and target.endpoint is not None
    assert target.endpoint.canonical == "/v1/responses"


def test_tools_of_other_types_are_named_by_type() -> None:
    tools = [
        {"function": {"name": "get_weather"}},
        {"type": "openrouter:web_search"},
        {"type": "custom", "custom": {"name": "c"}},
    ]
    request = read_request("openrouter", tools=tools)
    assert [tool.name for tool in request.tools] == ["get_weather", "openrouter:web_search", "c"]


def test_calls_without_a_type_are_function_calls() -> None:
    call = {"id": "c1", "function": {"name": "f", "arguments": "{}"}}
    assistant_message = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "done"}
    request = read_request("mistral", HELLO, assistant_message, result)
    assert request.tool_results == (ToolResultPart("c1", "f", "done"),)


@pytest.mark.parametrize(
    "fields",
    [
        {"tools": ["x"]},
        {"tools": [{"type": 1}]},
        {"tools": "x"},
        {"messages": ["x"]},
        {"messages": [{"role": "assistant", "tool_calls": ["x"]}]},
        {"messages": "x"},
    ],
)
def test_invalid_request_is_rejected_in_a_dialect(fields: dict[str, Any]) -> None:
    target = target_of("mistral")
    assert target.endpoint is not None
    body = {"model": "m", "messages": [HELLO], **fields}
    node = read_body(msgspec.json.encode(body), Limits())
    with pytest.raises(WireError) as raised:
        target.endpoint.read(make_call(), target.endpoint, target.params, node)
    assert raised.value.answer.status == 400


def test_mistral_reasoning_is_read_from_the_content() -> None:
    message = render_message("mistral", ReasoningPart("Hm."), TextPart("Hi"))
    (_, parsed_message) = read_request("mistral", HELLO, message).messages
    assert parsed_message.parts == (ReasoningPart("Hm."), TextPart("Hi"))


_USAGE_TEXTS = {
    "asked": "if asked for, in a separate chunk",
    "always": "always, in a separate chunk",
    "never": "always, in the last chunk of an answer",
}
_REASONING_TEXTS = {
    "details": "`reasoning` and `reasoning_details`",
    "content": "a `thinking` part of the `content`",
}


def docs_row(dialect: Dialect) -> list[str]:
    """Return the cells of a dialect's row in the docs."""
    prefixes = ", ".join(f"`{prefix}`" for prefix in dialect.path_prefixes)
    reasoning = _REASONING_TEXTS.get(dialect.reasoning, f"`{dialect.reasoning}`")
    calls = "whole" if dialect.whole_calls else "in pieces"
    return [
        f"`{dialect.name}`",
        f"`/v1/` on port {OLLAMA_PORT[1:]}" if dialect.name == "ollama" else prefixes,
        f"`{dialect.provider}`",
        reasoning,
        f"`{dialect.id}`",
        _USAGE_TEXTS[dialect.usage_chunk],
        calls,
    ]


def test_the_docs_have_the_table_of_dialects() -> None:
    text = DOCS.read_text().partition("\n## Dialects of OpenAI's API\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert rows == [docs_row(dialect) for dialect in DIALECTS.values()]
