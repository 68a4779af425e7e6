"""The two answers of requirement 003 that nobody scripts: a failed validation, a missing step."""

import json

from scenarios_app.engine.parts import TextPart, ToolCallPart
from scenarios_app.engine.scenario import ScriptedAnswer, ScriptedChoice, ScriptedUsage

REPORT_ID = "agent-final-report"
REPORT_TOOL = "agent__final_report"


def error_turn(message: str) -> ScriptedAnswer:
    """The answer to a request that was matched but is not as its step expects."""
    return _failure("Scenario validation failed.", f"# Test Harness Error\n\n{message}")


def fallback_step(message: str) -> ScriptedAnswer:
    """The answer for a turn that its scenario does not have."""
    return _failure("Encountered scenario mismatch.", f"# Scenario Failure\n\n{message}")


def _failure(text: str, content: str) -> ScriptedAnswer:
    report = {"status": "failure", "report_format": "markdown", "report_content": content}
    arguments = json.dumps(report, ensure_ascii=False, separators=(",", ":"))
    parts = (TextPart(text), ToolCallPart(REPORT_ID, REPORT_TOOL, arguments))
    return ScriptedAnswer(
        choices=(ScriptedChoice(parts),),
        usage=ScriptedUsage(input_tokens=64, output_tokens=32),
    )
