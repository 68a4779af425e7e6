"""Requirement 003's final report, and its two answers that nobody scripts: a failed validation, a
missing step."""

import json
from collections.abc import Mapping

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.parts import TextPart, ToolCallPart
from scenarios_app.engine.scenario import ScriptedAnswer, ScriptedChoice, ScriptedUsage

REPORT_ID = "agent-final-report"
REPORT_TOOL = "agent__final_report"
# What an answer costs that says nothing of its usage.
INPUT_TOKENS, OUTPUT_TOKENS = 64, 32


def final_report(report: Mapping[str, Json]) -> ToolCallPart:
    """A report as the tool call that hands it in."""
    arguments = json.dumps(report, ensure_ascii=False, separators=(",", ":"))
    return ToolCallPart(REPORT_ID, REPORT_TOOL, arguments)


def error_turn(message: str) -> ScriptedAnswer:
    """The answer to a request that was matched but is not as its step expects."""
    return _failure("Scenario validation failed.", f"# Test Harness Error\n\n{message}")


def fallback_step(message: str) -> ScriptedAnswer:
    """The answer for a turn that its scenario does not have."""
    return _failure("Encountered scenario mismatch.", f"# Scenario Failure\n\n{message}")


def _failure(text: str, content: str) -> ScriptedAnswer:
    report: Mapping[str, Json] = {
        "status": "failure",
        "report_format": "markdown",
        "report_content": content,
    }
    parts = (TextPart(text), final_report(report))
    return ScriptedAnswer(
        choices=(ScriptedChoice(parts),),
        usage=ScriptedUsage(input_tokens=INPUT_TOKENS, output_tokens=OUTPUT_TOKENS),
    )
