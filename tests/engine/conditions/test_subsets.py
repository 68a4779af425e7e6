"""Subset checks of tool call arguments."""

import pytest
from hypothesis import given

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.tools import is_subset
from tests.engine.match_strategies import JSON


@pytest.mark.parametrize(
    ("subset", "value", "expected"),
    [
        ({}, {"a": 1}, True),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": None}, {}, False),
        ({"a": None}, {"a": None}, True),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}, True),
        ({"a": {"b": 1}}, {"a": [1]}, False),
        ([1], [1, 2], False),
        ([{"a": 1}], [{"a": 1, "b": 2}], True),
        ([1, 2], [2, 1], False),
        ("a", "a", True),
        ("a", "b", False),
    ],
)
def test_is_subset_compares_objects_by_key_and_lists_by_position(
    subset: Json, value: Json, expected: bool
) -> None:
    assert is_subset(subset, value) is expected


@given(JSON)
def test_every_value_is_a_subset_of_itself(value: Json) -> None:
    assert is_subset(value, value)
