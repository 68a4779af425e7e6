"""What the index is made of: many literals, many regexes, the words of near misses."""

from collections.abc import Mapping
from string import ascii_lowercase

from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.conditions.texts import TextCondition, compile_regex
from scenarios_app.engine.matching import lookup
from scenarios_app.engine.matching.lookup import Atom, LiteralSet, RegexSet, WordIndex
from tests.engine.asking import ask, saying, when
from tests.engine.drawn_asking import PATTERNS, TEXTS

SHORT = st.text("ab", min_size=1, max_size=7)


def positions_of(literals: list[str]) -> Mapping[str, list[int]]:
    return {literal: [number] for number, literal in enumerate(dict.fromkeys(literals))}


@given(st.lists(SHORT, min_size=1, max_size=40), st.text("ab", max_size=30))
def test_every_literal_in_a_text_is_found(literals: list[str], text: str) -> None:
    positions = positions_of(literals)
    occurring = {p for literal, of in positions.items() if literal in text for p in of}
    assert LiteralSet(positions).find(text) >= occurring


@given(st.lists(SHORT, min_size=1, max_size=4), st.text("ab", max_size=30))
def test_few_literals_are_found_exactly(literals: list[str], text: str) -> None:
    positions = positions_of(literals)
    occurring = {p for literal, of in positions.items() if literal in text for p in of}
    assert LiteralSet(positions).find(text) == occurring


def test_a_literal_is_found_across_the_pieces_of_a_long_text() -> None:
    literals = LiteralSet({"needle": [1], "x" * 50: [2], "absent": [3]})
    for at in (0, 16_000, 16_378, 16_384, 16_390, 32_767, 32_768, 99_994):
        text = "." * at + "needle" + "." * (99_994 - at)
        assert literals.find(text) == {1}


def test_of_a_long_literal_the_end_is_looked_for() -> None:
    literal = "ab" * 20_000
    literals = LiteralSet({literal: [1], literal + "c": [2], "zz": [3]})
    assert literals.find("-" * 30_000 + literal) == {1}
    assert literals.find("-" * 30_000 + literal + "c") == {1, 2}
    assert literals.find(literal[-201:-1]) == set()


def test_a_literal_is_found_at_every_place_between_two_pieces() -> None:
    literals = LiteralSet({"needle": [1]})
    for before in range(lookup._PIECE_CHARS - 7, lookup._PIECE_CHARS + 2):
        assert literals.find("-" * before + "needle" + "-" * 9) == {1}


def test_one_letter_repeated_finds_every_literal_of_that_letter() -> None:
    literals = LiteralSet({"a" * n: [n] for n in range(1, 400)})
    assert literals.find("a" * 100_000) == set(range(1, 400))


def test_a_literal_brings_all_its_positions() -> None:
    assert LiteralSet({"a": [3, 5], "b": [4]}).find("xax") == {3, 5}


def find_positions(patterns: Mapping[Atom, list[int]], text: str) -> set[int]:
    regexes = RegexSet(patterns)
    return regexes.find(text) | set(regexes.unfiltered)


@given(st.lists(st.tuples(PATTERNS, st.booleans()), min_size=1, max_size=12, unique=True), TEXTS)
def test_every_regex_that_matches_is_found(drawn: list[tuple[str, bool]], text: str) -> None:
    patterns = {
        Atom("regex", ignore_case, text): [number]
        for number, (text, ignore_case) in enumerate(drawn)
    }
    matching = {
        of[0]
        for pattern, of in patterns.items()
        if compile_regex(pattern.text, ignore_case=pattern.ignore_case).search(text)
    }
    assert find_positions(patterns, text) == matching


def letters(number: int) -> str:
    """Sixty letters of their own for every number."""
    spelled = [ascii_lowercase[(number // 26**place) % 26] for place in range(4)]
    return "".join(spelled) * 15


def test_patterns_that_do_not_fit_into_one_filter_are_spread() -> None:
    patterns = {Atom("regex", False, f"{letters(n)} .*z"): [n] for n in range(2_500)}
    regexes = RegexSet(patterns)
    assert regexes.unfiltered == []
    for number in (0, 1_249, 1_250, 2_499):
        assert regexes.find(f"{letters(number)} yz") == {number}


def test_a_pattern_that_fits_into_no_filter_is_always_tried() -> None:
    huge = "(?:" + "".join(letters(n) for n in range(8)) + "){200}"
    regexes = RegexSet({Atom("regex", False, huge): [1, 2], Atom("regex", False, "needle+"): [3]})
    assert regexes.unfiltered == [1, 2]
    assert regexes.find("needleee") == {3}
    assert regexes.find("") == set()


def positions_sharing_words(matches: list[Match], text: str) -> list[int]:
    return WordIndex(matches).positions_sharing_words(RequestReader(ask(text)))


def test_steps_that_share_more_words_come_first() -> None:
    matches = [
        saying(contains="weather"),
        saying(equals="the WEATHER in Paris"),
        saying(regex=r"\bParis\b"),
        saying(contains="rain"),
        when(),
    ]
    assert positions_sharing_words(matches, "the weather in Paris?") == [1, 0, 2]
    assert positions_sharing_words(matches, "hello") == []


def test_common_words_do_not_count_once_rare_ones_have() -> None:
    common = [saying(contains="please") for _ in range(20_001)]
    matches = [*common, saying(contains="weather please")]
    assert positions_sharing_words(matches, "weather please") == [20_001]
    assert len(positions_sharing_words(matches, "please")) == 20_000


def test_words_are_read_in_the_beginning_of_a_text() -> None:
    assert positions_sharing_words([saying(contains="weather")], "x " * 2_000 + "weather") == []


def test_words_of_other_places_count_too() -> None:
    matches = [when(model=(TextCondition(equals="gpt-4o"),)), saying(contains="hello")]
    assert positions_sharing_words(matches, "nothing") == [0]
