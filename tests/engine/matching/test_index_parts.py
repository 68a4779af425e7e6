"""Parts of the index: literal sets, regex sets, and the word index of near misses."""

from collections.abc import Mapping
from string import ascii_lowercase

from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.conditions.match import Match
from scenarios_app.engine.conditions.subjects import RequestReader
from scenarios_app.engine.conditions.texts import TextCondition, compile_regex
from scenarios_app.engine.matching import lookup
from scenarios_app.engine.matching.lookup import Atom, LiteralSet, RegexSet, WordIndex
from tests.engine.match_builders import build_match, chat_request, user_text_match
from tests.engine.match_strategies import PATTERNS, TEXTS

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


def test_long_literal_is_searched_by_its_end() -> None:
    literal = "ab" * 20_000
    literals = LiteralSet({literal: [1], literal + "c": [2], "zz": [3]})
    assert literals.find("-" * 30_000 + literal) == {1}
    assert literals.find("-" * 30_000 + literal + "c") == {1, 2}
    assert literals.find(literal[-201:-1]) == set()


def test_literal_is_found_at_every_offset_around_a_piece_boundary() -> None:
    literals = LiteralSet({"needle": [1]})
    for before in range(lookup._PIECE_CHARS - 7, lookup._PIECE_CHARS + 2):
        assert literals.find("-" * before + "needle" + "-" * 9) == {1}


def test_repeated_letter_matches_every_literal_of_that_letter() -> None:
    literals = LiteralSet({"a" * n: [n] for n in range(1, 400)})
    assert literals.find("a" * 100_000) == set(range(1, 400))


def test_literal_returns_all_its_positions() -> None:
    assert LiteralSet({"a": [3, 5], "b": [4]}).find("xax") == {3, 5}


def find_positions(patterns: Mapping[Atom, list[int]], text: str) -> set[int]:
    regexes = RegexSet(patterns)
    return regexes.find(text) | set(regexes.unfiltered)


@given(st.lists(st.tuples(PATTERNS, st.booleans()), min_size=1, max_size=12, unique=True), TEXTS)
def test_every_regex_that_matches_is_found(
    flagged_patterns: list[tuple[str, bool]], text: str
) -> None:
    patterns = {
        Atom("regex", ignore_case, text): [number]
        for number, (text, ignore_case) in enumerate(flagged_patterns)
    }
    matching = {
        positions[0]
        for pattern, positions in patterns.items()
        if compile_regex(pattern.text, ignore_case=pattern.ignore_case).search(text)
    }
    assert find_positions(patterns, text) == matching


def letters(number: int) -> str:
    """Return sixty letters that are different for every number."""
    first_letters = [ascii_lowercase[(number // 26**place) % 26] for place in range(4)]
    return "".join(first_letters) * 15


def test_patterns_too_large_for_one_filter_are_split() -> None:
    patterns = {Atom("regex", False, f"{letters(n)} .*z"): [n] for n in range(2_500)}
    regexes = RegexSet(patterns)
    assert regexes.unfiltered == []
    for number in (0, 1_249, 1_250, 2_499):
        assert regexes.find(f"{letters(number)} yz") == {number}


def test_pattern_too_large_for_any_filter_is_always_tried() -> None:
    huge = "(?:" + "".join(letters(n) for n in range(8)) + "){200}"
    regexes = RegexSet({Atom("regex", False, huge): [1, 2], Atom("regex", False, "needle+"): [3]})
    assert regexes.unfiltered == [1, 2]
    assert regexes.find("needleee") == {3}
    assert regexes.find("") == set()


def positions_sharing_words(matches: list[Match], text: str) -> list[int]:
    return WordIndex(matches).positions_sharing_words(RequestReader(chat_request(text)))


def test_steps_that_share_more_words_come_first() -> None:
    matches = [
        user_text_match(contains="weather"),
        user_text_match(equals="the WEATHER in Paris"),
        user_text_match(regex=r"\bParis\b"),
        user_text_match(contains="rain"),
        build_match(),
    ]
    assert positions_sharing_words(matches, "the weather in Paris?") == [1, 0, 2]
    assert positions_sharing_words(matches, "hello") == []


def test_common_words_are_ignored_beside_rare_ones() -> None:
    common = [user_text_match(contains="please") for _ in range(20_001)]
    matches = [*common, user_text_match(contains="weather please")]
    assert positions_sharing_words(matches, "weather please") == [20_001]
    assert len(positions_sharing_words(matches, "please")) == 20_000


def test_only_words_at_the_beginning_of_a_text_are_read() -> None:
    assert (
        positions_sharing_words([user_text_match(contains="weather")], "x " * 2_000 + "weather")
        == []
    )


def test_words_of_other_fields_count() -> None:
    matches = [
        build_match(model=(TextCondition(equals="gpt-4o"),)),
        user_text_match(contains="hello"),
    ]
    assert positions_sharing_words(matches, "nothing") == [0]
