"""What one condition says about another."""

import pytest
from hypothesis import given

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.conditions.texts import TextCondition
from tests.engine.asking import call, gave, message, on, tool_call, when
from tests.engine.drawn_asking import CONDITIONS, MATCHES, SINGLE_CONDITIONS, TEXTS, requests

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
def test_the_narrower_condition_implies_the_wider(
    narrow: TextCondition, wide: TextCondition
) -> None:
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
def test_an_implied_condition_holds_wherever_the_other_does(
    narrow: TextCondition, wide: TextCondition, text: str
) -> None:
    if narrow.implies(wide) and narrow.test(text):
        assert wide.test(text)


@given(CONDITIONS | SINGLE_CONDITIONS, CONDITIONS | SINGLE_CONDITIONS, TEXTS)
def test_conditions_that_exclude_each_other_never_hold_together(
    one: TextCondition, other: TextCondition, text: str
) -> None:
    if one.excludes(other):
        assert not (one.test(text) and other.test(text))


@given(MATCHES, MATCHES, requests())
def test_a_request_of_the_narrower_match_is_one_of_the_wider(
    narrow: Match, wide: Match, request: CanonicalRequest
) -> None:
    if narrow.implies(wide) and narrow.holds(RequestReader(request)):
        assert wide.holds(RequestReader(request))


@given(MATCHES)
def test_every_match_implies_itself_and_none(match: Match) -> None:
    assert match.implies(match)
    assert match.implies(when())


@pytest.mark.parametrize(
    ("narrow", "wide", "follows"),
    [
        (call("f", {"a": 1, "b": 2}), call("f", {"a": 1}), True),
        (call("f", {"a": 1}), call("f"), True),
        (call("f"), call(), True),
        (call("f"), call("f", {"a": 1}), False),
        (call("f"), call("g"), False),
        (gave(T(contains="sunny"), name="f"), gave(T(contains="sun")), True),
        (gave(name="f", is_error=True), gave(is_error=True), True),
        (gave(name="f"), gave(name="f", is_error=True), False),
        (gave(), gave(tool_call_id="x"), False),
        (gave(tool_call_id="x"), gave(tool_call_id="x"), True),
        (gave(tool_call_id="x"), gave(tool_call_id="y"), False),
        (gave(name="f"), gave(name="f"), True),
        (gave(name="f"), gave(name="g"), False),
        (call("f", {"a": 1}), call("f", {"a": 2}), False),
        (call("f"), gave(), False),
        (on(contains="a", which="last"), on(contains="a", which="first"), False),
    ],
)
def test_calls_and_results_are_compared_as_wholes(
    narrow: Match, wide: Match, follows: bool
) -> None:
    assert narrow.implies(wide) is follows


@pytest.mark.parametrize(
    ("one", "other", "excluded"),
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
def test_conditions_exclude_each_other_either_way_round(
    one: TextCondition, other: TextCondition, excluded: bool
) -> None:
    assert one.excludes(other) is excluded
    assert other.excludes(one) is excluded


def test_alternatives_are_implied_one_by_one() -> None:
    both = when(model=(T(equals="a"), T(equals="b")))
    one = when(model=(T(equals="a"),))
    assert one.implies(both)
    assert not both.implies(one)


def test_more_conditions_are_narrower() -> None:
    user = message(T(contains="weather"), "user")
    wide = when(messages=(user,))
    narrow = when(messages=(user,), tool_calls=(tool_call("f"),))
    assert narrow.implies(wide)
    assert not wide.implies(narrow)
