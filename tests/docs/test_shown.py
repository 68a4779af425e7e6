"""What a page shows and what comes, compared."""

import pytest

from tests.docs.shown import agrees, holds


@pytest.mark.parametrize(
    ("wanted", "got", "same"),
    [
        ("Hi!", "Hi!", True),
        ("Hi!", "Hi! Bye!", False),
        ("Hi! …", "Hi! Bye!", True),
        ("a\n…\nz", "a\nb\nc\nz", True),
        ("id c51-…, id c51-…", "id c51-aa, id c51-aa", True),
        ("id c51-…, id c51-…", "id c51-aa, id c51-bb", False),
        ("id c51-…, id d62-…", "id 1, id 2", True),
        ("(.*)", "anything", False),
    ],
)
def test_what_is_left_out_may_be_anything(wanted: str, got: str, same: bool) -> None:
    assert agrees(wanted, got) is same


@pytest.mark.parametrize(
    ("part", "whole", "there"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"c": None}, {"a": 1}, False),
        ([{"a": 1}], [{"a": 1, "b": 2}], True),
        ([{"a": 1}], [{"a": 1}, {"a": 1}], False),
        ("x", "x", True),
    ],
)
def test_a_part_of_json_is_in_it(part: object, whole: object, there: bool) -> None:
    assert holds(part, whole) is there
