"""Documents and rows: conversion without loss, and columns for the common keys."""

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from scenarios_app.engine.document import (
    DocumentError,
    ScenarioDocument,
    compile_scenario,
    dump,
    load_documents,
)
from scenarios_app.models import Scenario, Step
from scenarios_app.store import document_of, rows_of, save_document
from scenarios_app.store.translate import column_at, step_object
from tests.state import documents
from tests.support.hypothesis_profiles import example_count

CONTRACT: dict[str, Any] = {
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
    "expect": {"tools": ["get_weather"], "temperature": 0.2, "reasoning": "enabled"},
    "failures": {
        "times": 1,
        "fault": {"kind": "rate_limit", "message": "slow down", "retry_after_ms": 1000},
    },
    "produce": {
        "reasoning": [{"text": "I need the tool.", "signature": "sig-1"}],
        "text": "Let me look.",
        "tool_calls": [{"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris"}}],
        "usage": {"input_tokens": 64, "output_tokens": 32},
        "pacing": {"words_per_second": 50.0, "jitter": 0.5},
    },
    "side_effects": {"counter": "calls", "headers": {"x-extra": "1"}, "echo_headers": ["x-a"]},
}


def make_document(*steps: dict[str, Any], **fields: Any) -> ScenarioDocument:
    (document,) = load_documents({"name": "weather", **fields, "steps": list(steps)})
    return document


def step_row(step: dict[str, Any]) -> Step:
    return rows_of(make_document(step))[1][0]


def set_columns(step: Step) -> dict[str, Any]:
    """Return the columns whose values are not the defaults."""
    default_step = Step()
    return {
        column.name: value
        for column in Step._meta.concrete_fields
        if column.editable and column.name not in ("id", "scenario", "order")
        if (value := getattr(step, column.name)) != getattr(default_step, column.name)
    }


@settings(max_examples=example_count(200), deadline=None)
@given(documents.documents)
def test_unsaved_rows_convert_back_to_the_document(source: ScenarioDocument) -> None:
    scenario, steps = rows_of(source)
    again = document_of(scenario, steps)
    assert dump(again) == dump(source)
    assert compile_scenario(again) == compile_scenario(source)


