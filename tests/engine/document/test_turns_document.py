"""Requirement 003's documents, key by key: what each of them becomes."""

import json
from typing import Any

import pytest

from scenarios_app.engine.document import load_documents
from scenarios_app.engine.parts import TextPart, ToolCallPart
from scenarios_app.engine.scenario import ScriptedUsage
from tests.engine.turn_scripts import (
    answer_of,
    calls,
    compiled,
    reports,
    says,
    script,
    step_of,
    turn,
    written,
)

USAGE = {"usage": {"input_tokens": 64, "output_tokens": 32}}


def test_an_id_and_turns_are_a_scenario_chosen_by_its_first_user_message() -> None:
    document = script(turn(says("one")), turn(says("three"), 3), id="run-test-1")
    assert written(document) == {
        "name": "run-test-1",
        "select": "first_user_message",
        "steps": [
            {"turn": 1, "produce": {"text": "one", **USAGE}},
            {"turn": 3, "produce": {"text": "three", **USAGE}},
        ],
    }
    assert [step.consume for step in compiled(document).steps] == [False, False]


def test_description_and_system_prompt_fragments_are_the_scenarios() -> None:
    document = script(description="what for", systemPromptMustInclude=["be brief", ""])
    assert written(document) == {
        "name": "script",
        "description": "what for",
        "select": "first_user_message",
        "system_prompt_must_include": ["be brief"],
    }


def test_a_document_without_turns_is_a_scenario_without_steps() -> None:
    assert compiled(script()).steps == ()


@pytest.mark.parametrize(
    "several",
    [
        [script(id="a"), {"name": "b"}, script(id="c")],
        {"scenarios": [script(id="a"), {"name": "b"}, script(id="c")]},
        {"version": 1, "scenarios": [script(id="a"), {"name": "b"}, script(id="c")]},
    ],
)
def test_both_forms_stand_side_by_side_in_a_list_and_in_scenarios(several: Any) -> None:
    assert [document.name for document in load_documents(several)] == ["a", "b", "c"]


def test_expectations_are_the_steps() -> None:
    step = step_of(
        expectedTools=["get_weather", "agent__batch"],
        allowMissingTools=True,
        expectedTemperature=0.42,
        expectedTopP=1,
        expectedReasoning="disabled",
    )
    assert step["expect"] == {
        "tools": ["get_weather", "agent__batch"],
        "allow_missing_tools": True,
        "temperature": 0.42,
        "top_p": 1.0,
        "reasoning": "disabled",
    }


def test_optional_key_of_a_turn_can_be_null() -> None:
    absent = {"expectedTools": None, "failureError": None, "failuresBeforeSuccess": None}
    response = says("fine", reasoning=None, tokenUsage=None, toolCalls=None, finishReason=None)
    assert step_of(response, **absent) == step_of(says("fine"))


def test_whole_numbers_may_be_written_as_3_0() -> None:
    """By senders that know one kind of number."""
    document = script(
        turn(
            says("fine", tokenUsage={"inputTokens": 7.0, "outputTokens": 2.0, "cachedTokens": 1.0}),
            number=2,
            failuresBeforeSuccess=3,
            failureStatus="rate_limit",
            failureRetryAfterMs=50,
        )
    )
    floats = json.loads(json.dumps(document), parse_int=float)
    assert "3.0" in json.dumps(floats)
    assert json.dumps(written(floats)) == json.dumps(written(document))


def test_building_a_text_answer() -> None:
    assert answer_of(says("Hello.")).choices[0].parts == (TextPart("Hello."),)


def test_an_answer_of_nothing_is_an_empty_text() -> None:
    assert answer_of(says("")).choices[0].parts == (TextPart(""),)
    assert answer_of(calls(assistantText="")).choices[0].parts == (TextPart(""),)


def test_building_a_tool_call_answer_the_text_then_each_call_after_its_own() -> None:
    answer = answer_of(
        calls(
            {"toolName": "a", "arguments": {"x": [1, "ü"]}},
            {"toolName": "b", "callId": "mine", "assistantText": "Then b."},
            {"toolName": "c", "assistantText": "", "arguments": {}},
            assistantText="First a.",
        )
    )
    assert answer.choices[0].parts == (
        TextPart("First a."),
        ToolCallPart("call-1", "a", '{"x":[1,"ü"]}'),
        TextPart("Then b."),
        ToolCallPart("mine", "b", "{}"),
        ToolCallPart("call-3", "c", "{}"),
    )


