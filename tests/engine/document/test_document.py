"""Scenario documents: loading, dumping, and that loading is all or nothing."""

import json
from typing import Any

import pytest

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.document import (
    DocumentError,
    DocumentLimits,
    ScenarioDocument,
    dump,
    load_documents,
    load_match,
    load_scenario,
    load_text,
)
from tests.engine.documents import CONTRACT, one_step_scenario
from tests.engine.match_builders import build_match, message_condition


def load_one(document: object) -> ScenarioDocument:
    (loaded_document,) = load_documents(document)
    return loaded_document


def test_the_example_of_the_contract_loads() -> None:
    document = load_one(CONTRACT)
    assert document.name == "weather"
    assert [step.name for step in document.steps] == ["call the tool", None]


def test_one_scenario_loads_only_in_our_form() -> None:
    assert load_scenario(CONTRACT) == load_one(CONTRACT)
    with pytest.raises(DocumentError, match="scenarios: unknown key"):
        load_scenario({"scenarios": [CONTRACT]})


def test_a_dump_loads_to_an_equal_document() -> None:
    document = load_one(CONTRACT)
    assert load_one(dump(document)) == document


def test_shortest_form_omits_defaults_and_keeps_the_order_of_the_contract() -> None:
    dumped_json = json.dumps(load_one(CONTRACT).dump_shortest(), indent=1)
    assert dumped_json == json.dumps(
        {
            "name": "weather",
            "description": "asks for a tool, then answers",
            "priority": 10,
            "tags": ["demo"],
            "variables": {"city": "Paris"},
            "steps": [
                {
                    "name": "call the tool",
                    "match": {
                        "provider": "openai",
                        "path": "/v1/chat/completions",
                        "model": {"regex": "^gpt-4"},
                        "stream": True,
                        "messages": [{"role": "user", "contains": "weather", "ignore_case": True}],
                        "tools": ["get_weather"],
                        "headers": {"x-team": "qa"},
                    },
                    "expect": {
                        "tools": ["get_weather"],
                        "temperature": 0.2,
                        "top_p": 1.0,
                        "reasoning": "enabled",
                    },
                    "failures": {
                        "times": 1,
                        "fault": {
                            "kind": "rate_limit",
                            "message": "slow down",
                            "retry_after_ms": 1000,
                        },
                    },
                    "produce": {
                        "reasoning": [{"text": "I need the tool.", "signature": "sig-1"}],
                        "text": "Let me look at {{ city }}.",
                        "tool_calls": [
                            {
                                "id": "call_1",
                                "name": "get_weather",
                                "arguments": {"city": "{{ city }}"},
                            }
                        ],
                        "usage": {"input_tokens": 64, "output_tokens": 32},
                    },
                    "side_effects": {
                        "counter": "weather_calls",
                        "status": 200,
                        "headers": {"x-extra": "1"},
                        "echo_headers": ["x-request-id"],
                    },
                },
                {
                    "consume": False,
                    "match": {"messages": [{"role": "tool", "contains": "sunny"}]},
                    "produce": {"text": "It is sunny in {{ city }}."},
                },
            ],
        },
        indent=1,
    )


SHORT_AND_LONG: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"match": {"model": "gpt-4o"}}, {"match": {"model": {"equals": "gpt-4o"}}}),
    ({"match": {"model": "gpt-4o"}}, {"match": {"model": ["gpt-4o"]}}),
    ({"match": {"headers": {"a": "b"}}}, {"match": {"headers": {"a": {"equals": "b"}}}}),
    ({"match": {"messages": ["hi"]}}, {"match": {"messages": [{"equals": "hi", "which": "last"}]}}),
    ({"match": {"tool_results": ["ok"]}}, {"match": {"tool_results": [{"equals": "ok"}]}}),
    ({"produce": {"reasoning": "so"}}, {"produce": {"reasoning": [{"text": "so"}]}}),
    ({"produce": {"chunks": ["a"]}}, {"produce": {"chunks": [{"text": "a"}]}}),
    ({}, {"turn": None, "consume": True, "match": {}, "expect": {}, "side_effects": {}}),
]


@pytest.mark.parametrize(("short", "long"), SHORT_AND_LONG)
def test_short_and_long_form_give_the_same_document(
    short: dict[str, Any], long: dict[str, Any]
) -> None:
    assert load_one(one_step_scenario(**short)) == load_one(one_step_scenario(**long))
    assert load_one(one_step_scenario(**long)).dump_shortest() == one_step_scenario(**short)
    assert dump(load_one(one_step_scenario(**long))) == one_step_scenario(**long)


ROUND_TRIPS: list[dict[str, Any]] = [
    {"match": {"provider": ["openai", "anthropic"]}},
    {"match": {"model": [{"startswith": "gpt-", "ignore_case": True}, "claude"]}},
    {"match": {"messages": [{"role": "tool"}, {"role": "user", "which": 2, "equals": ""}]}},
    {"match": {"tool_results": [{}, {"is_error": False}], "tool_calls": [{}]}},
    {"produce": {"text": ""}},
    {"produce": {"reasoning": "", "text": "a"}},
    {"produce": {"tool_calls": [{"name": "f", "arguments": None}]}},
    {"produce": {"tool_calls": [{"name": "f", "arguments": "{broken"}]}},
    {"produce": {"raw": {"body": {"a": [1, 2.5, None, True]}}}},
    {"produce": {"streaming": {"text": "a"}, "non_streaming": {"text": "b"}}},
    {"produce": {"text": "a"}, "side_effects": {"assert": [{"tools": ["f"]}]}},
    {"produce": {"fault": {"kind": "http", "status": 503, "body": {"detail": "down"}}}},
    {"produce": {"text": "a", "provider_metadata": {"openai": {"service_tier": "flex"}}}},
    {"produce": {"text": "a", "finish_reason": "stop_sequence", "stop_sequence": "END"}},
]


