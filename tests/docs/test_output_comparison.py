"""Compare shown output with actual output."""

import pytest

from tests.docs.output_comparison import contains_json, matches_output


@pytest.mark.parametrize(
    ("expected", "actual", "is_match"),
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
def test_ellipsis_matches_any_text(expected: str, actual: str, is_match: bool) -> None:
    assert matches_output(expected, actual) is is_match


@pytest.mark.parametrize(
    ("expected", "actual", "is_contained"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"c": None}, {"a": 1}, False),
        ([{"a": 1}], [{"a": 1, "b": 2}], True),
        ([{"a": 1}], [{"a": 1}, {"a": 1}], False),
        ("x", "x", True),
    ],
)
def test_json_contains_an_expected_part(
    expected: object, actual: object, is_contained: bool
) -> None:
    assert contains_json(expected, actual) is is_contained
