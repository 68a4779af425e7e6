"""The automatic answer follows its request: calls, JSON, limits and refusals."""

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from scenarios_app.engine.canonical import (
    CallMode,
    CanonicalRequest,
    ErrorAnswer,
    JsonFormat,
    Message,
    Tool,
    ToolChoice,
)
from scenarios_app.engine.parts import TextPart, ToolCallPart, ToolResultPart
from scenarios_app.engine.producing.auto import auto_answer
from scenarios_app.engine.producing.lorem import lorem_answer
from scenarios_app.engine.scenario import ScriptedAnswer, ScriptedChoice
from tests.engine.match_builders import chat_request, text_message

QUESTION = "What is the weather in Paris?"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
HOTELS = Tool("findHotels", "Looks for rooms, whatever the weather.", CITY)
WEATHER = Tool("get_weather", "Tells the forecast.", CITY)
SEARCH = Tool("web_search", kind="hosted")
CALL = Message("assistant", (ToolCallPart("c1", "get_weather", "{}"),))
RESULT = Message("tool", (ToolResultPart("c1", "get_weather", "sunny"),))


def request_for(*messages: str | Message, **fields: Any) -> CanonicalRequest:
    return replace(chat_request(*(messages or (QUESTION,))), **fields)


def choice_of(request: CanonicalRequest) -> ScriptedChoice:
    answer = auto_answer(request)
    assert isinstance(answer, ScriptedAnswer), answer
    (choice,) = answer.choices
    return choice


def called_tool(request: CanonicalRequest) -> str | None:
    (part,) = choice_of(request).parts
    return part.name if isinstance(part, ToolCallPart) else None


def tool_choice(mode: CallMode, *names: str) -> ToolChoice:
    return ToolChoice(mode, names)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (QUESTION, "get_weather"),
        ("Find me a hotel", "findHotels"),
        ("Is there a room?", "findHotels"),
        ("forecasts", "get_weather"),
        ("call get_weather and find hotels, find rooms", "get_weather"),
        ("weather, look, room", "findHotels"),
        ("Hello", "findHotels"),
        ("", "findHotels"),
    ],
)
def test_the_best_named_tool_is_called(text: str, name: str) -> None:
    assert called_tool(request_for(text, tools=(HOTELS, WEATHER))) == name


@pytest.mark.parametrize(
    ("text", "names"), [("GAS", ("ga_prices", "gas_prices")), ("Cats!", ("dog_food", "cat_food"))]
)
def test_words_of_four_letters_and_more_have_a_singular(text: str, names: tuple[str, str]) -> None:
    assert called_tool(request_for(text, tools=tuple(map(Tool, names)))) == names[1]


def test_arguments_are_valid_and_the_same_for_the_same_message() -> None:
    (weather_call,) = choice_of(request_for(tools=(WEATHER,))).parts
    assert isinstance(weather_call, ToolCallPart) and weather_call.id == ""
    assert Draft202012Validator(CITY).is_valid(json.loads(weather_call.arguments))
    assert choice_of(request_for(tools=(WEATHER,))).parts == (weather_call,)
    assert choice_of(request_for("Another", tools=(WEATHER,))).parts != (weather_call,)
    (now_call,) = choice_of(request_for(tools=(Tool("now"),))).parts
    assert isinstance(now_call, ToolCallPart) and isinstance(json.loads(now_call.arguments), dict)


@pytest.mark.parametrize(
    ("messages", "calls"),
    [
        ((QUESTION,), True),
        ((QUESTION, CALL, RESULT), False),
        ((QUESTION, CALL, RESULT, text_message("user", "a reminder")), False),
        ((QUESTION, CALL, RESULT, text_message("assistant", "Sunny."), "And tomorrow?"), True),
        ((QUESTION, text_message("assistant", "It is")), False),
        ((text_message("system", "Be kind."),), True),
    ],
)
def test_a_tool_is_called_until_it_has_a_result(messages: Any, calls: bool) -> None:
    assert (called_tool(request_for(*messages, tools=(WEATHER,))) is not None) is calls


def test_an_empty_conversation_may_call() -> None:
    assert called_tool(replace(chat_request("x"), messages=(), tools=(WEATHER,))) == "get_weather"


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        (tool_choice("none"), None),
        (tool_choice("required"), "get_weather"),
        (tool_choice("required", "findHotels"), "findHotels"),
        (tool_choice("auto", "findHotels"), "findHotels"),
        (tool_choice("required", "web_search"), None),
    ],
)
def test_tool_choice_is_followed(choice: ToolChoice, name: str | None) -> None:
    request = request_for(tools=(HOTELS, WEATHER, SEARCH), choice=choice)
    assert called_tool(request) == name


def test_required_second_call_goes_to_another_tool() -> None:
    fields = {"tools": (HOTELS, WEATHER), "choice": tool_choice("required")}
    assert called_tool(request_for(QUESTION, CALL, RESULT, **fields)) == "findHotels"
    second_call = Message("assistant", (ToolCallPart("c2", "findHotels", "{}"),))
    assert (
        called_tool(request_for(QUESTION, CALL, RESULT, second_call, RESULT, **fields))
        == "get_weather"
    )
    answered_messages = (QUESTION, CALL, RESULT, text_message("assistant", "Sunny."))
    assert (
        called_tool(request_for(*answered_messages, "And the weather in Rome?", **fields))
        == "get_weather"
    )


