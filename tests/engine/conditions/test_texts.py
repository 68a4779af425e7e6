"""Text conditions: matching, ignored case, named groups and errors of patterns."""

import pytest
from hypothesis import example, given

from scenarios_app.engine.conditions.texts import (
    MAX_PATTERN_CHARS,
    RegexError,
    TextCondition,
    check_regex,
    compile_regex,
    quote,
    shorten,
)
from tests.engine.conditions.python_regex import matches_in_python
from tests.engine.match_strategies import CONDITIONS, TEXTS


def holds(text: str, **condition: object) -> bool:
    return TextCondition(**condition).test(text)


@pytest.mark.parametrize(
    ("condition", "text", "expected"),
    [
        ({"equals": "Hello"}, "Hello", True),
        ({"equals": "Hello"}, "Hello ", False),
        ({"equals": ""}, "", True),
        ({"equals": ""}, "x", False),
        ({"contains": "ell"}, "Hello", True),
        ({"contains": "ELL"}, "Hello", False),
        ({"startswith": "He"}, "Hello", True),
        ({"startswith": "lo"}, "Hello", False),
        ({"regex": "^gpt-4"}, "gpt-4o", True),
        ({"regex": "^gpt-4"}, "my gpt-4o", False),
        ({"regex": "l+o$"}, "Hello", True),
        ({"regex": "a.b"}, "a\nb", False),
        ({"regex": ""}, "anything", True),
        ({}, "anything", True),
    ],
)
def test_condition_holds_for_matching_texts_only(
    condition: dict[str, str], text: str, expected: bool
) -> None:
    assert holds(text, **condition) is expected


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ({"equals": "STRASSE"}, "straße"),
        ({"contains": "ß"}, "GROSSE STRASSE"),
        ({"startswith": "ÉTÉ"}, "été chaud"),
        ({"regex": "^wea.her|rain"}, "RAIN"),
        ({"regex": "é"}, "É"),
    ],
)
def test_ignored_case_uses_case_folding(condition: dict[str, str], text: str) -> None:
    assert holds(text, ignore_case=True, **condition)
    assert not holds(text, **condition)


def test_regex_ignores_case_by_letter_without_folding() -> None:
    assert not holds("STRASSE", regex="straße", ignore_case=True)


def test_all_tests_of_a_condition_must_hold() -> None:
    two_tests = {"contains": "weather", "regex": r"\?$"}
    assert holds("the weather?", **two_tests)
    assert not holds("the weather", **two_tests)
    assert not holds("the rain?", **two_tests)


@given(CONDITIONS, TEXTS)
@example(TextCondition(regex=r"\w+ \w+"), "é a")
@example(TextCondition(regex=r"^\w+$", ignore_case=True), "\u212a")
@example(TextCondition(regex=r"\bé"), "é")
def test_result_agrees_with_python(condition: TextCondition, text: str) -> None:
    """Compare with Python's `re` and string methods."""
    folded = text.casefold() if condition.ignore_case else text
    literals = [
        None if literal is None else literal.casefold() if condition.ignore_case else literal
        for literal in (condition.equals, condition.contains, condition.startswith)
    ]
    expected = (
        (literals[0] is None or folded == literals[0])
        and (literals[1] is None or literals[1] in folded)
        and (literals[2] is None or folded.startswith(literals[2]))
    )
    if condition.regex is not None:
        is_found = matches_in_python(condition.regex, text, ignore_case=condition.ignore_case)
        expected = expected and is_found
    assert condition.test(text) is expected
    assert condition.test(text, folded=text.casefold()) is expected


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a", "not an RE2 pattern: missing ): (a"),
        ("(?=a)", "not an RE2 pattern: look-ahead is not supported ((?=)"),
        ("a: (?=b)", "not an RE2 pattern: look-ahead is not supported ((?=)"),
        ("(?!a)", "not an RE2 pattern: look-ahead is not supported ((?!)"),
        ("(?<=a)b", "not an RE2 pattern: look-behind is not supported ((?<=)"),
        ("(?<!a)b", "not an RE2 pattern: look-behind is not supported ((?<!)"),
        ("(?>a)", "not an RE2 pattern: an atomic group is not supported ((?>)"),
        (r"(a)\1", r"not an RE2 pattern: a reference back to a group is not supported (\1)"),
        ("(?#c)", "not an RE2 pattern: invalid perl operator: (?#"),
        ("a{1001}", "not an RE2 pattern: invalid repetition size: {1001}"),
        ("a" * (MAX_PATTERN_CHARS + 1), "the pattern is longer than 500 characters"),
        ("\ud800", "the pattern holds half a surrogate pair"),
    ],
)
def test_invalid_pattern_is_rejected_with_the_reason(
    pattern: str, reason: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert check_regex(pattern) == reason
    with pytest.raises(RegexError) as error:
        TextCondition(regex=pattern)
    assert str(error.value) == reason
    assert capfd.readouterr() == ("", "")


def test_valid_pattern_has_no_error() -> None:
    assert check_regex("a" * MAX_PATTERN_CHARS) is None
    assert check_regex(r"(?P<city>\w+)\?$") is None


def test_word_class_is_ascii_only() -> None:
    assert holds("Zurich", regex=r"^\w+$")
    assert not holds("Zürich", regex=r"^\w+$")
    assert holds("Zürich", regex=r"^\pL+$")
    assert TextCondition(regex=r"(?P<city>\w+)$").groups("Köln") == {"city": "ln"}


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"\bÜ", "Über", False),
        (r"é\b", "né le", False),
        (r"\d", "٣", False),
        (r"\s", "\u00a0", False),
        (r"\s", "\v", False),
        (r"(?i)\w", "\u212a", True),
    ],
)
def test_other_classes_are_ascii_only(pattern: str, text: str, expected: bool) -> None:
    assert holds(text, regex=pattern) is expected
    assert matches_in_python(pattern, text, ignore_case=False) is expected


def test_exponential_pattern_takes_linear_time() -> None:
    assert not holds("a" * 100_000 + "!", regex="^(a+)+$")


def test_patterns_are_compiled_once() -> None:
    assert compile_regex("once+") is compile_regex("once+")
    condition = TextCondition(regex="once+", contains="x")
    assert condition.search is TextCondition(regex="once+").search is not None


def test_named_groups_are_captured() -> None:
    text = TextCondition(regex=r"in (?P<city>\pL+)(?P<rest>, please)?")
    assert text.group_names == ("city", "rest")
    assert text.groups("weather in Zürich") == {"city": "Zürich", "rest": ""}
    assert text.groups("weather") == {}


def test_condition_without_named_groups_captures_nothing() -> None:
    assert TextCondition(regex="(a)(b)").groups("ab") == {}
    assert TextCondition(equals="a").groups("a") == {}
    assert TextCondition(equals="a").group_names == ()


@pytest.mark.parametrize(
    ("condition", "description"),
    [
        ({"equals": "gpt-4o"}, 'equals "gpt-4o"'),
        ({"contains": 'say "é"\n'}, r'contains "say \"é\"\n"'),
        ({"startswith": "a", "regex": "b$"}, 'starts with "a" and matches "b$"'),
        ({"contains": "Straße", "ignore_case": True}, 'contains "strasse" in any case'),
        ({}, "is there"),
    ],
)
def test_description_lists_each_test(condition: dict[str, str], description: str) -> None:
    assert TextCondition(**condition).describe() == description


def test_long_texts_are_shortened() -> None:
    assert shorten("a" * 80) == "a" * 80
    assert shorten("a" * 81) == "a" * 79 + "…"
    assert quote("b" * 200) == '"' + "b" * 79 + '…"'
