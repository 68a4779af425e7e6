"""The default answer through the official SDKs: typed answers, tool loops, limits, errors."""

import contextlib
import inspect
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal

import anthropic
import mcp.types
import ollama
import openai
import openai.types.responses
import pytest
from google import genai
from google.genai._transformers import t_schema
from openai.lib._pydantic import to_strict_json_schema
from pydantic import BaseModel, Field

from tests.support.live_server import Live

AUTO = {
    "name": "auto",
    "steps": [{"consume": False, "produce": {"generate": {"kind": "auto"}}}],
}
QUESTION = "What is the weather in Paris?"
MESSAGES: Any = [{"role": "user", "content": QUESTION}]
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
HOTELS, WEATHER = ("find_hotels", "Finds a place to stay."), ("get_weather", "Tells the forecast.")


class Person(BaseModel):
    name: str = Field(pattern="^[A-Z][a-z]+$", max_length=20)
    age: int = Field(ge=18, le=30)
    role: Literal["author", "editor"]
    share: float = Field(gt=0, lt=1)
    friends: list["Person"] = Field(max_length=3)


@pytest.fixture(autouse=True)
def auto(live: Live) -> None:
    live.load(AUTO)


@pytest.fixture
def client(live: Live) -> openai.OpenAI:
    return openai.OpenAI(base_url=live.openai_base_url, api_key=live.key, max_retries=0)


@pytest.fixture
def claude(live: Live) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=live.base_url, api_key=live.key, max_retries=0)


@pytest.fixture
def gemini(live: Live) -> genai.Client:
    return genai.Client(api_key=live.key, http_options={"base_url": live.base_url})


def list_models(module: ModuleType, schema: Callable[[type[BaseModel]], Any]) -> list[Any]:
    """Return 50 Pydantic models of a library for which the SDK can make a schema.

    Root models are left out: their validators check more than a schema expresses.
    """
    models = []
    for name, model in inspect.getmembers(module, inspect.isclass):
        if issubclass(model, BaseModel) and "Root" not in name:
            with contextlib.suppress(TypeError, ValueError, KeyError):
                schema(model)
                models.append(model)
    assert len(models) >= 50
    return models[:50]


def test_openai_parses_answers_for_50_schemas_of_libraries(client: openai.OpenAI) -> None:
    for model in list_models(mcp.types, to_strict_json_schema):
        answer = client.chat.completions.parse(
            model="gpt-4o", messages=MESSAGES, response_format=model
        )
        assert isinstance(answer.choices[0].message.parsed, model)
    for model in list_models(openai.types.responses, to_strict_json_schema):
        response = client.responses.parse(model="gpt-4o", input=QUESTION, text_format=model)
        assert isinstance(response.output_parsed, model)


def test_anthropic_parses_answers_for_50_schemas_of_a_library(
    claude: anthropic.Anthropic,
) -> None:
    for model in list_models(mcp.types, anthropic.transform_schema):
        answer = claude.messages.parse(
            model="claude-sonnet-5-5", max_tokens=8_000, messages=MESSAGES, output_format=model
        )
        assert isinstance(answer.parsed_output, model)


def test_google_parses_answers_for_50_schemas_of_a_library(gemini: genai.Client) -> None:
    for model in list_models(mcp.types, lambda model: t_schema(gemini._api_client, model)):
        config: Any = {"response_mime_type": "application/json", "response_schema": model}
        answer = gemini.models.generate_content(
            model="gemini-2.5-flash", contents=QUESTION, config=config
        )
        assert isinstance(answer.parsed, model)


def test_ollama_answers_with_a_value_of_a_schema(live: Live) -> None:
    with ollama.Client(live.base_url) as client:
        answer = client.chat("llama3.2", MESSAGES, format=Person.model_json_schema())
    assert Person.model_validate_json(answer.message.content or "")


def tools(describe: Callable[[str, str], dict[str, Any]]) -> Any:
    return [describe(*HOTELS), describe(*WEATHER)]


def describe_openai_tool(name: str, description: str) -> dict[str, Any]:
    function = {"name": name, "description": description, "parameters": CITY}
    return {"type": "function", "function": function}