@pytest.mark.parametrize("step", ROUND_TRIPS)
def test_dump_of_a_loaded_document_equals_it(step: dict[str, Any]) -> None:
    assert dump(load_one(one_step_scenario(**step))) == one_step_scenario(**step)


def test_integers_of_any_size_keep_their_value() -> None:
    call = {"name": "f", "arguments": {"id": 2**70}}
    document = load_one(one_step_scenario(produce={"tool_calls": [call]}))
    assert dump(document) == one_step_scenario(produce={"tool_calls": [call]})


def test_integer_is_accepted_as_a_float() -> None:
    document = load_one(one_step_scenario(expect={"temperature": 1}))
    assert document.steps[0].expect.temperature == 1.0


def test_a_scenario_may_have_no_steps_yet() -> None:
    assert load_one({"name": "empty"}).steps == []


def test_scenarios_are_loaded_in_order() -> None:
    documents = load_documents({"scenarios": [{"name": "b"}, {"name": "a"}]})
    assert [document.name for document in documents] == ["b", "a"]


def test_version_1_is_accepted() -> None:
    assert load_one({"version": 1, "name": "a"}) == load_one({"name": "a"})
    assert load_documents({"version": 1, "scenarios": []}) == []


@pytest.mark.parametrize("version", [2, 0, True, "1", None])
@pytest.mark.parametrize("other_keys", [{"name": "a"}, {"nom": "a"}, {"scenarios": []}])
def test_other_version_is_the_only_error_reported(
    version: Json, other_keys: dict[str, Json]
) -> None:
    with pytest.raises(DocumentError) as error:
        load_documents({"version": version, **other_keys})
    assert str(error.value) == f"version: {json.dumps(version)} is not read here, 1 is"


def test_every_problem_is_reported_on_a_separate_line() -> None:
    with pytest.raises(DocumentError) as error:
        load_documents({"name": "", "steps": [{"produce": {"pacing": {"jitter": 2}}}], "tag": []})
    document_error = error.value
    assert str(document_error).splitlines() == [
        "name: expected 1 to 200 printable characters without spaces around them",
        "steps[0].produce.pacing.jitter: expected a number from 0 to 1",
        'tag: unknown key, did you mean "tags"?',
    ]
    assert (document_error.place, document_error.message) == (
        document_error.problems[0].place,
        document_error.problems[0].message,
    )


def test_one_invalid_scenario_rejects_all() -> None:
    with pytest.raises(DocumentError):
        load_documents({"scenarios": [{"name": "right"}, {"name": "wrong", "steps": [5]}]})


def test_document_is_a_copy_of_its_data() -> None:
    data: dict[str, Any] = {"name": "a", "variables": {"list": [1]}}
    document = load_one(data)
    data["variables"]["list"].append(2)
    assert document.variables == {"list": [1]}


def test_text_loads_like_data() -> None:
    assert load_text(json.dumps(CONTRACT).encode()) == [load_one(CONTRACT)]


def test_match_can_be_loaded_without_a_scenario() -> None:
    match = load_match({"model": "gpt-4o", "messages": [{"role": "user", "contains": "hi"}]})
    expected = message_condition(TextCondition(contains="hi"), "user")
    assert match == build_match(model=(TextCondition(equals="gpt-4o"),), messages=(expected,))


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ({"modelx": "x"}, 'match.modelx: unknown key, did you mean "model"?'),
        ({"metadata": {"a": float("nan")}}, "match.metadata.a: expected a finite number"),
        ([], "match: expected an object"),
    ],
)
def test_invalid_match_is_rejected_with_its_path(data: object, line: str) -> None:
    with pytest.raises(DocumentError) as error:
        load_match(data)
    assert str(error.value) == line


def test_limits_come_from_the_caller() -> None:
    limits = DocumentLimits(text_bytes=4, latency_ms=10)
    assert load_documents(
        one_step_scenario(produce={"text": "four", "latency_ms": 10}), limits=limits
    )
    metadata = {"openai": {"system_fingerprint": "x" * 4_000}}
    generated_answer = {"generate": {"kind": "lorem"}, "provider_metadata": metadata}
    assert load_documents(one_step_scenario(produce=generated_answer), limits=limits)
    with pytest.raises(DocumentError) as error:
        load_documents(one_step_scenario(produce={"text": "fünf", "latency_ms": 11}), limits=limits)
    assert str(error.value).splitlines() == [
        "steps[0].produce.latency_ms: expected at most 10 milliseconds",
        "steps[0].produce: holds 5 bytes of text, expected at most 4",
    ]


def test_integer_may_be_written_as_3_0() -> None:
    """In JSON Schema an integer is a number without a fraction."""
    step = {
        "turn": 2,
        "match": {"messages": [{"which": 0, "contains": "x"}]},
        "failures": {"times": 1, "fault": {"kind": "http", "status": 503, "retry_after_ms": 5}},
        "produce": {"text": "hi", "pacing": {"words_per_chunk": 3}, "usage": {"input_tokens": 7}},
        "side_effects": {"status": 201},
    }
    document = {"name": "a", "priority": -3, "steps": [step]}
    floats = json.loads(json.dumps(document), parse_int=float)
    assert "-3.0" in json.dumps(floats)
    (written,), (loaded_document,) = load_documents(floats), load_documents(document)
    assert json.dumps(written.dump_shortest()) == json.dumps(loaded_document.dump_shortest())
