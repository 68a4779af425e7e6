"""The error turn and the fallback step say exactly what requirement 003 says."""

import json

from scenarios_app.engine.parts import TextPart, ToolCallPart
from scenarios_app.engine.producing.produce import error_turn, fallback_step
from scenarios_app.engine.scenario import ScriptedUsage


def test_the_error_turn() -> None:
    answer = error_turn("Expected reasoning to be disabled")
    assert answer.choices[0].parts == (
        TextPart("Scenario validation failed."),
        ToolCallPart(
            "agent-final-report",
            "agent__final_report",
            '{"status":"failure","report_format":"markdown","report_content":'
            '"# Test Harness Error\\n\\nExpected reasoning to be disabled"}',
        ),
    )


def test_the_fallback_step() -> None:
    answer = fallback_step("No turn 7 in scenario weather")
    assert answer.choices[0].parts == (
        TextPart("Encountered scenario mismatch."),
        ToolCallPart(
            "agent-final-report",
            "agent__final_report",
            '{"status":"failure","report_format":"markdown","report_content":'
            '"# Scenario Failure\\n\\nNo turn 7 in scenario weather"}',
        ),
    )


def test_any_message_stays_one_json_string() -> None:
    message = 'Scenario not found: "\\ \n“ä”'
    call = error_turn(message).choices[0].parts[1]
    assert isinstance(call, ToolCallPart)
    assert "“ä”" in call.arguments
    content = json.loads(call.arguments)["report_content"]
    assert content == f"# Test Harness Error\n\n{message}"


def test_both_cost_64_and_32_tokens() -> None:
    expected = ScriptedUsage(input_tokens=64, output_tokens=32)
    assert error_turn("x").usage == fallback_step("x").usage == expected


def test_both_repeat_as_often_as_the_request_asks() -> None:
    assert not error_turn("x").per_choice
    assert not fallback_step("x").per_choice
