"""Violations of expectations: the texts of requirement 003, their order, and assertions."""

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
from tests.engine.match_builders import (
    build_match,
    chat_request,
    scenario,
    step,
    text_message,
    user_text_match,
)


def violations(request: CanonicalRequest, **expect: object) -> tuple[str, ...]:
    expected = step(expect=Expect(**expect))
    return violations_of(scenario("s", expected), expected, request)


@pytest.mark.parametrize(
    ("expect", "request_", "text"),
    [
        (
            {"tools": ("a", "b", "c")},
            chat_request(tools=["b"]),
            "Expected tools not available: a, c",
        ),
        (
            {"temperature": 0.2},
            chat_request(temperature=1),
            "Expected temperature 0.2 but received 1",
        ),
        (
            {"temperature": 1.0},
            chat_request(temperature=0.7),
            "Expected temperature 1 but received 0.7",
        ),
        ({"temperature": 0.0}, chat_request(), "Expected temperature 0 but received undefined"),
        ({"top_p": 1.0}, chat_request(top_p=0.95), "Expected topP 1 but received 0.95"),
        ({"top_p": 0.5}, chat_request(), "Expected topP 0.5 but received undefined"),
        ({"reasoning": "enabled"}, chat_request(), "Expected reasoning to remain enabled"),
        (
            {"reasoning": "disabled"},
            chat_request(reasoning=True),
            "Expected reasoning to be disabled",
        ),
    ],
)
def test_failed_expectation_is_a_violation_with_a_fixed_text(
    expect: dict[str, object], request_: CanonicalRequest, text: str
) -> None:
    assert violations(request_, **expect) == (text,)


@pytest.mark.parametrize(
    ("expect", "request_"),
    [
        ({}, chat_request(temperature=1.5, reasoning=True)),
        ({"tools": ("get weather",)}, chat_request(tools=["get_weather<|x|>"])),
        ({"tools": ("agent__final_report",)}, chat_request()),
        ({"tools": ("a",), "allow_missing_tools": True}, chat_request()),
        ({"temperature": 0.2}, chat_request(temperature=0.2000009)),
        ({"top_p": 1.0}, chat_request(top_p=1)),
        ({"reasoning": "enabled"}, chat_request(reasoning=True)),
        ({"reasoning": "disabled"}, chat_request()),
    ],
)
def test_met_expectation_is_no_violation(
    expect: dict[str, object], request_: CanonicalRequest
) -> None:
    assert violations(request_, **expect) == ()


def test_number_beyond_the_tolerance_is_a_violation() -> None:
    assert violations(chat_request(temperature=0.200002), temperature=0.2) == (
        "Expected temperature 0.2 but received 0.200002",
    )


def test_all_violations_are_listed_in_order() -> None:
    expecting_step = step(
        expect=Expect(tools=("a",), temperature=0.1, top_p=0.1, reasoning="enabled"),
    )
    strict_scenario = scenario("s", expecting_step, system_prompt_must_include=("x", "y", "z"))
    request = chat_request(text_message("system", "only y"))
    all_violations = (
        "System prompt missing: x, z",
        "Expected tools not available: a",
        "Expected temperature 0.1 but received undefined",
        "Expected topP 0.1 but received undefined",
        "Expected reasoning to remain enabled",
    )
    assert violations_of(strict_scenario, expecting_step, request) == all_violations
    assert violations_of(strict_scenario, None, request) == all_violations[:1]


@pytest.mark.parametrize(
    ("first", "second", "missing"),
    [
        ("be kind", "be brief", "brief"),
        ("", "kind, brief", "kind, brief"),
        ("kind, brief", "x", ""),
    ],
)
def test_the_system_prompt_is_the_first_system_message(
    first: str, second: str, missing: str
) -> None:
    strict_scenario = scenario("s", system_prompt_must_include=("kind", "brief"))
    request = chat_request("hello", text_message("system", first), text_message("system", second))
    expected = (f"System prompt missing: {missing}",) if missing else ()
    assert violations_of(strict_scenario, None, request) == expected


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
def test_number_is_formatted_like_javascript(number: float | None, text: str) -> None:
    assert format_js_number(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_formatted_number_parses_to_the_same_value(number: float) -> None:
    text = format_js_number(number)
    assert float(text) == number
    assert "." not in text or not text.split("e")[0].endswith("0")
    has_exponent = "e" in text
    assert has_exponent == (number != 0 and not 1e-6 <= abs(number) < 1e21)


def assertion_violations(*asserts: Match) -> tuple[str, ...]:
    asserting_step = step(side_effects=SideEffects(asserts=asserts))
    return assert_violations(asserting_step, chat_request("hello"))


def test_assertions_that_hold_give_no_violation() -> None:
    assert assertion_violations() == ()
    assert assertion_violations(user_text_match(equals="hello"), build_match(stream=False)) == ()


def test_failed_assertion_lists_all_its_mismatches() -> None:
    two_conditions = build_match(
        stream=True, messages=user_text_match(contains="bye").of(MessageCondition)
    )
    assert assertion_violations(two_conditions, build_match(), build_match(tools=("a",))) == (
        "Assertion side_effects.assert[0] failed: "
        "match.stream: expected true, received false; "
        'match.messages[0]: expected last user message contains "bye", received "hello"',
        'Assertion side_effects.assert[2] failed: match.tools[0]: expected tool "a", '
        "received no tools",
    )


@pytest.mark.parametrize(
    ("expect", "request_", "violation"),
    [
        (
            {"tools": ("a", "b")},
            chat_request(),
            "Expected tools not available: a, b (none is offered)",
        ),
        (
            {"tools": ("a",)},
            chat_request(tools=["b", "c"]),
            "Expected tools not available: a (offered: b, c)",
        ),
        (
            {"tools": ("a",)},
            chat_request(tools=[f"t{n}" for n in range(22)]),
            "Expected tools not available: a (offered: "
            + ", ".join(f"t{n}" for n in range(20))
            + " and 2 more)",
        ),
        (
            {"tools": ("a",)},
            chat_request(tools=[f"t{n}" for n in range(20)]),
            f"Expected tools not available: a (offered: {', '.join(f't{n}' for n in range(20))})",
        ),
        ({"top_p": 1.0}, chat_request(), "Expected topP 1 but received undefined"),
        (
            {"reasoning": "enabled"},
            chat_request(),
            "Expected reasoning to remain enabled (it is disabled)",
        ),
        (
            {"reasoning": "disabled"},
            chat_request(reasoning=True),
            "Expected reasoning to be disabled (it is enabled)",
        ),
    ],
)
def test_400_names_the_expected_and_received_value(
    expect: dict[str, object], request_: CanonicalRequest, violation: str
) -> None:
    expected = step(key="k", expect=Expect(**expect))
    assert violated_message(scenario("s", expected), expected, request_) == (
        "expectation_violated: step “k” of scenario “s” answers this request, "
        f"but it is not as that expects. {violation}"
    )


@pytest.mark.parametrize(
    ("system", "received"),
    [((), "there is none"), ((text_message("system", "Be nice."),), 'it is "Be nice."')],
)
def test_400_names_all_violations(system: tuple[Message, ...], received: str) -> None:
    expected = step(expect=Expect(temperature=0.5))
    strict_scenario = scenario("s", expected, system_prompt_must_include=("be brief", "be kind"))
    message = violated_message(strict_scenario, expected, chat_request(*system, temperature=1))
    assert message.endswith(
        f"System prompt missing: be brief, be kind ({received}); "
        "Expected temperature 0.5 but received 1"
    )
