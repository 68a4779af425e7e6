"""Conditions on the response format, the token limit and the number of tools."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import ANY_OBJECT, CanonicalRequest, JsonFormat
from scenarios_app.engine.conditions.match import Match, match_model
from scenarios_app.engine.conditions.settings import (
    MaxTokensCondition,
    RangeCondition,
    ResponseFormatCondition,
    ToolCountCondition,
)
from scenarios_app.engine.document import compile_scenario, dump, load_documents
from scenarios_app.engine.matching.index import build_index
from tests.engine.documents import load_error_lines, one_step_scenario
from tests.engine.match_builders import chat_request, explain_match, match_request

ANY_JSON = JsonFormat(ANY_OBJECT, "f")
PLAIN_SCHEMA = JsonFormat({"type": "object"}, "f")
TITLED_SCHEMA = JsonFormat({"type": "object", "title": "Route"}, "f")
NAMED_SCHEMA = JsonFormat({"title": "Route"}, "f", name="choice")


def settings_match(**keys: Any) -> Match:
    return match_model().model_validate(keys).compile()


def request_with_format(response_format: JsonFormat | None) -> CanonicalRequest:
    return chat_request("Hello", json=response_format)


@pytest.mark.parametrize(
    ("value", "matching_formats"),
    [
        ("text", [None]),
        ("json", [ANY_JSON]),
        ("schema", [PLAIN_SCHEMA, TITLED_SCHEMA, NAMED_SCHEMA]),
        ({"schema": "Route"}, [TITLED_SCHEMA]),
        ({"schema": "choice"}, [NAMED_SCHEMA]),
        ({"schema": "object"}, []),
    ],
)
def test_response_format_matches_only_its_kind(value: Any, matching_formats: list[Any]) -> None:
    condition = settings_match(response_format=value)
    formats = [None, ANY_JSON, PLAIN_SCHEMA, TITLED_SCHEMA, NAMED_SCHEMA]
    assert [
        response_format
        for response_format in formats
        if match_request(condition, request_with_format(response_format)).matched
    ] == matching_formats


def test_mismatch_of_a_response_format_names_the_schema_of_the_request() -> None:
    (result,) = explain_match(
        settings_match(response_format={"schema": "Route"}), request_with_format(NAMED_SCHEMA)
    )
    assert (result.field, result.expected, result.actual) == (
        "match.response_format",
        'schema "Route"',
        'schema "choice"',
    )
    (result,) = explain_match(settings_match(response_format="json"), request_with_format(None))
    assert (result.expected, result.actual) == ("json", "text")


@pytest.mark.parametrize(
    ("bounds", "numbers", "text"),
    [
        ({"max": 0}, [0], "at most 0"),
        ({"min": 2}, [2, 3], "at least 2"),
        ({"min": 1, "max": 2}, [1, 2], "1 to 2"),
        ({"min": 3, "max": 3}, [3], "3"),
    ],
)
def test_range_holds_for_the_numbers_in_it(bounds: Any, numbers: list[int], text: str) -> None:
    tool_count_match, max_tokens_match = (
        settings_match(tool_count=bounds),
        settings_match(max_tokens=bounds),
    )
    tools = ["a", "b", "c"]
    assert [
        n
        for n in range(4)
        if match_request(tool_count_match, chat_request("Hello", tools=tools[:n])).matched
    ] == numbers
    assert [
        n
        for n in range(4)
        if match_request(max_tokens_match, chat_request("Hello", max_tokens=n)).matched
    ] == numbers
    assert tool_count_match.conditions[0].expected == text


def test_mismatch_of_a_range_has_the_number_of_the_request() -> None:
    condition = settings_match(tool_count={"min": 2}, max_tokens={"max": 100})
    count, limit = explain_match(condition, chat_request("Hello", tools=["a"]))
    assert (count.field, count.expected, count.actual) == ("match.tool_count", "at least 2", "1")
    assert (limit.field, limit.expected, limit.actual) == (
        "match.max_tokens",
        "at most 100",
        "no max_tokens",
    )
    assert not match_request(settings_match(max_tokens={"min": 0}), chat_request("Hello")).matched


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (
            {"response_format": "yaml"},
            'response_format: expected text, json, schema or {"schema": NAME}',
        ),
        (
            {"response_format": {"schema": ""}},
            'response_format: expected text, json, schema or {"schema": NAME}',
        ),
        ({"tool_count": {}}, "tool_count: expected min, max or both"),
        ({"tool_count": {"min": 2, "max": 1}}, "tool_count.max: expected at least min"),
        ({"max_tokens": {"min": -1}}, "max_tokens.min: expected a whole number from 0"),
        ({"max_tokens": 5}, "max_tokens: expected an object"),
    ],
)
def test_invalid_setting_is_rejected_with_its_path(keys: Any, line: str) -> None:
    (problem,) = load_error_lines(one_step_scenario(match=keys))
    assert problem.startswith(f"steps[0].match.{line}")


def test_settings_are_dumped_as_they_were_loaded() -> None:
    keys = {
        "response_format": {"schema": "Route"},
        "tool_count": {"max": 0},
        "max_tokens": {"min": 1, "max": 2},
    }
    (document,) = load_documents(one_step_scenario(match=keys))
    assert dump(document)["steps"][0]["match"] == keys


@pytest.mark.parametrize(
    ("narrow", "wide", "implied"),
    [
        ({"response_format": {"schema": "a"}}, {"response_format": "schema"}, True),
        ({"response_format": "json"}, {"response_format": "json"}, True),
        ({"response_format": "schema"}, {"response_format": {"schema": "a"}}, False),
        ({"response_format": "json"}, {"stream": True}, False),
        ({"tool_count": {"min": 2, "max": 3}}, {"tool_count": {"min": 1}}, True),
        ({"tool_count": {"max": 3}}, {"tool_count": {"max": 4}}, True),
        ({"tool_count": {"max": 3}}, {"tool_count": {"max": 2}}, False),
        ({"tool_count": {"max": 3}}, {"tool_count": {"min": 0}}, False),
        ({"tool_count": {"max": 3}}, {"max_tokens": {"max": 3}}, False),
    ],
)
def test_narrower_setting_implies_the_wider(narrow: Any, wide: Any, implied: bool) -> None:
    assert settings_match(**narrow).implies(settings_match(**wide)) is implied


@pytest.mark.parametrize(
    ("kind", "value", "phrases"),
    [
        (ResponseFormatCondition, "json", ["asks for json"]),
        (ResponseFormatCondition, {"schema": "Route"}, ["asks for schema Route"]),
        (ResponseFormatCondition, {}, []),
        (ToolCountCondition, {"max": 0}, ["offers at most 0 tools"]),
        (ToolCountCondition, None, []),
        (MaxTokensCondition, {"min": 1, "max": 9}, ["limit of 1 to 9 tokens"]),
        (MaxTokensCondition, {"min": "x"}, []),
    ],
)
def test_setting_has_a_phrase_in_the_sentence_of_its_step(
    kind: Any, value: Any, phrases: list[str]
) -> None:
    assert list(kind.phrases(value)) == phrases


def test_abstract_range_does_not_read_a_number() -> None:
    with pytest.raises(NotImplementedError):
        RangeCondition.read_number(chat_request("Hello"))


def test_side_request_is_answered_before_the_step_for_every_request() -> None:
    side_step = {
        "match": {"tool_count": {"max": 0}},
        "produce": {"text": "title"},
        "consume": False,
    }
    routed_step = {**side_step, "match": {"response_format": "schema"}, "produce": {"text": "{}"}}
    default_step = {"match": {"messages": [{"contains": "Hello"}]}, "produce": {"text": "main"}}
    documents = [
        {"name": name, "steps": [{**step, "name": name}]}
        for name, step in (
            ("every", {**default_step, "consume": False}),
            ("routed", routed_step),
            ("side", side_step),
        )
    ]
    index = build_index(
        [compile_scenario(document) for document in load_documents({"scenarios": documents})]
    )
    chosen_scenarios = {
        name: [candidate.scenario.name for candidate in index.candidates(request)]
        for name, request in {
            "schema": chat_request("Hi", json=TITLED_SCHEMA, tools=["a"]),
            "title": chat_request("Hi"),
            "main": chat_request("Hello", tools=["a"]),
        }.items()
    }
    assert chosen_scenarios == {"schema": ["routed"], "title": ["side"], "main": ["every"]}