def test_calls_without_texts_of_their_own_stay_a_list_that_is_easy_to_edit() -> None:
    step = step_of(calls({"toolName": "a"}, {"toolName": "b"}, assistantText="Both."))
    assert step["produce"] == {
        "text": "Both.",
        "tool_calls": [{"id": "call-1", "name": "a"}, {"id": "call-2", "name": "b"}],
        **USAGE,
    }


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"b": 1, "a": None}, '{"b":1,"a":null}'),
        ([], "[]"),
        (7, "7"),
        (None, "null"),
        (False, "false"),
        ("not-an-object", '"not-an-object"'),
        ('{"a": "ü"}', '"{\\"a\\": \\"ü\\"}"'),
    ],
)
def test_arguments_are_any_json_and_a_string_is_encoded_too(given: Any, sent: str) -> None:
    (call,) = answer_of(calls({"toolName": "f", "arguments": given})).choices[0].parts
    assert isinstance(call, ToolCallPart) and call.arguments == sent


def test_building_a_final_report() -> None:
    report = reports(
        "# Done",
        reportFormat="json",
        status="failure",
        reportContentJson={"b": 1, "a": [None]},
        reportMessages=["x", {"blocks": []}],
        assistantText="Here it is.",
    )
    assert answer_of(report).choices[0].parts == (
        TextPart("Here it is."),
        ToolCallPart(
            "agent-final-report",
            "agent__final_report",
            '{"status":"failure","report_format":"json","report_content":"# Done",'
            '"content_json":{"b":1,"a":[null]},"messages":["x",{"blocks":[]}]}',
        ),
    )


def test_missing_keys_of_a_report_are_left_out_of_the_call() -> None:
    (call,) = answer_of(reports(" ")).choices[0].parts
    assert isinstance(call, ToolCallPart)
    assert call.arguments == '{"status":"success","report_content":" "}'


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("stop", "stop"),
        ("tool-calls", "tool_calls"),
        ("content-filter", "content_filter"),
        ("max_tokens", "length"),
        ("length", "length"),
        ("other", None),
        ("refusal", None),
        ("", None),
        (None, None),
    ],
)
def test_a_finish_reason_that_no_provider_has_is_left_to_the_content(
    given: str | None, reason: str | None
) -> None:
    assert answer_of(says("a", finishReason=given)).choices[0].finish_reason == reason


@pytest.mark.parametrize(
    ("given", "usage"),
    [
        (None, ScriptedUsage(64, 32)),
        ({}, ScriptedUsage(64, 32)),
        ({"inputTokens": 120, "outputTokens": 40, "totalTokens": 160}, ScriptedUsage(120, 40)),
        ({"inputTokens": 64, "outputTokens": 0, "totalTokens": 64}, ScriptedUsage(64, 0)),
        ({"outputTokens": 5}, ScriptedUsage(64, 5)),
        (
            {"inputTokens": 9, "outputTokens": 5, "totalTokens": 20, "reasoningTokens": 2},
            ScriptedUsage(9, 5, reasoning_tokens=2, total_tokens=20),
        ),
        (
            {"inputTokens": 9, "outputTokens": 5, "cachedTokens": 4},
            ScriptedUsage(9, 5, cached_tokens=4),
        ),
        ({"cachedInputTokens": 4}, ScriptedUsage(64, 32, cached_tokens=4)),
        ({"cachedTokens": 0, "cachedInputTokens": 4}, ScriptedUsage(64, 32, cached_tokens=0)),
        (
            {"cacheReadInputTokens": 40, "cacheWriteInputTokens": 45},
            ScriptedUsage(64, 32, cache_read_tokens=40, cache_write_tokens=45),
        ),
    ],
)
def test_token_usage_and_its_default(given: dict[str, int] | None, usage: ScriptedUsage) -> None:
    assert answer_of(says("a", tokenUsage=given)).usage == usage


def test_provider_metadata_is_whoevers_answers_unless_it_is_named_for_a_provider() -> None:
    metadata = {
        "actualProvider": "router/x",
        "parameterWarnings": [{"reason": "r"}],
        "openai": {"system_fingerprint": "fp"},
    }
    assert answer_of(says("a", providerMetadata=metadata)).provider_metadata == {
        "any": {"actualProvider": "router/x", "parameterWarnings": [{"reason": "r"}]},
        "openai": {"system_fingerprint": "fp"},
    }
    assert answer_of(says("a", providerMetadata={})).provider_metadata == {}


def test_braces_are_text_here_even_where_they_read_like_a_template() -> None:
    document = script(
        turn(
            calls(
                {"toolName": "f", "arguments": {"{{ k }}": "{{ city }}"}},
                assistantText="{{ request.model }}, {{x}}",
            )
        )
    )
    assert written(document)["variables"] == {"braces": "{{"}
    assert "variables" not in written(script(turn(says("{{ 7*7 }} {{"))))
    assert json.dumps(written(document)["steps"]).count("{{ braces }}") == 4