def test_openai_tool_loop_calls_the_best_named_tool_and_ends(client: openai.OpenAI) -> None:
    openai_tools: Any = tools(describe_openai_tool)
    first = client.chat.completions.create(model="gpt-4o", messages=MESSAGES, tools=openai_tools)
    message: Any = first.choices[0].message
    (call,) = message.tool_calls
    assert (call.function.name, first.choices[0].finish_reason) == ("get_weather", "tool_calls")
    assert list(json.loads(call.function.arguments)) == ["city"]
    result: Any = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
    second = client.chat.completions.create(
        model="gpt-4o", messages=[*MESSAGES, message, result], tools=openai_tools
    )
    assert (second.choices[0].message.tool_calls, second.choices[0].finish_reason) == (None, "stop")
    assert (second.choices[0].message.content or "").endswith(QUESTION)


def test_responses_and_anthropic_obey_tool_choice(
    client: openai.OpenAI, claude: anthropic.Anthropic
) -> None:
    responses_tools: Any = tools(lambda n, d: {"type": "function", "name": n, "parameters": CITY})
    tool_choice: Any = {"type": "function", "name": "find_hotels"}
    response = client.responses.create(
        model="gpt-4o", input=QUESTION, tools=responses_tools, tool_choice=tool_choice
    )
    assert [item.type for item in response.output] == ["function_call"]
    assert "find_hotels" in response.output[0].to_json()
    anthropic_tools: Any = tools(lambda n, d: {"name": n, "description": d, "input_schema": CITY})
    message = claude.messages.create(
        model="claude-sonnet-5-5",
        max_tokens=100,
        messages=MESSAGES,
        tools=anthropic_tools,
        tool_choice={"type": "any"},
    )
    (block,) = message.content
    assert (block.type, message.stop_reason) == ("tool_use", "tool_use")
    assert block.type == "tool_use" and (block.name, list(block.input)) == ("get_weather", ["city"])


def test_google_tool_loop_ends_in_text(gemini: genai.Client) -> None:
    cities = []

    def get_weather(city: str) -> str:
        """Return the weather."""
        cities.append(city)
        return "sunny"

    chat = gemini.chats.create(model="gemini-2.5-flash", config={"tools": [get_weather]})
    assert (chat.send_message(QUESTION).text or "").endswith(QUESTION)
    assert len(cities) == 1


def test_limits_cut_an_answer(client: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    cut = client.chat.completions.create(model="gpt-4o", messages=MESSAGES, max_tokens=7, n=2)
    assert [choice.finish_reason for choice in cut.choices] == ["length", "length"]
    assert [len(choice.message.content or "") for choice in cut.choices] == [28, 28]
    stopped = client.chat.completions.create(model="gpt-4o", messages=MESSAGES, stop=["weather"])
    assert (stopped.choices[0].message.content or "").endswith("What is the ")
    message = claude.messages.create(
        model="claude-sonnet-5-5", max_tokens=1000, messages=MESSAGES, stop_sequences=["weather"]
    )
    assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "weather")
    short = claude.messages.create(model="claude-sonnet-5-5", max_tokens=3, messages=MESSAGES)
    assert (short.stop_reason, short.usage.output_tokens) == ("max_tokens", 3)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"$ref": "#/$defs/Lost"}, "reference '#/$defs/Lost' cannot be resolved."),
        ({**CITY, "properties": {"city": {"$ref": "#"}}}, "it nests without end."),
        ({"type": "array", "minItems": 10**9}, "it takes too many steps to make a value for it."),
        ({"type": "string", "minLength": 5, "maxLength": 1}, "no value fits it."),
    ],
)
def test_unsatisfiable_schema_is_rejected_with_status_400(
    client: openai.OpenAI, gemini: genai.Client, schema: Any, message: str
) -> None:
    response_format: Any = {"type": "json_schema", "json_schema": {"name": "s", "schema": schema}}
    with pytest.raises(
        openai.BadRequestError, match="Invalid schema for response_format"
    ) as openai_error:
        client.chat.completions.create(
            model="gpt-4o", messages=MESSAGES, response_format=response_format
        )
    assert (openai_error.value.param, message in openai_error.value.message) == (
        "response_format",
        True,
    )
    config: Any = {"response_mime_type": "application/json", "response_json_schema": schema}
    with pytest.raises(genai.errors.ClientError) as google_error:
        gemini.models.generate_content(model="gemini-2.5-flash", contents=QUESTION, config=config)
    assert (google_error.value.code, google_error.value.status) == (400, "INVALID_ARGUMENT")
