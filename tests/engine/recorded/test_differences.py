"""What differs between two requests, told by place and kind."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.recorded.requests import (
    ComparedRequest,
    Difference,
    differences,
)
from tests.engine.recorded.raw_requests import compared_request


def post(body: object) -> ComparedRequest:
    return compared_request("POST", {}, json.dumps(body))


def difference_kinds(one: object, other: object) -> list[tuple[str, str]]:
    return [
        (difference.kind, difference.place) for difference in differences(post(one), post(other))
    ]


HI = {"role": "user", "content": "hi"}
HO = {"role": "assistant", "content": "ho"}
CALL = {"role": "assistant", "tool_calls": [{"id": "a"}]}


def test_equal_conversations_have_no_differences() -> None:
    assert difference_kinds({"messages": [HI], "user": "a"}, {"messages": [HI], "user": "b"}) == []


def test_a_changed_text_names_its_place_and_both_values() -> None:
    (found,) = differences(post({"messages": [HI]}), post({"messages": [{**HI, "content": "x"}]}))
    assert found == Difference("changed", "messages[0].content", "hi", "x")


def test_keys_are_new_or_removed() -> None:
    assert difference_kinds({"a": 1}, {"b": 2}) == [("removed", "a"), ("new", "b")]


def test_a_message_that_was_put_in_is_one_difference() -> None:
    assert difference_kinds({"messages": [HI, HO]}, {"messages": [HO, HI, HO]}) == [
        ("new", "messages[0]")
    ]
    assert difference_kinds({"messages": [HI, HO, HI]}, {"messages": [HI, HI]}) == [
        ("removed", "messages[1]")
    ]


def test_a_call_that_was_put_in_does_not_move_the_ids_after_it() -> None:
    result = {"role": "tool", "tool_call_id": "b", "content": "x"}
    later = {"role": "assistant", "tool_calls": [{"id": "b"}]}
    assert difference_kinds({"messages": [later, result]}, {"messages": [CALL, later, result]}) == [
        ("new", "messages[0]")
    ] or difference_kinds({"messages": [later, result]}, {"messages": [CALL, later, result]}) == [
        ("new", "messages[1]")
    ]


def test_ids_that_belong_together_otherwise_are_told_where_nothing_else_differs() -> None:
    one = {"m": [{"id": "a"}, {"id": "b"}, {"tool_call_id": "a"}]}
    other = {"m": [{"id": "a"}, {"id": "b"}, {"tool_call_id": "b"}]}
    assert difference_kinds(one, other) == [("changed", "m[2].tool_call_id")]


def test_a_body_that_is_no_json_is_one_place() -> None:
    (found,) = differences(compared_request("POST", {}, "one"), compared_request("POST", {}, "two"))
    assert (found.place, found.recorded, found.received) == ("body", "one", "two")


def test_method_and_query_have_places_of_their_own() -> None:
    one, other = (
        compared_request("GET", {"limit": "1"}, b""),
        compared_request("DELETE", {"limit": "2"}, b""),
    )
    assert [found.place for found in differences(one, other)] == ["method", "query.limit"]


def test_no_more_are_told_than_asked_for() -> None:
    one, other = post({str(n): n for n in range(50)}), post({})
    assert len(differences(one, other)) == 20
    assert len(differences(one, other, most=3)) == 3


def test_long_lists_are_compared_from_their_first_difference_on() -> None:
    many = [{"n": number} for number in range(500)]
    assert difference_kinds({"m": many}, {"m": many[:-1]}) == [("removed", "m[499]")]
    assert difference_kinds({"m": many}, {"m": [*many[:10], {"n": -1}, *many[11:]]}) == [
        ("changed", "m[10].n")
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "id", "content", "text"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from("abc"), JSON), st.dictionaries(st.sampled_from("abc"), JSON))
def test_there_is_a_difference_just_where_two_are_not_the_same(one: object, other: object) -> None:
    same = post(one).digest == post(other).digest
    assert bool(differences(post(one), post(other))) != same


@pytest.mark.parametrize(("one", "other"), [(1, "1"), (True, 1), ([], {})])
def test_kinds_of_values_are_told_apart(one: object, other: object) -> None:
    assert difference_kinds({"x": [one]}, {"x": [other]}) == [("changed", "x[0]")]


def test_unchanged_keys_beside_a_change_are_not_listed() -> None:
    other = {"role": "system", "content": "hi"}
    assert difference_kinds({"messages": [HI]}, {"messages": [other]}) == [
        ("changed", "messages[0].role")
    ]
