"""The texts of the error turn and of the fallback step, as requirement 003 defines them."""

import json

from scenarios_app.engine.canonical import ScriptedUsage
from scenarios_app.engine.parts import TextPart, ToolCallPart
from scenarios_app.engine.producing.produce import error_turn, fallback_step


def test_error_turn_has_the_text_of_the_requirement() -> None:
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


def test_fallback_step_has_the_text_of_the_requirement() -> None:
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


def test_message_is_escaped_in_the_call_arguments() -> None:
    message = 'Scenario not found: "\\ \n“ä”'
    call = error_turn(message).choices[0].parts[1]
    assert isinstance(call, ToolCallPart)
    assert "“ä”" in call.arguments
    content = json.loads(call.arguments)["report_content"]
    assert content == f"# Test Harness Error\n\n{message}"


def test_error_turn_and_fallback_step_use_64_and_32_tokens() -> None:
    expected = ScriptedUsage(input_tokens=64, output_tokens=32)
    assert error_turn("x").usage == fallback_step("x").usage == expected


def test_error_turn_and_fallback_step_are_repeated_for_n() -> None:
    assert not error_turn("x").per_choice
    assert not fallback_step("x").per_choice