def test_a_hosted_tool_is_not_called() -> None:
    assert called_tool(request_for(tools=(SEARCH,))) is None


@pytest.mark.parametrize(
    ("tool_format", "pattern"),
    [
        ({"type": "text"}, r"\S+( \S+){4}"),
        ({"syntax": "regex", "definition": "^[0-9]{3}$"}, r"\d{3}"),
        ({"type": "grammar", "grammar": {"syntax": "regex", "definition": "^ab?$"}}, "ab?"),
    ],
)
def test_input_of_a_custom_tool_has_its_format_and_depends_on_the_message(
    tool_format: Any, pattern: str
) -> None:
    tools = (Tool("run", "", tool_format, "custom"),)
    requests = [request_for(str(message), tools=tools) for message in range(20)]
    texts = set()
    for choice in map(choice_of, requests):
        (part,) = choice.parts
        assert isinstance(part, ToolCallPart)
        assert (part.id, part.name) == ("", "run")
        assert re.fullmatch(pattern, part.arguments)
        texts.add(part.arguments)
    assert len(texts) > 1
    assert list(map(choice_of, requests)) == list(map(choice_of, requests))


def test_the_form_of_a_custom_tool_is_no_schema() -> None:
    tool_format = {"syntax": "lark", "definition": "x", "$ref": "#/lost"}
    assert called_tool(request_for(tools=(Tool("run", "", tool_format, "custom"),))) == "run"


def test_json_is_valid_in_its_schema_and_streams_in_pieces() -> None:
    choice = choice_of(request_for(json=JsonFormat(CITY, "response_format")))
    (part,) = choice.parts
    assert isinstance(part, TextPart)
    assert Draft202012Validator(CITY).is_valid(json.loads(part.text))
    assert choice.chunks is not None and len(choice.chunks) > 1
    assert "".join(chunk.text for chunk in choice.chunks) == part.text
    assert {chunk.part for chunk in choice.chunks} == {0}
    assert choice_of(request_for(json=JsonFormat(CITY, "response_format"))) == choice
    assert choice_of(request_for("Another", json=JsonFormat(CITY, "response_format"))).parts != (
        part,
    )
    empty_choice = choice_of(request_for(json=JsonFormat({"const": ""}, "x", bare=True)))
    assert (empty_choice.parts, empty_choice.chunks) == ((TextPart(""),), None)


def test_json_is_compact_and_not_ascii_escaped() -> None:
    schema = {"const": {"größe": [1, 2], "é": None}}
    choice = choice_of(request_for(json=JsonFormat(schema, "s")))
    assert choice.parts == (TextPart('{"größe":[1,2],"é":null}'),)


def test_a_bare_value_has_no_quotes() -> None:
    schema = {"type": "string", "enum": ["red"]}
    assert choice_of(request_for(json=JsonFormat(schema, "s", bare=True))).parts == (
        TextPart("red"),
    )
    assert choice_of(request_for(json=JsonFormat(schema, "s"))).parts == (TextPart('"red"'),)


def test_json_comes_after_the_results_of_tools() -> None:
    fields: Any = {"tools": (WEATHER,), "json": JsonFormat(CITY, "response_format")}
    assert called_tool(request_for(QUESTION, **fields)) == "get_weather"
    assert called_tool(request_for(QUESTION, CALL, RESULT, **fields)) is None


def test_request_without_tools_or_json_gets_lorem() -> None:
    assert choice_of(request_for(QUESTION)) == lorem_answer(QUESTION).choices[0]


@pytest.mark.parametrize(
    ("fields", "message", "param"),
    [
        (
            {"json": JsonFormat({"$ref": "#/lost"}, "text.format")},
            "Invalid schema for text.format: In context=(), reference '#/lost' cannot be resolved.",
            "text.format",
        ),
        (
            {"json": JsonFormat({**CITY, "properties": {"city": False}}, "s")},
            "Invalid schema for s: In context=('city',), no value fits it.",
            "s",
        ),
        (
            {
                "json": JsonFormat(
                    {
                        "type": "array",
                        "minItems": 1,
                        "items": {**CITY, "properties": {"city": False}},
                    },
                    "s",
                )
            },
            "Invalid schema for s: In context=('0', 'city'), no value fits it.",
            "s",
        ),
        (
            {"tools": (WEATHER, Tool("other", "", {"$ref": "#/lost"}))},
            "Invalid schema for function 'other': In context=(), reference '#/lost' cannot be "
            "resolved.",
            "tools",
        ),
        (
            {"tools": (Tool("text", "", {"type": "string"}),)},
            "Invalid schema for function 'text': In context=(), no value fits it.",
            "tools",
        ),
        (
            {"tools": (Tool("run", "", {"syntax": "regex", "definition": "(?=a)"}, "custom"),)},
            "Invalid schema for tool 'run': In context=(), 'pattern' '(?=a)' is not supported: it "
            "looks around.",
            "tools",
        ),
        (
            {"tools": (WEATHER,), "choice": tool_choice("required", "lost")},
            "Tool choice 'lost' not found in 'tools' parameter.",
            "tool_choice",
        ),
        (
            {"choice": tool_choice("required")},
            "'tool_choice' is only allowed when 'tools' are specified.",
            "tool_choice",
        ),
    ],
)
def test_request_that_cannot_be_met_gets_a_400(fields: Any, message: str, param: str) -> None:
    assert auto_answer(request_for(**fields)) == ErrorAnswer(400, message, param=param)
