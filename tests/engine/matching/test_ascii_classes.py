"""Classes that know ASCII alone, in patterns that mean more."""

import pytest

from scenarios_app.engine.conditions.texts import compile_regex
from scenarios_app.engine.matching.lint import find_ascii_classes

WORD = r"[\pL\pN_]"
BOUNDARY = r"(?:^|[^\pL\pN_]) before a word and (?:[^\pL\pN_]|$) after it"


def named(pattern: str) -> list[str]:
    compile_regex(pattern)
    return [said.split(" takes ")[0] for said, _ in find_ascii_classes(pattern)]


@pytest.mark.parametrize(
    ("pattern", "name", "kind", "instead"),
    [
        (r"Kö\w+", r"\w", "letters", WORD),
        (r"\bÜ", r"\b", "letters", BOUNDARY),
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
    assert [told for told, _ in find_ascii_classes(pattern)] == [
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
    assert named(pattern) == names


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
    assert named(pattern) == []


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        (r"é\w", (r"\w", WORD)),
        (r"é\w[ab]", None),
        (r"é[[:alpha:]]", None),
        (r"\bé", None),
        (r"\Bé", None),
    ],
)
def test_a_class_that_can_be_replaced_comes_with_what_takes_more(
    pattern: str, instead: tuple[str, str] | None
) -> None:
    assert [told for _, told in find_ascii_classes(pattern)] == [instead]


def test_proposed_class_matches_other_scripts() -> None:
    def found(pattern: str, text: str) -> str:
        match = compile_regex(pattern).search(text)
        return "" if match is None else match[0]  # type: ignore[index]

    assert found(r"\w+$", "in Köln") == "ln"
    assert found(WORD + "+$", "in Köln") == "Köln"
    assert found(r"\bÜber", "Übermut") == ""
    assert found(r"(?:^|[^\pL\pN_])Über", "Übermut") == "Über"
    assert found(r"né(?:[^\pL\pN_]|$)", "né le 3") == "né "
    assert found(r"\p{Nd}+", "٣٤") == "٣٤"
    assert found(r"a[\s\pZ]b", "a\u00a0b") == "a\u00a0b"
