"""ASCII-only character classes in patterns that also contain other letters."""

import pytest

from scenarios_app.engine.conditions.texts import compile_regex
from scenarios_app.engine.matching.lint import find_ascii_classes

WORD_CLASS = r"[\pL\pN_]"
WORD_BOUNDARY = r"(?:^|[^\pL\pN_]) before a word and (?:[^\pL\pN_]|$) after it"


def narrow_classes(pattern: str) -> list[str]:
    compile_regex(pattern)
    return [message.split(" takes ")[0] for message, _ in find_ascii_classes(pattern)]


@pytest.mark.parametrize(
    ("pattern", "name", "kind", "instead"),
    [
        (r"Kö\w+", r"\w", "letters", WORD_CLASS),
        (r"\bÜ", r"\b", "letters", WORD_BOUNDARY),
        (r"Ö\W", r"\W", "letters", r"[^\pL\pN_]"),
        ("é[[:alpha:]]", "[:alpha:]", "letters", r"\pL"),
        (r"٣\d*", r"\d", "digits", r"\p{Nd}"),
        ("\u00a0\\s", r"\s", "spaces", r"[\s\pZ]"),
    ],
)
def test_narrow_class_is_reported_with_its_wider_class(
    pattern: str, name: str, kind: str, instead: str
) -> None:
    compile_regex(pattern)
    assert [message for message, _ in find_ascii_classes(pattern)] == [
        f"{name} takes ASCII alone, and the pattern has {kind} beyond it; "
        f"for those of every script: {instead}"
    ]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        (r"ö[\w-]", [r"\w"]),
        (r"\w+ö\w+", [r"\w"]),
        (r"\bÜber\w+", [r"\b", r"\w"]),
        (r"caf\x{e9}\w", [r"\w"]),
        (r"caf\xe9\b", [r"\b"]),
        (r"\Qfür\E\w", [r"\w"]),
        (r"ö[]\w]", [r"\w"]),
        (r"ö[^]\w]", [r"\w"]),
        (r"\b(?:Über|unter)", [r"\b"]),
        (r"né+\b", [r"\b"]),
        (r"(?i)\Büber", [r"\B"]),
        (r"ö\b", [r"\b"]),
        (r"[ö]\w", [r"\w"]),
    ],
)
def test_narrow_class_is_found_anywhere_in_a_pattern(pattern: str, names: list[str]) -> None:
    assert narrow_classes(pattern) == names


@pytest.mark.parametrize(
    "pattern",
    [
        r"\bKoln\w+\b",
        r"Köln[\w\pL]+",
        r"Grüße, [\wäöüß]+",
        r"Größe\s+\d+",
        r"\bMünchen\b",
        r"(?i)\bmünchen\s\b",
        r"(?P<größe>\w+)",
        r"größe\\w",
        r"ö[^]\wö]",
        r"ö[ö\w-]",
        r"ö[\w\PL-]",
        r"öK\b",
        r"öK\Bln",
        r"ö\Q\w\E",
        r"[\pL\pN_]+ö",
        "–\\w",
    ],
)
def test_pattern_without_narrow_classes_has_no_finding(pattern: str) -> None:
    assert narrow_classes(pattern) == []


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        (r"é\w", (r"\w", WORD_CLASS)),
        (r"é\w[ab]", None),
        (r"é[[:alpha:]]", None),
        (r"\bé", None),
        (r"\Bé", None),
    ],
)
def test_replaceable_class_comes_with_its_wider_class(
    pattern: str, instead: tuple[str, str] | None
) -> None:
    assert [replacement for _, replacement in find_ascii_classes(pattern)] == [instead]


def test_proposed_class_matches_other_scripts() -> None:
    def matched_text(pattern: str, text: str) -> str:
        match = compile_regex(pattern).search(text)
        return "" if match is None else match[0]

    assert matched_text(r"\w+$", "in Köln") == "ln"
    assert matched_text(WORD_CLASS + "+$", "in Köln") == "Köln"
    assert matched_text(r"\bÜber", "Übermut") == ""
    assert matched_text(r"(?:^|[^\pL\pN_])Über", "Übermut") == "Über"
    assert matched_text(r"né(?:[^\pL\pN_]|$)", "né le 3") == "né "
    assert matched_text(r"\p{Nd}+", "٣٤") == "٣٤"
    assert matched_text(r"a[\s\pZ]b", "a\u00a0b") == "a\u00a0b"
