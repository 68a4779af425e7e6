"""Named groups of matches, and distances of requests that do not match."""

import pytest

from scenarios_app.engine.canonical import Message
from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.conditions.texts import TextCondition
from tests.engine.match_builders import (
    build_match,
    chat_request,
    equals,
    match_request,
    message_condition,
    message_match,
    tool_call_condition,
    tool_call_match,
    tool_call_message,
    tool_result_condition,
    tool_result_match,
    tool_result_message,
    user_text_match,
)


def test_named_groups_of_all_conditions() -> None:
    match = build_match(
        model=(equals("x"), TextCondition(regex=r"^gpt-(?P<version>\d)")),
        messages=(
            message_condition(TextCondition(regex="in (?P<city>[A-Z]+)|at (?P<place>.+)"), "user"),
            message_condition(TextCondition(regex="(?P<city>sunny)"), "tool"),
        ),
        tool_results=(tool_result_condition(TextCondition(regex="(?P<sky>s.*y)")),),
        tool_calls=(tool_call_condition("get_weather"),),
    )
    request = chat_request(
        "in PARIS", tool_call_message("get_weather"), tool_result_message("sunny")
    )
    assert match_request(match, request).groups == {
        "version": "4",
        "city": "PARIS",
        "place": "",
        "sky": "sunny",
    }
    assert match.group_names == ("version", "city", "place", "sky")


def test_groups_come_from_the_first_text_that_meets_the_condition() -> None:
    match = message_match("user", "any", regex=r"(?P<number>\d+)")
    assert match_request(match, chat_request("none", "12", "34")).groups == {"number": "12"}


def test_groups_of_a_request_that_does_not_match_are_empty() -> None:
    match = build_match(
        model=(TextCondition(regex="(?P<a>x)"),),
        tool_results=(tool_result_condition(TextCondition(regex="(?P<b>x)")),),
    )
    assert match.groups(RequestReader(chat_request("hello"))) == {"a": "", "b": ""}


def distances(match: Match, *texts: str | Message) -> list[float]:
    return [match_request(match, chat_request(text)).distance for text in texts]


@pytest.mark.parametrize(
    "condition",
    [
        {"contains": "weather in paris"},
        {"equals": "the weather in Paris"},
        {"startswith": "The weather in paris"},
        {"regex": r"weather\s+in (Paris|Rome)\W"},
    ],
)
def test_more_similar_text_is_nearer(condition: dict[str, str]) -> None:
    texts = ("the whether in Paris", "the weather", "xyz")
    near, middle, far = distances(user_text_match(**condition), *texts)
    assert near < middle < far == 1.0


def test_regex_without_letters_has_distance_1() -> None:
    assert distances(user_text_match(regex=r"^\d+$"), "abc") == [1.0]


def test_text_in_the_wrong_case_is_a_near_mismatch() -> None:
    (distance,) = distances(user_text_match(contains="Weather"), "weather")
    assert 0 < distance < 0.1


def test_long_text_that_meets_its_condition_has_distance_0() -> None:
    long = "hay " * 10_000 + "needle"
    assert distances(user_text_match(contains="needle"), long) == [0.0]
    assert distances(user_text_match(contains="needles"), long)[0] > 0


def test_distance_of_a_match_is_the_mean_of_its_conditions() -> None:
    two_conditions = build_match(stream=True, model=(equals("gpt-4o"),))
    assert (
        match_request(two_conditions, chat_request()).distance
        == match_request(build_match(stream=True), chat_request()).distance / 2
    )


def test_call_or_result_with_more_fields_met_is_nearer() -> None:
    match = tool_call_match("a", {"x": 1})
    near, far, no_call = distances(
        match, tool_call_message("a", "{}"), tool_call_message("b", "{}"), "no call"
    )
    assert near < far == no_call == 1.0
    right_arguments, wrong = distances(
        match, tool_call_message("b", '{"x": 1}'), tool_call_message("b", '{"x": 2}')
    )
    assert (right_arguments, wrong) == (0.5, 1.0)
    match = tool_result_match(equals("sunny"), name="a", tool_call_id="1", is_error=True)
    near, middle, no_result = distances(
        match, tool_result_message("sunn", "a", "1", True), tool_result_message("sunn"), "none"
    )
    assert near < middle < no_result == 1.0
    wrong = (
        tool_result_message("xyz", "b", "2", False),
        tool_result_message("sunny", "b", "2", False),
    )
    assert distances(match, *wrong) == [1.0, 0.75]
