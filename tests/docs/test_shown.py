"""Compare shown output with actual output."""

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
def test_ellipsis_matches_any_text(wanted: str, got: str, same: bool) -> None:
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
def test_json_contains_an_expected_part(part: object, whole: object, there: bool) -> None:
    assert holds(part, whole) is there