@pytest.mark.django_db
@settings(
    max_examples=example_count(40),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(documents.documents)
def test_stored_rows_convert_back_to_the_document(source: ScenarioDocument) -> None:
    saved = save_document(source)
    assert dump(document_of(Scenario.objects.get(pk=saved.pk))) == dump(source)


@settings(max_examples=example_count(200), deadline=None)
@given(documents.documents)
def test_form_without_changes_keeps_the_document(source: ScenarioDocument) -> None:
    """The form field of every column returns the value that it was initialised with."""
    scenario, steps = rows_of(source)
    for saved in (scenario, *steps):
        for column in saved._meta.concrete_fields:
            if column.editable and (field := column.formfield()) and column.name != "scenario":
                initial = field.prepare_value(getattr(saved, column.name))
                submitted = _submitted_text(initial)
                cleaned = field.clean(submitted)
                if not field.has_changed(initial, submitted):
                    cleaned = getattr(saved, column.name)
                setattr(saved, column.name, column.clean(cleaned, None) if cleaned else cleaned)
    assert dump(document_of(scenario, steps)) == dump(source)


def _submitted_text(initial: Any) -> Any:
    """Return a text as a browser submits it, with CRLF line ends."""
    return re.sub(r"\r\n?|\n", "\r\n", initial) if isinstance(initial, str) else initial


def test_common_keys_have_columns() -> None:
    assert set_columns(step_row(CONTRACT)) == {
        "name": "call the tool",
        "match_provider": "openai",
        "match_path": "/v1/chat/completions",
        "match_model": "^gpt-4",
        "match_model_mode": "regex",
        "match_stream": True,
        "match_user": "weather",
        "match_user_ignore_case": True,
        "match_tools": ["get_weather"],
        "match_extra": {"headers": {"x-team": "qa"}},
        "expect_tools": ["get_weather"],
        "expect_temperature": 0.2,
        "expect_reasoning": "enabled",
        "failures_times": 1,
        "failures_kind": "rate_limit",
        "failures_message": "slow down",
        "failures_retry_after_ms": 1000,
        "answer_text": "Let me look.",
        "answer_tool_calls": CONTRACT["produce"]["tool_calls"],
        "answer_input_tokens": 64,
        "answer_output_tokens": 32,
        "answer_extra": {"reasoning": CONTRACT["produce"]["reasoning"]},
        "words_per_second": 50.0,
        "jitter": 0.5,
        "counter": "calls",
        "response_headers": {"x-extra": "1"},
        "echo_headers": ["x-a"],
    }


def test_system_prompt_tool_result_and_tool_name_have_columns() -> None:
    match = {
        "messages": [
            {"role": "system", "startswith": "You are"},
            {"role": "tool", "contains": "sunny"},
            {"role": "assistant", "contains": "more"},
        ],
        "tool_results": [{"name": "get_weather"}],
    }
    columns = set_columns(step_row({"match": match, "produce": {"text": "Sunny."}}))
    assert columns == {
        "match_system": "You are",
        "match_system_mode": "startswith",
        "match_tool_result": "sunny",
        "match_tool_result_name": "get_weather",
        "match_extra": {"messages": [{"role": "assistant", "contains": "more"}]},
        "answer_text": "Sunny.",
    }


def test_conditions_with_and_without_columns_keep_their_order() -> None:
    messages = [
        {"role": "user", "contains": "a"},
        {"role": "system", "contains": "b"},
        {"role": "user", "which": "first", "contains": "c"},
    ]
    results = [{"name": "first"}, {"name": "second", "contains": "d"}]
    step_data = {"match": {"messages": messages, "tool_results": results}, "produce": {"text": "e"}}
    step = step_row(step_data)
    assert (step.match_user, step.match_tool_result_name) == ("a", "first")
    assert step_object(step) == step_data


@pytest.mark.parametrize(
    ("produce", "columns"),
    [
        ({"text": ""}, {"answer_extra": {"text": ""}}),
        ({"text": "a\0b"}, {"answer_extra": {"text": "a\0b"}}),
        ({"reasoning": "Hm."}, {"answer_extra": {}, "answer_reasoning": "Hm."}),
        ({"raw": {"status": 418}}, {"answer_extra": {"raw": {"status": 418}}}),
        (
            {"fault": {"kind": "http", "status": 418, "code": "teapot"}},
            {"fault_kind": "http", "fault_status": 418, "fault_extra": {"code": "teapot"}},
        ),
    ],
)
def test_value_without_a_column_is_kept_in_the_extra_column(
    produce: dict[str, Any], columns: dict[str, Any]
) -> None:
    step_columns = set_columns(step_row({"produce": produce}))
    assert step_columns == {column: value for column, value in columns.items() if value}


def test_column_overrides_its_key_in_the_extra_column() -> None:
    step = Step(answer_text="seen", answer_extra={"text": "hidden", "usage": {"cached_tokens": 1}})
    step.answer_input_tokens = 2
    step.extra = {"produce": {"text": "forgotten"}, "name": "hidden"}
    assert step_object(step) == {
        "name": "hidden",
        "produce": {"text": "seen", "usage": {"cached_tokens": 1, "input_tokens": 2}},
    }


def test_extra_columns_must_hold_objects() -> None:
    with pytest.raises(DocumentError, match=r"match_extra: expected an object"):
        document_of(Scenario(name="a"), [Step(match_extra=["wrong"])])
    with pytest.raises(DocumentError, match=r"match_extra: expected a list as 'messages'"):
        document_of(Scenario(name="a"), [Step(match_user="hi", match_extra={"messages": {}})])


def test_rows_of_an_invalid_document_name_the_place() -> None:
    with pytest.raises(DocumentError) as error:
        document_of(Scenario(name="a"), [Step(answer_text="{{ nobody }}", jitter=2.0)])
    assert error.value.place.startswith("steps[0].produce")


@pytest.mark.parametrize(
    ("place", "column"),
    [
        ("produce.text", "answer_text"),
        ("produce.pacing.jitter", "jitter"),
        ("produce.tool_calls[0].arguments", "answer_tool_calls"),
        ("produce.reasoning[0].text", "answer_extra"),
        ("produce", "answer_extra"),
        ("match.model", "match_model"),
        ("match.model[0].regex", "match_model"),
        ("match.messages[0].contains", "match_user"),
        ("match.messages[1]", "match_extra"),
        ("match.tool_results[0].name", "match_extra"),
        ("match.headers.x-team", "match_extra"),
        ("failures.fault.status", "failures_extra"),
        ("failures.fault.kind", "failures_kind"),
        ("failures.times", "failures_times"),
        ("expect.top_p", "extra"),
        ("side_effects.assert", "extra"),
        ("turn", "extra"),
    ],
)
def test_path_is_mapped_to_its_column(place: str, column: str) -> None:
    assert column_at(place, step_row(CONTRACT)) == column
