"""How a dialect of OpenAI's API is chosen, and what is read in it otherwise."""

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
    message,
    of,
    read,
    response,
    target,
)
from tests.wire.openai.openai_cases import HELLO, make_call


def test_every_dialect_has_a_path_here() -> None:
    assert list(PATHS) == list(DIALECTS)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_path_chooses_a_dialect(name: str) -> None:
    found = of(name)
    assert found.wire is WIRES_BY_DIALECT[name]
    request = read(name)
    assert request.own.dialect is DIALECTS[name]
    assert request.route == "/v1/chat/completions"
    assert request.provider == found.wire.provider == DIALECTS[name].provider


@pytest.mark.parametrize("name", DIALECTS)
def test_a_header_chooses_a_dialect(name: str) -> None:
    found = target(PATHS["openai"], **{"x-mockllm-dialect": f" {name.upper()}"})
    assert found.wire is WIRES_BY_DIALECT[name]
    assert found.endpoint is not None and found.endpoint.canonical == "/v1/chat/completions"


def test_a_header_chooses_for_other_paths_of_the_dialect_and_for_errors_too() -> None:
    found = target("/v1/embeddings", **{"x-mockllm-dialect": "mistral"})
    assert found.wire is WIRES_BY_DIALECT["mistral"]
    assert found.endpoint is not None and found.endpoint.canonical == "/v1/embeddings"
    missing = target("/v1/nowhere", **{"x-mockllm-dialect": "mistral"})
    assert missing.wire is WIRES_BY_DIALECT["mistral"] and missing.error is not None


def test_a_dialect_that_does_not_exist_is_one_clear_error() -> None:
    found = target(PATHS["openai"], **{"x-mockllm-dialect": "klingon"})
    assert found.endpoint is None and found.error is not None
    error = found.error.answer
    assert (error.status, error.code) == (400, "unknown_dialect")
    assert "'klingon'" in error.message and ", ".join(DIALECTS) in error.message
    assert json.loads(found.wire.error(error, request_id="r"))["error"]["code"] == error.code


def test_endpoint_missing_in_a_dialect_is_a_404_that_names_both() -> None:
    found = target("/v1/batches", **{"x-mockllm-dialect": "groq"})
    assert found.endpoint is None and found.error is not None
    error = found.error.answer
    assert (error.status, error.message) == (404, "The dialect 'groq' has no /v1/batches.")


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/responses"])
def test_other_wires_have_no_dialects(path: str) -> None:
    headers = {"anthropic-version": "2023-06-01", "x-mockllm-dialect": "klingon"}
    assert target(path, **headers).error is None


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
def test_a_model_chooses_a_dialect_by_what_it_begins_with(model: str, name: str) -> None:
    request = read("openai", model=model)
    assert request.own.dialect is DIALECTS[name]
    assert (request.provider, request.model) == ("openai", model)


def test_the_path_goes_before_the_model() -> None:
    assert read("openrouter", model="deepseek/deepseek-chat").own.dialect.name == "openrouter"


def test_a_step_may_call_a_dialects_provider_by_its_name_or_openai() -> None:
    assert read("openai").also == PROVIDERS
    assert (read("groq").provider, read("groq").also) == ("groq", ("openai",))
    assert (read("azure").provider, read("azure").also) == ("openai", ("azure",))
    assert (read("ollama").provider, read("ollama").also) == ("openai", ())
    assert read("openai", model="groq/x").also == ("groq",)


def test_a_step_that_names_a_provider_is_answered_in_its_dialect() -> None:
    made = response(ReasoningPart("Hm."), TextPart("Hi"), spoken="deepseek")
    endpoint = of("openai").endpoint
    assert endpoint is not None and endpoint.render is not None
    body = json.loads(endpoint.render(read("openai"), made))
    assert (body["id"], body["choices"][0]["message"]["reasoning_content"]) == (UUID, "Hm.")


@pytest.mark.parametrize("name", PROVIDERS)
def test_responses_are_answered_below_every_prefix(name: str) -> None:
    path = PATHS[name].replace("chat/completions", "responses")
    found = target(path)
    assert found.wire is RESPONSES and found.endpoint is not None
    assert found.endpoint.canonical == "/v1/responses"


def test_other_providers_tools_are_offered_under_their_type() -> None:
    tools = [
        {"function": {"name": "get_weather"}},
        {"type": "openrouter:web_search"},
        {"type": "custom", "custom": {"name": "c"}},
    ]
    request = read("openrouter", tools=tools)
    assert [tool.name for tool in request.tools] == ["get_weather", "openrouter:web_search", "c"]


def test_calls_without_a_type_are_of_functions() -> None:
    call = {"id": "c1", "function": {"name": "f", "arguments": "{}"}}
    called = {"role": "assistant", "content": "", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "done"}
    request = read("mistral", HELLO, called, result)
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
    found = of("mistral")
    assert found.endpoint is not None
    body = {"model": "m", "messages": [HELLO], **fields}
    node = read_body(msgspec.json.encode(body), Limits())
    with pytest.raises(WireError) as refused:
        found.endpoint.read(make_call(), found.endpoint, found.params, node)
    assert refused.value.answer.status == 400


def test_thoughts_come_back_from_mistrals_content() -> None:
    said = message("mistral", ReasoningPart("Hm."), TextPart("Hi"))
    (_, back) = read("mistral", HELLO, said).messages
    assert back.parts == (ReasoningPart("Hm."), TextPart("Hi"))


_TOLD = {
    "asked": "if asked for, in a separate chunk",
    "always": "always, in a separate chunk",
    "never": "always, in the last chunk of an answer",
}
_THOUGHTS = {
    "details": "`reasoning` and `reasoning_details`",
    "content": "a `thinking` part of the `content`",
}


def row_of(dialect: Dialect) -> list[str]:
    """What the docs tell of a dialect."""
    starts = ", ".join(f"`{start}`" for start in dialect.path_prefixes)
    thoughts = _THOUGHTS.get(dialect.reasoning, f"`{dialect.reasoning}`")
    calls = "whole" if dialect.whole_calls else "in pieces"
    return [
        f"`{dialect.name}`",
        f"`/v1/` on port {OLLAMA_PORT[1:]}" if dialect.name == "ollama" else starts,
        f"`{dialect.provider}`",
        thoughts,
        f"`{dialect.id}`",
        _TOLD[dialect.usage_chunk],
        calls,
    ]


def test_the_docs_have_the_table_of_dialects() -> None:
    text = DOCS.read_text().partition("\n## Dialects of OpenAI's API\n")[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    told = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert told == [row_of(dialect) for dialect in DIALECTS.values()]
