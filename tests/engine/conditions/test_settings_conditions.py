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
from tests.engine.asking import ask, explain_match, match_request
from tests.engine.documents import one_step, problems_of

JSON = JsonFormat(ANY_OBJECT, "f")
PLAIN_SCHEMA = JsonFormat({"type": "object"}, "f")
TITLED = JsonFormat({"type": "object", "title": "Route"}, "f")
NAMED = JsonFormat({"title": "Route"}, "f", name="choice")


def match(**keys: Any) -> Match:
    return match_model().model_validate(keys).compile()


def request_for(form: JsonFormat | None) -> CanonicalRequest:
    return ask("Hello", json=form)


@pytest.mark.parametrize(
    ("wanted", "forms"),
    [
        ("text", [None]),
        ("json", [JSON]),
        ("schema", [PLAIN_SCHEMA, TITLED, NAMED]),
        ({"schema": "Route"}, [TITLED]),
        ({"schema": "choice"}, [NAMED]),
        ({"schema": "object"}, []),
    ],
)
def test_response_format_matches_its_kind_alone(wanted: Any, forms: list[Any]) -> None:
    condition = match(response_format=wanted)
    every = [None, JSON, PLAIN_SCHEMA, TITLED, NAMED]
    assert [one for one in every if match_request(condition, request_for(one)).matched] == forms


def test_mismatch_of_a_response_format_names_the_schema_of_the_request() -> None:
    (result,) = explain_match(match(response_format={"schema": "Route"}), request_for(NAMED))
    assert (result.field, result.expected, result.actual) == (
        "match.response_format",
        'schema "Route"',
        'schema "choice"',
    )
    (result,) = explain_match(match(response_format="json"), request_for(None))
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
    counted, limited = match(tool_count=bounds), match(max_tokens=bounds)
    tools = ["a", "b", "c"]
    assert [
        n for n in range(4) if match_request(counted, ask("Hello", tools=tools[:n])).matched
    ] == numbers
    assert [
        n for n in range(4) if match_request(limited, ask("Hello", max_tokens=n)).matched
    ] == numbers
    assert counted.conditions[0].expected == text


def test_mismatch_of_a_range_has_the_number_of_the_request() -> None:
    condition = match(tool_count={"min": 2}, max_tokens={"max": 100})
    count, limit = explain_match(condition, ask("Hello", tools=["a"]))
    assert (count.field, count.expected, count.actual) == ("match.tool_count", "at least 2", "1")
    assert (limit.field, limit.expected, limit.actual) == (
        "match.max_tokens",
        "at most 100",
        "no max_tokens",
    )
    assert not match_request(match(max_tokens={"min": 0}), ask("Hello")).matched


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
def test_wrong_setting_is_an_error_with_its_place(keys: Any, line: str) -> None:
    (problem,) = problems_of(one_step(match=keys))
    assert problem.startswith(f"steps[0].match.{line}")


def test_settings_are_dumped_as_they_were_loaded() -> None:
    keys = {
        "response_format": {"schema": "Route"},
        "tool_count": {"max": 0},
        "max_tokens": {"min": 1, "max": 2},
    }
    (loaded,) = load_documents(one_step(match=keys))
    assert dump(loaded)["steps"][0]["match"] == keys  # type: ignore[index, call-overload]


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
    assert match(**narrow).implies(match(**wide)) is implied


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


def test_number_of_a_range_is_read_by_each_kind() -> None:
    with pytest.raises(NotImplementedError):
        RangeCondition.read_number(ask("Hello"))


def test_side_request_is_answered_before_the_step_for_every_request() -> None:
    side = {"match": {"tool_count": {"max": 0}}, "produce": {"text": "title"}, "consume": False}
    routed = {**side, "match": {"response_format": "schema"}, "produce": {"text": "{}"}}
    every = {"match": {"messages": [{"contains": "Hello"}]}, "produce": {"text": "main"}}
    documents = [
        {"name": name, "steps": [{**step, "name": name}]}
        for name, step in (
            ("every", {**every, "consume": False}),
            ("routed", routed),
            ("side", side),
        )
    ]
    index = build_index([compile_scenario(one) for one in load_documents({"scenarios": documents})])
    chosen = {
        name: [candidate.scenario.name for candidate in index.candidates(request)]
        for name, request in {
            "schema": ask("Hi", json=TITLED, tools=["a"]),
            "title": ask("Hi"),
            "main": ask("Hello", tools=["a"]),
        }.items()
    }
    assert chosen == {"schema": ["routed"], "title": ["side"], "main": ["every"]}
