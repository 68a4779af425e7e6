"""What a matched request should also be: what does not hold is a violation, in fixed words."""

from collections.abc import Iterator
from decimal import Decimal
from math import isfinite, isnan
from typing import NamedTuple

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.subjects import Reading, sanitise_tool_name
from scenarios_app.engine.conditions.texts import quote
from scenarios_app.engine.scenario import Expect, Scenario, Step

# Tools of the agent itself are its own affair.
_EXEMPT = "agent__"
_TOLERANCE = 1e-6
VIOLATED = "expectation_violated"
# So many of the tools that were offered are named.
_NAMED = 20


class _Violation(NamedTuple):
    """Requirement 003's words, and what was got instead where these do not say it."""

    text: str
    got: str = ""


def violations_of(
    scenario: Scenario, step: Step | None, request: CanonicalRequest
) -> tuple[str, ...]:
    """All violations, in the order of requirement 003: system prompt, tools, temperature, topP,
    reasoning. The first makes the error turn. Without a step (its turn is missing) the system
    prompt alone is looked at."""
    return tuple(violation.text for violation in _violations(scenario, step, request))


def violated_message(scenario: Scenario, step: Step, request: CanonicalRequest) -> str:
    """The text of the 400: every violation, with what was expected and got."""
    told = "; ".join(
        f"{violation.text} ({violation.got})" if violation.got else violation.text
        for violation in _violations(scenario, step, request)
    )
    return (
        f"{VIOLATED}: step “{step.label}” of scenario “{scenario.name}” answers this request, "
        f"but it is not as that expects. {told}"
    )


def assert_violations(step: Step, request: CanonicalRequest) -> tuple[str, ...]:
    """The failures of `side_effects.assert`, one for each match object with all its mismatches."""
    reading = Reading(request)
    failed = []
    for i, match in enumerate(step.side_effects.asserts):
        mismatches = match.mismatches(reading)
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


def _violations(
    scenario: Scenario, step: Step | None, request: CanonicalRequest
) -> Iterator[_Violation]:
    system = request.system_text
    missing = [text for text in scenario.system_prompt_must_include if text not in system]
    if missing:
        got = f"it is {quote(system)}" if system else "there is none"
        yield _Violation(f"System prompt missing: {', '.join(missing)}", got)
    if step is not None:
        yield from _unexpected(step.expect, request)


def _unexpected(expect: Expect, request: CanonicalRequest) -> Iterator[_Violation]:
    missing = [] if expect.allow_missing_tools else _missing_tools(expect, request)
    if missing:
        yield _Violation(f"Expected tools not available: {', '.join(missing)}", _offered(request))
    for name, expected, received in (
        ("temperature", expect.temperature, request.temperature),
        ("topP", expect.top_p, request.top_p),
    ):
        if expected is not None and not _near(expected, received):
            told = f"Expected {name} {js_number(expected)} but received {js_number(received)}"
            yield _Violation(told)
    if expect.reasoning == "enabled" and not request.reasoning:
        yield _Violation("Expected reasoning to remain enabled", "it is disabled")
    if expect.reasoning == "disabled" and request.reasoning:
        yield _Violation("Expected reasoning to be disabled", "it is enabled")


def _missing_tools(expect: Expect, request: CanonicalRequest) -> list[str]:
    offered = {sanitise_tool_name(tool.name) for tool in request.tools}
    return [
        name
        for name in expect.tools
        if not name.startswith(_EXEMPT) and sanitise_tool_name(name) not in offered
    ]


def _offered(request: CanonicalRequest) -> str:
    names = [tool.name for tool in request.tools]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"offered: {', '.join(names[:_NAMED])}{more}" if names else "none is offered"


def _near(expected: float, received: float | None) -> bool:
    return received is not None and abs(received - expected) <= _TOLERANCE
