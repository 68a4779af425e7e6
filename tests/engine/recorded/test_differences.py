"""Differences between two requests, with place and kind."""

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


def post_request(body: object) -> ComparedRequest:
    return compared_request("POST", {}, json.dumps(body))


def difference_kinds(recorded_body: object, received_body: object) -> list[tuple[str, str]]:
    return [
        (difference.kind, difference.place)
        for difference in differences(post_request(recorded_body), post_request(received_body))
    ]


USER_MESSAGE = {"role": "user", "content": "hi"}
ASSISTANT_MESSAGE = {"role": "assistant", "content": "ho"}
CALL_MESSAGE = {"role": "assistant", "tool_calls": [{"id": "a"}]}


def test_equal_conversations_have_no_differences() -> None:
    assert (
        difference_kinds(
            {"messages": [USER_MESSAGE], "user": "a"}, {"messages": [USER_MESSAGE], "user": "b"}
        )
        == []
    )


def test_a_changed_text_names_its_place_and_both_values() -> None:
    (difference,) = differences(
        post_request({"messages": [USER_MESSAGE]}),
        post_request({"messages": [{**USER_MESSAGE, "content": "x"}]}),
    )
    assert difference == Difference("changed", "messages[0].content", "hi", "x")


def test_keys_are_new_or_removed() -> None:
    assert difference_kinds({"a": 1}, {"b": 2}) == [("removed", "a"), ("new", "b")]


def test_inserted_or_removed_message_is_one_difference() -> None:
    assert difference_kinds(
        {"messages": [USER_MESSAGE, ASSISTANT_MESSAGE]},
        {"messages": [ASSISTANT_MESSAGE, USER_MESSAGE, ASSISTANT_MESSAGE]},
    ) == [("new", "messages[0]")]
    assert difference_kinds(
        {"messages": [USER_MESSAGE, ASSISTANT_MESSAGE, USER_MESSAGE]},
        {"messages": [USER_MESSAGE, USER_MESSAGE]},
    ) == [("removed", "messages[1]")]


def test_inserted_call_does_not_change_later_ids() -> None:
    result = {"role": "tool", "tool_call_id": "b", "content": "x"}
    later_call = {"role": "assistant", "tool_calls": [{"id": "b"}]}
    assert difference_kinds(
        {"messages": [later_call, result]}, {"messages": [CALL_MESSAGE, later_call, result]}
    ) == [("new", "messages[0]")] or difference_kinds(
        {"messages": [later_call, result]}, {"messages": [CALL_MESSAGE, later_call, result]}
    ) == [("new", "messages[1]")]


def test_differently_paired_ids_are_reported_if_nothing_else_differs() -> None:
    recorded_body = {"m": [{"id": "a"}, {"id": "b"}, {"tool_call_id": "a"}]}
    received_body = {"m": [{"id": "a"}, {"id": "b"}, {"tool_call_id": "b"}]}
    assert difference_kinds(recorded_body, received_body) == [("changed", "m[2].tool_call_id")]


def test_difference_of_text_bodies_is_the_whole_body() -> None:
    (difference,) = differences(
        compared_request("POST", {}, "one"), compared_request("POST", {}, "two")
    )
    assert (difference.place, difference.recorded, difference.received) == ("body", "one", "two")


def test_differences_of_method_and_query_are_reported() -> None:
    recorded, received = (
        compared_request("GET", {"limit": "1"}, b""),
        compared_request("DELETE", {"limit": "2"}, b""),
    )
    assert [difference.place for difference in differences(recorded, received)] == [
        "method",
        "query.limit",
    ]


def test_number_of_differences_is_limited() -> None:
    recorded, received = post_request({str(n): n for n in range(50)}), post_request({})
    assert len(differences(recorded, received)) == 20
    assert len(differences(recorded, received, limit=3)) == 3


def test_change_in_a_long_list_is_one_difference() -> None:
    messages = [{"n": number} for number in range(500)]
    assert difference_kinds({"m": messages}, {"m": messages[:-1]}) == [("removed", "m[499]")]
    assert difference_kinds(
        {"m": messages}, {"m": [*messages[:10], {"n": -1}, *messages[11:]]}
    ) == [("changed", "m[10].n")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "id", "content", "text"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from("abc"), JSON), st.dictionaries(st.sampled_from("abc"), JSON))
def test_bodies_differ_exactly_if_their_digests_differ(
    first_body: object, second_body: object
) -> None:
    is_same = post_request(first_body).digest == post_request(second_body).digest
    assert bool(differences(post_request(first_body), post_request(second_body))) != is_same


@pytest.mark.parametrize(("recorded_value", "received_value"), [(1, "1"), (True, 1), ([], {})])
def test_values_of_different_types_differ(recorded_value: object, received_value: object) -> None:
    assert difference_kinds({"x": [recorded_value]}, {"x": [received_value]}) == [
        ("changed", "x[0]")
    ]


def test_unchanged_keys_beside_a_change_are_not_listed() -> None:
    changed_message = {"role": "system", "content": "hi"}
    assert difference_kinds({"messages": [USER_MESSAGE]}, {"messages": [changed_message]}) == [
        ("changed", "messages[0].role")
    ]
