"""Literals that a pattern needs: each is in every text in which the pattern is found."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.conditions.texts import RegexError, compile_regex
from scenarios_app.engine.matching.lookup import StepLookup, required_literals
from tests.engine.asking import ask, saying
from tests.support.hypothesis_profiles import often

SEEN = {
    "weather in Oslo": ("weather in Oslo",),
    r"order \d+ of (a|b) customer": ("order ", " of ", " customer"),
    r"what\? yes\.": ("what? yes.",),
    "colou?r": ("colo",),
    "colours*": ("colour",),
    "good+bye": ("good", "bye"),
    "good+?bye": ("good", "bye"),
    "abcd{2}efg": ("abc", "efg"),
    "abcd{x}": ("abcd{x}",),
    "^start.middle$": ("start", "middle"),
    "[abc]def[]x]ghi[^]x]jkl[[:alpha:]]mno": ("def", "ghi", "jkl", "mno"),
    r"[\]abc]def": ("def",),
    r"(?:abc|def)ghi(?P<name>jkl)mno(?<other>pqr)": ("ghi", "mno"),
    "(abc(def)ghi)jkl": ("jkl",),
    "(abcdef)*": (),
    "twice and twice": ("twice and twice",),
    "one\\b.two\\b.one": ("one", "two"),
    "ab.cd": (),
}
UNSEEN = ["cats|dogs", "(?i)weather", "(?i:weather)er", r"weather\x41", r"\Qweather", r"wea\pNther"]


@pytest.mark.parametrize(("pattern", "literals"), SEEN.items())
def test_required_literals_exclude_groups_and_optional_pieces(
    pattern: str, literals: tuple[str, ...]
) -> None:
    compile_regex(pattern)
    assert required_literals(pattern) == literals


@pytest.mark.parametrize("pattern", UNSEEN)
def test_a_pattern_that_is_not_understood_gives_none(pattern: str) -> None:
    assert required_literals(pattern) == ()


def test_letters_are_folded_where_case_is_ignored_and_those_of_ascii_alone() -> None:
    pattern = "Weather.Größe.OSLO"
    assert required_literals(pattern, ignore_case=True) == ("weather", "oslo")
    assert required_literals(pattern) == ("Weather", "Größe", "OSLO")


PIECES = st.sampled_from(
    ["a", "b", "K", "s", ".", "^", "$", "*", "+", "?", "|", "(", ")", "(?:", "(?i)", "(?P<n>", "[",
     "]", "[^", "-", "{2}", "{0,1}", "{", "}", ",", r"\d", r"\b", r"\.", r"\\", r"\(", r"\[",
     r"\x41", r"\Q", r"\E", "[:alpha:]", "abc", "bca", " ", "\n", r"\pL", r"\n", r"\C"]
)  # fmt: skip
TEXTS = st.text(st.sampled_from("abcABCkKſs .\\([{}2,^-]|\n\u212a"), max_size=20)


@settings(max_examples=often(5_000))
@given(st.lists(PIECES, max_size=8).map("".join), st.lists(TEXTS, max_size=8), st.booleans())
def test_every_text_in_which_a_pattern_is_found_holds_its_literals(
    pattern: str, texts: list[str], ignore_case: bool
) -> None:
    try:
        found = compile_regex(pattern, ignore_case=ignore_case)
    except RegexError:
        return
    literals = required_literals(pattern, ignore_case=ignore_case)
    for text in [*texts, pattern, pattern.swapcase(), "abcbcaabc", "aabcabc bca"]:
        if found.search(text) is not None:
            seen = text.casefold() if ignore_case else text
            assert all(literal in seen for literal in literals)


def test_steps_with_patterns_are_filed_under_what_the_patterns_need() -> None:
    matches = [saying(regex=f"order {n}[;,] (please|now)") for n in range(300)]
    lookup = StepLookup(matches)
    reader = RequestReader(ask("order 77; please"))
    # The text contains "order 7" too.
    assert lookup.positions(reader) == [7, 77]
    assert all(table.regexes is None for table in lookup._tables.values())
