"""The answer that keeps what its request asks for: calls, JSON, limits, refusals."""

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
from tests.engine.asking import ask, say

QUESTION = "What is the weather in Paris?"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
HOTELS = Tool("findHotels", "Looks for rooms, whatever the weather.", CITY)
WEATHER = Tool("get_weather", "Tells the forecast.", CITY)
SEARCH = Tool("web_search", kind="hosted")
CALL = Message("assistant", (ToolCallPart("c1", "get_weather", "{}"),))
RESULT = Message("tool", (ToolResultPart("c1", "get_weather", "sunny"),))


def asking(*said: str | Message, **fields: Any) -> CanonicalRequest:
    return replace(ask(*(said or (QUESTION,))), **fields)


def choice_of(request: CanonicalRequest) -> ScriptedChoice:
    answer = auto_answer(request)
    assert isinstance(answer, ScriptedAnswer), answer
    (choice,) = answer.choices
    return choice


def called(request: CanonicalRequest) -> str | None:
    (part,) = choice_of(request).parts
    return part.name if isinstance(part, ToolCallPart) else None


def choosing(mode: CallMode, *names: str) -> ToolChoice:
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
    assert called(asking(text, tools=(HOTELS, WEATHER))) == name


@pytest.mark.parametrize(
    ("text", "names"), [("GAS", ("ga_prices", "gas_prices")), ("Cats!", ("dog_food", "cat_food"))]
)
def test_words_of_four_letters_and_more_have_a_singular(text: str, names: tuple[str, str]) -> None:
    assert called(asking(text, tools=tuple(map(Tool, names)))) == names[1]


def test_arguments_fit_and_are_the_same_for_the_same_message() -> None:
    (first,) = choice_of(asking(tools=(WEATHER,))).parts
    assert isinstance(first, ToolCallPart) and first.id == ""
    assert Draft202012Validator(CITY).is_valid(json.loads(first.arguments))
    assert choice_of(asking(tools=(WEATHER,))).parts == (first,)
    assert choice_of(asking("Another", tools=(WEATHER,))).parts != (first,)
    (plain,) = choice_of(asking(tools=(Tool("now"),))).parts
    assert isinstance(plain, ToolCallPart) and isinstance(json.loads(plain.arguments), dict)


@pytest.mark.parametrize(
    ("messages", "calls"),
    [
        ((QUESTION,), True),
        ((QUESTION, CALL, RESULT), False),
        ((QUESTION, CALL, RESULT, say("user", "a reminder")), False),
        ((QUESTION, CALL, RESULT, say("assistant", "Sunny."), "And tomorrow?"), True),
        ((QUESTION, say("assistant", "It is")), False),
        ((say("system", "Be kind."),), True),
    ],
)
def test_a_tool_is_called_until_it_has_a_result(messages: Any, calls: bool) -> None:
    assert (called(asking(*messages, tools=(WEATHER,))) is not None) is calls


def test_an_empty_conversation_may_call() -> None:
    assert called(replace(ask("x"), messages=(), tools=(WEATHER,))) == "get_weather"


@pytest.mark.parametrize(
    ("choice", "name"),
    [
        (choosing("none"), None),
        (choosing("required"), "get_weather"),
        (choosing("required", "findHotels"), "findHotels"),
        (choosing("auto", "findHotels"), "findHotels"),
        (choosing("required", "web_search"), None),
    ],
)
def test_a_choice_is_kept(choice: ToolChoice, name: str | None) -> None:
    request = asking(tools=(HOTELS, WEATHER, SEARCH), choice=choice)
    assert called(request) == name


def test_required_second_call_goes_to_another_tool() -> None:
    both = {"tools": (HOTELS, WEATHER), "choice": choosing("required")}
    assert called(asking(QUESTION, CALL, RESULT, **both)) == "findHotels"
    other = Message("assistant", (ToolCallPart("c2", "findHotels", "{}"),))
    assert called(asking(QUESTION, CALL, RESULT, other, RESULT, **both)) == "get_weather"
    answered = (QUESTION, CALL, RESULT, say("assistant", "Sunny."))
    assert called(asking(*answered, "And the weather in Rome?", **both)) == "get_weather"


