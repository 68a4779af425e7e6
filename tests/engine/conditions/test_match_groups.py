"""Named groups of what matched, and how far what did not match is away."""

import pytest

from scenarios_app.engine.canonical import Message
from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.conditions.texts import TextCondition
from tests.engine.asking import (
    ask,
    call,
    called,
    equals,
    gave,
    match_request,
    message,
    on,
    result,
    saying,
    tool_call,
    tool_result,
    when,
)


def test_named_groups_of_all_conditions() -> None:
    match = when(
        model=(equals("x"), TextCondition(regex=r"^gpt-(?P<version>\d)")),
        messages=(
            message(TextCondition(regex="in (?P<city>[A-Z]+)|at (?P<place>.+)"), "user"),
            message(TextCondition(regex="(?P<city>sunny)"), "tool"),
        ),
        tool_results=(tool_result(TextCondition(regex="(?P<sky>s.*y)")),),
        tool_calls=(tool_call("get_weather"),),
    )
    talk = ask("in PARIS", called("get_weather"), result("sunny"))
    assert match_request(match, talk).groups == {
        "version": "4",
        "city": "PARIS",
        "place": "",
        "sky": "sunny",
    }
    assert match.group_names == ("version", "city", "place", "sky")


def test_groups_are_of_the_first_text_that_meets_the_condition() -> None:
    match = on("user", "any", regex=r"(?P<number>\d+)")
    assert match_request(match, ask("none", "12", "34")).groups == {"number": "12"}


def test_groups_of_what_does_not_match_are_empty() -> None:
    match = when(
        model=(TextCondition(regex="(?P<a>x)"),),
        tool_results=(tool_result(TextCondition(regex="(?P<b>x)")),),
    )
    assert match.groups(RequestReader(ask("hello"))) == {"a": "", "b": ""}


def distances(match: Match, *texts: str | Message) -> list[float]:
    return [match_request(match, ask(text)).distance for text in texts]


@pytest.mark.parametrize(
    "condition",
    [
        {"contains": "weather in paris"},
        {"equals": "the weather in Paris"},
        {"startswith": "The weather in paris"},
        {"regex": r"weather\s+in (Paris|Rome)\W"},
    ],
)
def test_a_likelier_text_is_nearer(condition: dict[str, str]) -> None:
    texts = ("the whether in Paris", "the weather", "xyz")
    near, middle, far = distances(saying(**condition), *texts)
    assert near < middle < far == 1.0


def test_a_regex_without_letters_is_far_from_everything() -> None:
    assert distances(saying(regex=r"^\d+$"), "abc") == [1.0]


def test_the_wrong_case_is_the_nearest_miss_but_is_one() -> None:
    (distance,) = distances(saying(contains="Weather"), "weather")
    assert 0 < distance < 0.1


def test_a_long_text_that_meets_its_condition_is_at_distance_0() -> None:
    long = "hay " * 10_000 + "needle"
    assert distances(saying(contains="needle"), long) == [0.0]
    assert distances(saying(contains="needles"), long)[0] > 0


def test_the_distance_of_a_step_is_the_mean_of_its_conditions() -> None:
    both = when(stream=True, model=(equals("gpt-4o"),))
    assert (
        match_request(both, ask()).distance == match_request(when(stream=True), ask()).distance / 2
    )


def test_calls_and_results_are_nearer_the_more_of_them_is_right() -> None:
    wanted = call("a", {"x": 1})
    near, far, none = distances(wanted, called("a", "{}"), called("b", "{}"), "no call")
    assert near < far == none == 1.0
    right_arguments, wrong = distances(wanted, called("b", '{"x": 1}'), called("b", '{"x": 2}'))
    assert (right_arguments, wrong) == (0.5, 1.0)
    wanted = gave(equals("sunny"), name="a", tool_call_id="1", is_error=True)
    near, middle, none = distances(wanted, result("sunn", "a", "1", True), result("sunn"), "none")
    assert near < middle < none == 1.0
    wrong = (result("xyz", "b", "2", False), result("sunny", "b", "2", False))
    assert distances(wanted, *wrong) == [1.0, 0.75]
