"""Conversion of turn scripts, key by key."""

import json
from typing import Any

import pytest

from scenarios_app.engine.canonical import ScriptedUsage
from scenarios_app.engine.document import load_documents
from scenarios_app.engine.parts import TextPart, ToolCallPart
from tests.engine.turn_scripts import (
    compile_answer,
    compile_script,
    convert,
    convert_turn,
    final_report_response,
    script,
    text_response,
    tool_call_response,
    turn,
)

USAGE = {"usage": {"input_tokens": 64, "output_tokens": 32}}


def test_script_becomes_a_scenario_selected_by_its_first_user_message() -> None:
    document = script(turn(text_response("one")), turn(text_response("three"), 3), id="run-test-1")
    assert convert(document) == {
        "name": "run-test-1",
        "select": "first_user_message",
        "steps": [
            {"turn": 1, "produce": {"text": "one", **USAGE}},
            {"turn": 3, "produce": {"text": "three", **USAGE}},
        ],
    }
    assert [step.consume for step in compile_script(document).steps] == [False, False]


def test_description_and_system_prompt_fragments_are_converted() -> None:
    document = script(description="what for", systemPromptMustInclude=["be brief", ""])
    assert convert(document) == {
        "name": "script",
        "description": "what for",
        "select": "first_user_message",
        "system_prompt_must_include": ["be brief"],
    }


def test_a_document_without_turns_is_a_scenario_without_steps() -> None:
    assert compile_script(script()).steps == ()


@pytest.mark.parametrize(
    "data",
    [
        [script(id="a"), {"name": "b"}, script(id="c")],
        {"scenarios": [script(id="a"), {"name": "b"}, script(id="c")]},
        {"version": 1, "scenarios": [script(id="a"), {"name": "b"}, script(id="c")]},
    ],
)
def test_scripts_and_scenarios_can_be_mixed_in_a_list(data: Any) -> None:
    assert [document.name for document in load_documents(data)] == ["a", "b", "c"]


def test_expectations_of_a_turn_are_converted() -> None:
    step = convert_turn(
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
    null_keys = {"expectedTools": None, "failureError": None, "failuresBeforeSuccess": None}
    response = text_response(
        "fine", reasoning=None, tokenUsage=None, toolCalls=None, finishReason=None
    )
    assert convert_turn(response, **null_keys) == convert_turn(text_response("fine"))


def test_integers_may_be_written_as_3_0() -> None:
    """Some programs write every number as a float."""
    document = script(
        turn(
            text_response(
                "fine", tokenUsage={"inputTokens": 7.0, "outputTokens": 2.0, "cachedTokens": 1.0}
            ),
            number=2,
            failuresBeforeSuccess=3,
            failureStatus="rate_limit",
            failureRetryAfterMs=50,
        )
    )
    floats = json.loads(json.dumps(document), parse_int=float)
    assert "3.0" in json.dumps(floats)
    assert json.dumps(convert(floats)) == json.dumps(convert(document))


def test_text_response_becomes_a_text_part() -> None:
    assert compile_answer(text_response("Hello.")).choices[0].parts == (TextPart("Hello."),)


def test_empty_response_becomes_an_empty_text() -> None:
    assert compile_answer(text_response("")).choices[0].parts == (TextPart(""),)
    assert compile_answer(tool_call_response(assistantText="")).choices[0].parts == (TextPart(""),)


def test_text_of_a_tool_call_comes_before_its_call() -> None:
    answer = compile_answer(
        tool_call_response(
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


def test_calls_without_texts_become_a_list_of_tool_calls() -> None:
    step = convert_turn(
        tool_call_response({"toolName": "a"}, {"toolName": "b"}, assistantText="Both.")
    )
    assert step["produce"] == {
        "text": "Both.",
        "tool_calls": [{"id": "call-1", "name": "a"}, {"id": "call-2", "name": "b"}],
        **USAGE,
    }


@pytest.mark.parametrize(
    ("arguments", "encoded_arguments"),
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
def test_arguments_of_any_type_are_encoded_as_json(arguments: Any, encoded_arguments: str) -> None:
    (call,) = (
        compile_answer(tool_call_response({"toolName": "f", "arguments": arguments}))
        .choices[0]
        .parts
    )
    assert isinstance(call, ToolCallPart) and call.arguments == encoded_arguments


def test_final_report_becomes_a_tool_call() -> None:
    report = final_report_response(
        "# Done",
        reportFormat="json",
        status="failure",
        reportContentJson={"b": 1, "a": [None]},
        reportMessages=["x", {"blocks": []}],
        assistantText="Here it is.",
    )
    assert compile_answer(report).choices[0].parts == (
        TextPart("Here it is."),
        ToolCallPart(
            "agent-final-report",
            "agent__final_report",
            '{"status":"failure","report_format":"json","report_content":"# Done",'
            '"content_json":{"b":1,"a":[null]},"messages":["x",{"blocks":[]}]}',
        ),
    )


def test_missing_keys_of_a_report_are_omitted_from_the_call() -> None:
    (call,) = compile_answer(final_report_response(" ")).choices[0].parts
    assert isinstance(call, ToolCallPart)
    assert call.arguments == '{"status":"success","report_content":" "}'


@pytest.mark.parametrize(
    ("script_reason", "reason"),
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
def test_unknown_finish_reason_is_derived_from_the_content(
    script_reason: str | None, reason: str | None
) -> None:
    assert (
        compile_answer(text_response("a", finishReason=script_reason)).choices[0].finish_reason
        == reason
    )


@pytest.mark.parametrize(
    ("token_usage", "usage"),
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
def test_token_usage_and_its_default(
    token_usage: dict[str, int] | None, usage: ScriptedUsage
) -> None:
    assert compile_answer(text_response("a", tokenUsage=token_usage)).usage == usage


def test_provider_metadata_applies_to_any_provider_unless_keyed_by_one() -> None:
    metadata = {
        "actualProvider": "router/x",
        "parameterWarnings": [{"reason": "r"}],
        "openai": {"system_fingerprint": "fp"},
    }
    assert compile_answer(text_response("a", providerMetadata=metadata)).provider_metadata == {
        "any": {"actualProvider": "router/x", "parameterWarnings": [{"reason": "r"}]},
        "openai": {"system_fingerprint": "fp"},
    }
    assert compile_answer(text_response("a", providerMetadata={})).provider_metadata == {}


def test_braces_in_a_script_are_escaped() -> None:
    document = script(
        turn(
            tool_call_response(
                {"toolName": "f", "arguments": {"{{ k }}": "{{ city }}"}},
                assistantText="{{ request.model }}, {{x}}",
            )
        )
    )
    assert convert(document)["variables"] == {"braces": "{{"}
    assert "variables" not in convert(script(turn(text_response("{{ 7*7 }} {{"))))
    assert json.dumps(convert(document)["steps"]).count("{{ braces }}") == 4