def test_a_hosted_tool_is_not_called() -> None:
    assert called(asking(tools=(SEARCH,))) is None


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"type": "text"}, r"\S+( \S+){4}"),
        ({"syntax": "regex", "definition": "^[0-9]{3}$"}, r"\d{3}"),
        ({"type": "grammar", "grammar": {"syntax": "regex", "definition": "^ab?$"}}, "ab?"),
    ],
)
def test_a_custom_tool_gets_a_text_of_its_form_for_the_message(form: Any, said: str) -> None:
    tools = (Tool("run", "", form, "custom"),)
    requests = [asking(str(message), tools=tools) for message in range(20)]
    texts = set()
    for choice in map(choice_of, requests):
        (part,) = choice.parts
        assert isinstance(part, ToolCallPart)
        assert (part.id, part.name) == ("", "run")
        assert re.fullmatch(said, part.arguments)
        texts.add(part.arguments)
    assert len(texts) > 1
    assert list(map(choice_of, requests)) == list(map(choice_of, requests))


def test_the_form_of_a_custom_tool_is_no_schema() -> None:
    form = {"syntax": "lark", "definition": "x", "$ref": "#/lost"}
    assert called(asking(tools=(Tool("run", "", form, "custom"),))) == "run"


def test_json_is_of_its_schema_and_streams_in_pieces() -> None:
    choice = choice_of(asking(json=JsonFormat(CITY, "response_format")))
    (part,) = choice.parts
    assert isinstance(part, TextPart)
    assert Draft202012Validator(CITY).is_valid(json.loads(part.text))
    assert choice.chunks is not None and len(choice.chunks) > 1
    assert "".join(chunk.text for chunk in choice.chunks) == part.text
    assert {chunk.part for chunk in choice.chunks} == {0}
    assert choice_of(asking(json=JsonFormat(CITY, "response_format"))) == choice
    assert choice_of(asking("Another", json=JsonFormat(CITY, "response_format"))).parts != (part,)
    empty = choice_of(asking(json=JsonFormat({"const": ""}, "x", bare=True)))
    assert (empty.parts, empty.chunks) == ((TextPart(""),), None)


def test_json_is_written_densely_and_as_it_is_read() -> None:
    schema = {"const": {"größe": [1, 2], "é": None}}
    choice = choice_of(asking(json=JsonFormat(schema, "s")))
    assert choice.parts == (TextPart('{"größe":[1,2],"é":null}'),)


def test_a_bare_value_has_no_quotes() -> None:
    schema = {"type": "string", "enum": ["red"]}
    assert choice_of(asking(json=JsonFormat(schema, "s", bare=True))).parts == (TextPart("red"),)
    assert choice_of(asking(json=JsonFormat(schema, "s"))).parts == (TextPart('"red"'),)


def test_json_comes_after_the_results_of_tools() -> None:
    fields: Any = {"tools": (WEATHER,), "json": JsonFormat(CITY, "response_format")}
    assert called(asking(QUESTION, **fields)) == "get_weather"
    assert called(asking(QUESTION, CALL, RESULT, **fields)) is None


def test_anything_else_gets_lorem() -> None:
    assert choice_of(asking(QUESTION)) == lorem_answer(QUESTION).choices[0]


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
            {"tools": (WEATHER,), "choice": choosing("required", "lost")},
            "Tool choice 'lost' not found in 'tools' parameter.",
            "tool_choice",
        ),
        (
            {"choice": choosing("required")},
            "'tool_choice' is only allowed when 'tools' are specified.",
            "tool_choice",
        ),
    ],
)
def test_request_that_cannot_be_met_gets_a_400(fields: Any, message: str, param: str) -> None:
    assert auto_answer(asking(**fields)) == ErrorAnswer(400, message, param=param)
