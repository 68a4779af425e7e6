"""What a matched request should also be: what does not hold is a violation, in fixed words."""

from collections.abc import Iterator
from decimal import Decimal
from math import isfinite, isnan

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.match import compile_match
from scenarios_app.engine.reading import Reading, sanitise_tool_name
from scenarios_app.engine.scenario import Expect, Scenario, Step

# Tools of the agent itself are its own affair.
_EXEMPT = "agent__"
_TOLERANCE = 1e-6


def violations_of(
    scenario: Scenario, step: Step | None, request: CanonicalRequest
) -> tuple[str, ...]:
    """All violations, in the order of requirement 003: system prompt, tools, temperature, topP,
    reasoning. The first makes the error turn. Without a step (its turn is missing) the system
    prompt alone is looked at."""
    return tuple(_violations(scenario, step, request))


def assert_violations(step: Step, request: CanonicalRequest) -> tuple[str, ...]:
    """The failures of `side_effects.assert`, one for each match object with all its mismatches."""
    reading = Reading(request)
    failed = []
    for i, match in enumerate(step.side_effects.asserts):
        mismatches = compile_match(match).mismatches(reading)
        if mismatches:
            reasons = "; ".join(
                f"{m.field}: expected {m.expected}, received {m.actual}" for m in mismatches
            )
            failed.append(f"Assertion side_effects.assert[{i}] failed: {reasons}")
    return tuple(failed)


def js_number(number: float | None) -> str:
    """A number as JavaScript writes it; requirement 003's texts do."""
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


def _violations(scenario: Scenario, step: Step | None, request: CanonicalRequest) -> Iterator[str]:
    system = request.system_text
    missing = [text for text in scenario.system_prompt_must_include if text not in system]
    if missing:
        yield f"System prompt missing: {', '.join(missing)}"
    if step is not None:
        yield from _unexpected(step.expect, request)


def _unexpected(expect: Expect, request: CanonicalRequest) -> Iterator[str]:
    missing = [] if expect.allow_missing_tools else _missing_tools(expect, request)
    if missing:
        yield f"Expected tools not available: {', '.join(missing)}"
    for name, expected, received in (
        ("temperature", expect.temperature, request.temperature),
        ("topP", expect.top_p, request.top_p),
    ):
        if expected is not None and not _near(expected, received):
            yield f"Expected {name} {js_number(expected)} but received {js_number(received)}"
    if expect.reasoning == "enabled" and not request.reasoning:
        yield "Expected reasoning to remain enabled"
    if expect.reasoning == "disabled" and request.reasoning:
        yield "Expected reasoning to be disabled"


def _missing_tools(expect: Expect, request: CanonicalRequest) -> list[str]:
    offered = {sanitise_tool_name(tool.name) for tool in request.tools}
    return [
        name
        for name in expect.tools
        if not name.startswith(_EXEMPT) and sanitise_tool_name(name) not in offered
    ]


def _near(expected: float, received: float | None) -> bool:
    return received is not None and abs(received - expected) <= _TOLERANCE
