"""Violations: requirement 003's texts word by word, their order, and assertions."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.canonical import CanonicalRequest, Message
from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.messages import MessageCondition
from scenarios_app.engine.matching.expectations import (
    assert_violations,
    format_js_number,
    violated_message,
    violations_of,
)
from scenarios_app.engine.scenario import Expect, SideEffects
from tests.engine.asking import ask, say, saying, scenario, step, when


def violations(request: CanonicalRequest, **expect: object) -> tuple[str, ...]:
    expected = step(expect=Expect(**expect))  # type: ignore[arg-type]
    return violations_of(scenario("s", expected), expected, request)


@pytest.mark.parametrize(
    ("expect", "request_", "text"),
    [
        ({"tools": ("a", "b", "c")}, ask(tools=["b"]), "Expected tools not available: a, c"),
        ({"temperature": 0.2}, ask(temperature=1), "Expected temperature 0.2 but received 1"),
        ({"temperature": 1.0}, ask(temperature=0.7), "Expected temperature 1 but received 0.7"),
        ({"temperature": 0.0}, ask(), "Expected temperature 0 but received undefined"),
        ({"top_p": 1.0}, ask(top_p=0.95), "Expected topP 1 but received 0.95"),
        ({"top_p": 0.5}, ask(), "Expected topP 0.5 but received undefined"),
        ({"reasoning": "enabled"}, ask(), "Expected reasoning to remain enabled"),
        ({"reasoning": "disabled"}, ask(reasoning=True), "Expected reasoning to be disabled"),
    ],
)
def test_failed_expectation_is_a_violation_with_a_fixed_text(
    expect: dict[str, object], request_: CanonicalRequest, text: str
) -> None:
    assert violations(request_, **expect) == (text,)


@pytest.mark.parametrize(
    ("expect", "request_"),
    [
        ({}, ask(temperature=1.5, reasoning=True)),
        ({"tools": ("get weather",)}, ask(tools=["get_weather<|x|>"])),
        ({"tools": ("agent__final_report",)}, ask()),
        ({"tools": ("a",), "allow_missing_tools": True}, ask()),
        ({"temperature": 0.2}, ask(temperature=0.2000009)),
        ({"top_p": 1.0}, ask(top_p=1)),
        ({"reasoning": "enabled"}, ask(reasoning=True)),
        ({"reasoning": "disabled"}, ask()),
    ],
)
def test_met_expectation_is_no_violation(
    expect: dict[str, object], request_: CanonicalRequest
) -> None:
    assert violations(request_, **expect) == ()


def test_a_number_a_little_further_off_is_a_violation() -> None:
    assert violations(ask(temperature=0.200002), temperature=0.2) == (
        "Expected temperature 0.2 but received 0.200002",
    )


def test_all_violations_are_listed_in_order() -> None:
    wanted = step(
        expect=Expect(tools=("a",), temperature=0.1, top_p=0.1, reasoning="enabled"),
    )
    strict = scenario("s", wanted, system_prompt_must_include=("x", "y", "z"))
    request = ask(say("system", "only y"))
    everything = (
        "System prompt missing: x, z",
        "Expected tools not available: a",
        "Expected temperature 0.1 but received undefined",
        "Expected topP 0.1 but received undefined",
        "Expected reasoning to remain enabled",
    )
    assert violations_of(strict, wanted, request) == everything
    assert violations_of(strict, None, request) == everything[:1]


def test_the_system_prompt_is_all_system_messages() -> None:
    strict = scenario("s", system_prompt_must_include=("kind", "brief"))
    request = ask(say("system", "be kind"), "hello", say("system", "be brief"))
    assert violations_of(strict, None, request) == ()


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "undefined"),
        (0, "0"),
        (-0.0, "0"),
        (1, "1"),
        (1.0, "1"),
        (-2.50, "-2.5"),
        (0.2, "0.2"),
        (0.1 + 0.2, "0.30000000000000004"),
        (100, "100"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (-1.25e21, "-1.25e+21"),
        (123456789012345680000.0, "123456789012345680000"),
        (0.000001, "0.000001"),
        (1e-7, "1e-7"),
        (-1.5e-7, "-1.5e-7"),
        (5e-324, "5e-324"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_read_as_javascript_writes_them(number: float | None, text: str) -> None:
    assert format_js_number(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_written_number_reads_back(number: float) -> None:
    text = format_js_number(number)
    assert float(text) == number
    assert "." not in text or not text.split("e")[0].endswith("0")
    exponent = "e" in text
    assert exponent == (number != 0 and not 1e-6 <= abs(number) < 1e21)


def asserting(*asserts: Match) -> tuple[str, ...]:
    asserted = step(side_effects=SideEffects(asserts=asserts))
    return assert_violations(asserted, ask("hello"))


def test_assertions_that_hold_are_silent() -> None:
    assert asserting() == ()
    assert asserting(saying(equals="hello"), when(stream=False)) == ()


def test_each_failed_assertion_is_told_with_all_its_mismatches() -> None:
    both = when(stream=True, messages=saying(contains="bye").of(MessageCondition))
    assert asserting(both, when(), when(tools=("a",))) == (
        "Assertion side_effects.assert[0] failed: "
        "match.stream: expected true, received false; "
        'match.messages[0]: expected last user message contains "bye", received "hello"',
        'Assertion side_effects.assert[2] failed: match.tools[0]: expected tool "a", '
        "received no tools",
    )


@pytest.mark.parametrize(
    ("expect", "request_", "told"),
    [
        ({"tools": ("a", "b")}, ask(), "Expected tools not available: a, b (none is offered)"),
        (
            {"tools": ("a",)},
            ask(tools=["b", "c"]),
            "Expected tools not available: a (offered: b, c)",
        ),
        (
            {"tools": ("a",)},
            ask(tools=[f"t{n}" for n in range(22)]),
            "Expected tools not available: a (offered: "
            + ", ".join(f"t{n}" for n in range(20))
            + " and 2 more)",
        ),
        (
            {"tools": ("a",)},
            ask(tools=[f"t{n}" for n in range(20)]),
            f"Expected tools not available: a (offered: {', '.join(f't{n}' for n in range(20))})",
        ),
        ({"top_p": 1.0}, ask(), "Expected topP 1 but received undefined"),
        (
            {"reasoning": "enabled"},
            ask(),
            "Expected reasoning to remain enabled (it is disabled)",
        ),
        (
            {"reasoning": "disabled"},
            ask(reasoning=True),
            "Expected reasoning to be disabled (it is enabled)",
        ),
    ],
)
def test_the_400_names_what_was_expected_and_got(
    expect: dict[str, object], request_: CanonicalRequest, told: str
) -> None:
    expected = step(key="k", expect=Expect(**expect))  # type: ignore[arg-type]
    assert violated_message(scenario("s", expected), expected, request_) == (
        "expectation_violated: step “k” of scenario “s” answers this request, "
        f"but it is not as that expects. {told}"
    )


@pytest.mark.parametrize(
    ("system", "got"), [((), "there is none"), ((say("system", "Be nice."),), 'it is "Be nice."')]
)
def test_the_400_names_all_violations(system: tuple[Message, ...], got: str) -> None:
    expected = step(expect=Expect(temperature=0.5))
    strict = scenario("s", expected, system_prompt_must_include=("be brief", "be kind"))
    message = violated_message(strict, expected, ask(*system, temperature=1))
    assert message.endswith(
        f"System prompt missing: be brief, be kind ({got}); Expected temperature 0.5 but received 1"
    )
