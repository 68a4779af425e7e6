"""Implication and exclusion between two conditions or matches."""

import pytest
from hypothesis import given

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.conditions.texts import TextCondition
from tests.engine.match_builders import (
    build_match,
    message_condition,
    message_match,
    tool_call_condition,
    tool_call_match,
    tool_result_match,
)
from tests.engine.match_strategies import CONDITIONS, MATCHES, SINGLE_CONDITIONS, TEXTS, requests

T = TextCondition


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        (T(equals="weather in Paris"), T(contains="weather")),
        (T(equals="weather in Paris"), T(startswith="weather")),
        (T(equals="weather in Paris"), T(regex="^weather")),
        (T(equals="Weather"), T(equals="weather", ignore_case=True)),
        (T(contains="the weather"), T(contains="weather")),
        (T(startswith="the weather"), T(contains="weather")),
        (T(startswith="the weather"), T(startswith="the")),
        (T(regex="a+b"), T(regex="a+b")),
        (T(contains="WEATHER", ignore_case=True), T(contains="weather", ignore_case=True)),
        (T(contains="STRASSE", ignore_case=True), T(contains="Straße", ignore_case=True)),
        (T(equals="a", contains="b"), T(equals="a")),
        (T(contains="a"), T()),
        (T(), T(contains="")),
        (T(regex="x"), T(startswith="")),
    ],
)
def test_narrower_condition_implies_the_wider(narrow: TextCondition, wide: TextCondition) -> None:
    assert narrow.implies(wide)


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        (T(contains="weather"), T(equals="weather")),
        (T(contains="weather"), T(startswith="weather")),
        (T(equals="weather"), T(contains="rain")),
        (T(), T(contains="weather")),
        (T(contains="weather", ignore_case=True), T(contains="weather")),
        (T(equals="weather", ignore_case=True), T(regex="weather")),
        (T(regex="[^a]"), T(regex="[^a]", ignore_case=True)),
        (T(regex="ab"), T(contains="ab")),
        (T(equals="b"), T(regex="a")),
        (T(), T(contains="X")),
        (T(), T(startswith="X")),
    ],
)
def test_condition_does_not_imply_a_stricter_one(
    narrow: TextCondition, wide: TextCondition
) -> None:
    assert not narrow.implies(wide)


@given(CONDITIONS | SINGLE_CONDITIONS, CONDITIONS | SINGLE_CONDITIONS, TEXTS)
def test_implied_condition_holds_for_each_text_of_the_narrower(
    narrow: TextCondition, wide: TextCondition, text: str
) -> None:
    if narrow.implies(wide) and narrow.test(text):
        assert wide.test(text)


@given(CONDITIONS | SINGLE_CONDITIONS, CONDITIONS | SINGLE_CONDITIONS, TEXTS)
def test_conditions_that_exclude_each_other_never_hold_together(
    first: TextCondition, second: TextCondition, text: str
) -> None:
    if first.excludes(second):
        assert not (first.test(text) and second.test(text))


@given(MATCHES, MATCHES, requests())
def test_request_of_the_narrower_match_also_matches_the_wider(
    narrow: Match, wide: Match, request: CanonicalRequest
) -> None:
    if narrow.implies(wide) and narrow.holds(RequestReader(request)):
        assert wide.holds(RequestReader(request))


@given(MATCHES)
def test_every_match_implies_itself_and_the_empty_match(match: Match) -> None:
    assert match.implies(match)
    assert match.implies(build_match())


@pytest.mark.parametrize(
    ("narrow", "wide", "follows"),
    [
        (tool_call_match("f", {"a": 1, "b": 2}), tool_call_match("f", {"a": 1}), True),
        (tool_call_match("f", {"a": 1}), tool_call_match("f"), True),
        (tool_call_match("f"), tool_call_match(), True),
        (tool_call_match("f"), tool_call_match("f", {"a": 1}), False),
        (tool_call_match("f"), tool_call_match("g"), False),
        (
            tool_result_match(T(contains="sunny"), name="f"),
            tool_result_match(T(contains="sun")),
            True,
        ),
        (tool_result_match(name="f", is_error=True), tool_result_match(is_error=True), True),
        (tool_result_match(name="f"), tool_result_match(name="f", is_error=True), False),
        (tool_result_match(), tool_result_match(tool_call_id="x"), False),
        (tool_result_match(tool_call_id="x"), tool_result_match(tool_call_id="x"), True),
        (tool_result_match(tool_call_id="x"), tool_result_match(tool_call_id="y"), False),
        (tool_result_match(name="f"), tool_result_match(name="f"), True),
        (tool_result_match(name="f"), tool_result_match(name="g"), False),
        (tool_call_match("f", {"a": 1}), tool_call_match("f", {"a": 2}), False),
        (tool_call_match("f"), tool_result_match(), False),
        (
            message_match(contains="a", which="last"),
            message_match(contains="a", which="first"),
            False,
        ),
    ],
)
def test_implication_of_calls_and_results_compares_all_their_fields(
    narrow: Match, wide: Match, follows: bool
) -> None:
    assert narrow.implies(wide) is follows


@pytest.mark.parametrize(
    ("first", "second", "excluded"),
    [
        (T(equals="a"), T(equals="b"), True),
        (T(equals="a"), T(contains="b"), True),
        (T(contains="b"), T(equals="a"), True),
        (T(equals="a"), T(contains="a"), False),
        (T(contains="a"), T(contains="b"), False),
        (T(equals="a", ignore_case=True), T(equals="A"), False),
        (T(equals="A"), T(equals="a", ignore_case=True), False),
        (T(equals="a", ignore_case=True), T(equals="B", ignore_case=True), True),
    ],
)
def test_exclusion_of_conditions_is_symmetric(
    first: TextCondition, second: TextCondition, excluded: bool
) -> None:
    assert first.excludes(second) is excluded
    assert second.excludes(first) is excluded


def test_one_alternative_implies_both_alternatives() -> None:
    two_models = build_match(model=(T(equals="a"), T(equals="b")))
    one_model = build_match(model=(T(equals="a"),))
    assert one_model.implies(two_models)
    assert not two_models.implies(one_model)


def test_match_with_more_conditions_is_narrower() -> None:
    user = message_condition(T(contains="weather"), "user")
    wide = build_match(messages=(user,))
    narrow = build_match(messages=(user,), tool_calls=(tool_call_condition("f"),))
    assert narrow.implies(wide)
    assert not wide.implies(narrow)
