"""Required literals of a pattern: each is part of every text that the pattern matches."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.conditions.texts import RegexError, compile_regex
from scenarios_app.engine.matching.lookup import StepLookup, required_literals
from tests.engine.match_builders import chat_request, user_text_match
from tests.support.hypothesis_profiles import example_count

REQUIRED_LITERALS = {
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
UNSUPPORTED_PATTERNS = [
    "cats|dogs",
    "(?i)weather",
    "(?i:weather)er",
    r"weather\x41",
    r"\Qweather",
    r"wea\pNther",
]


@pytest.mark.parametrize(("pattern", "literals"), REQUIRED_LITERALS.items())
def test_required_literals_exclude_groups_and_optional_pieces(
    pattern: str, literals: tuple[str, ...]
) -> None:
    compile_regex(pattern)
    assert required_literals(pattern) == literals


@pytest.mark.parametrize("pattern", UNSUPPORTED_PATTERNS)
def test_unsupported_pattern_has_no_required_literals(pattern: str) -> None:
    assert required_literals(pattern) == ()


def test_ignored_case_folds_literals_of_ascii_letters_only() -> None:
    pattern = "Weather.Größe.OSLO"
    assert required_literals(pattern, ignore_case=True) == ("weather", "oslo")
    assert required_literals(pattern) == ("Weather", "Größe", "OSLO")


PIECES = st.sampled_from(
    ["a", "b", "K", "s", ".", "^", "$", "*", "+", "?", "|", "(", ")", "(?:", "(?i)", "(?P<n>", "[",
     "]", "[^", "-", "{2}", "{0,1}", "{", "}", ",", r"\d", r"\b", r"\.", r"\\", r"\(", r"\[",
     r"\x41", r"\Q", r"\E", "[:alpha:]", "abc", "bca", " ", "\n", r"\pL", r"\n", r"\C"]
)  # fmt: skip
TEXTS = st.text(st.sampled_from("abcABCkKſs .\\([{}2,^-]|\n\u212a"), max_size=20)


@settings(max_examples=example_count(5_000))
@given(st.lists(PIECES, max_size=8).map("".join), st.lists(TEXTS, max_size=8), st.booleans())
def test_every_matching_text_contains_the_required_literals(
    pattern: str, texts: list[str], ignore_case: bool
) -> None:
    try:
        compiled_pattern = compile_regex(pattern, ignore_case=ignore_case)
    except RegexError:
        return
    literals = required_literals(pattern, ignore_case=ignore_case)
    for text in [*texts, pattern, pattern.swapcase(), "abcbcaabc", "aabcabc bca"]:
        if compiled_pattern.search(text) is not None:
            searched_text = text.casefold() if ignore_case else text
            assert all(literal in searched_text for literal in literals)


def test_steps_are_filed_under_the_required_literals_of_their_patterns() -> None:
    matches = [user_text_match(regex=f"order {n}[;,] (please|now)") for n in range(300)]
    lookup = StepLookup(matches)
    reader = RequestReader(chat_request("order 77; please"))
    # The text contains "order 7" too.
    assert lookup.positions(reader) == [7, 77]
    assert all(table.regexes is None for table in lookup._tables.values())
