"""Checks what a step expects of a matched request; each violation has a fixed text."""

from collections.abc import Iterator
from decimal import Decimal
from math import isfinite, isnan
from typing import NamedTuple

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.subjects import RequestReader, sanitise_tool_name
from scenarios_app.engine.conditions.texts import quote
from scenarios_app.engine.scenario import Expect, Scenario, Step

# Tools of the agent itself are not checked.
_EXEMPT_PREFIX = "agent__"
_TOLERANCE = 1e-6
VIOLATED = "expectation_violated"
_MAX_NAMED_TOOLS = 20


class _Violation(NamedTuple):
    """The text required by requirement 003, and the actual value if the text lacks it."""

    text: str
    got: str = ""


def violations_of(
    scenario: Scenario, step: Step | None, request: CanonicalRequest
) -> tuple[str, ...]:
    """Return all violations in the order of requirement 003: system prompt, tools, temperature,
    topP, reasoning. Without a step (a missing turn) only the system prompt is checked."""
    return tuple(violation.text for violation in _violations(scenario, step, request))


def violated_message(scenario: Scenario, step: Step, request: CanonicalRequest) -> str:
    """Return the text of the 400: every violation with expected and actual values."""
    violations = "; ".join(
        f"{violation.text} ({violation.got})" if violation.got else violation.text
        for violation in _violations(scenario, step, request)
    )
    return (
        f"{VIOLATED}: step “{step.label}” of scenario “{scenario.name}” answers this request, "
        f"but it is not as that expects. {violations}"
    )


def assert_violations(step: Step, request: CanonicalRequest) -> tuple[str, ...]:
    """Return the failures of `side_effects.assert`, one for each failed match object."""
    reader = RequestReader(request)
    failed = []
    for i, match in enumerate(step.side_effects.asserts):
        mismatches = match.mismatches(reader)
        if mismatches:
            reasons = "; ".join(
                f"{m.field}: expected {m.expected}, received {m.actual}" for m in mismatches
            )
            failed.append(f"Assertion side_effects.assert[{i}] failed: {reasons}")
    return tuple(failed)


def format_js_number(number: float | None) -> str:
    """Format a number like JavaScript, which requirement 003's texts use; None is `undefined`."""
    if number is None:
        return "undefined"
    value = float(number)
    if value == 0:
        return "0"
    if not isfinite(value):
        return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    shortest = Decimal(repr(value)).normalize()
    sign, digits, exponent = shortest.as_tuple()
    point = len(digits) + int(exponent)
    if -6 < point <= 21:
        return f"{shortest:f}"
    first, *rest = map(str, digits)
    fraction = "." + "".join(rest) if rest else ""
    return f"{'-' if sign else ''}{first}{fraction}e{point - 1:+d}"


def _violations(
    scenario: Scenario, step: Step | None, request: CanonicalRequest
) -> Iterator[_Violation]:
    """Yield what a request lacks of the scenario's system prompt, which requirement 003 looks for
    in the first system message, and of the step's expectations."""
    system = request.first_system_text
    missing = [text for text in scenario.system_prompt_must_include if text not in system]
    if missing:
        got = f"it is {quote(system)}" if system else "there is none"
        yield _Violation(f"System prompt missing: {', '.join(missing)}", got)
    if step is not None:
        yield from _expect_violations(step.expect, request)


def _expect_violations(expect: Expect, request: CanonicalRequest) -> Iterator[_Violation]:
    """Yield what a request lacks of `expect`: tools and settings."""
    missing = [] if expect.allow_missing_tools else _missing_tools(expect, request)
    if missing:
        yield _Violation(
            f"Expected tools not available: {', '.join(missing)}", _describe_offered_tools(request)
        )
    for name, expected, received in (
        ("temperature", expect.temperature, request.temperature),
        ("topP", expect.top_p, request.top_p),
    ):
        if expected is not None and not _is_near(expected, received):
            wanted, got = format_js_number(expected), format_js_number(received)
            yield _Violation(f"Expected {name} {wanted} but received {got}")
    if expect.reasoning == "enabled" and not request.reasoning:
        yield _Violation("Expected reasoning to remain enabled", "it is disabled")
    if expect.reasoning == "disabled" and request.reasoning:
        yield _Violation("Expected reasoning to be disabled", "it is enabled")


def _missing_tools(expect: Expect, request: CanonicalRequest) -> list[str]:
    """Return the expected tools that the request does not offer; names that begin with `agent__`
    are exempt."""
    offered = {sanitise_tool_name(tool.name) for tool in request.tools}
    return [
        name
        for name in expect.tools
        if not name.startswith(_EXEMPT_PREFIX) and sanitise_tool_name(name) not in offered
    ]


def _describe_offered_tools(request: CanonicalRequest) -> str:
    names = [tool.name for tool in request.tools]
    more = f" and {len(names) - _MAX_NAMED_TOOLS} more" if len(names) > _MAX_NAMED_TOOLS else ""
    return f"offered: {', '.join(names[:_MAX_NAMED_TOOLS])}{more}" if names else "none is offered"


def _is_near(expected: float, received: float | None) -> bool:
    return received is not None and abs(received - expected) <= _TOLERANCE
