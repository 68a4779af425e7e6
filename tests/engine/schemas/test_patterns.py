"""Texts generated for regular expressions."""

import re
from random import Random

import pytest

from scenarios_app.engine.schemas.keywords import SchemaError
from scenarios_app.engine.schemas.patterns import make_sample, matches_pattern

PATTERNS = [
    *("^abc$", "^a|b$", "^(a|b)*c$", "^(?:x|yy)+?$", "^(?P<n>a)(?P=n)?$"[:9] + "$"),
    *("^[A-Z]{3}-\\d{4}$", "^[^a-z]{2,}$", "^[\\w.-]+@[\\w-]+\\.\\w{2,3}$", "^\\S\\s\\D\\W$"),
    *("^a{2}b{2,}c{0,3}d{1,2}+$"[:-2] + "$", "^(a)(b)\\2\\1$", "^\\+?[1-9]\\d{1,14}$"),
    *("^\\x41\\u0042\\t$", "^[\\]\\-a]{3}$", "^[]a]$", "^[a-]$", "^.{5}$", "^a{,x}$", "^{$"),
    *("^\\bword\\b$", "^[\\b]?x$", "^(|a)$", "^\\$\\/\\.$", "^[\\d-]+$", "^[a-c\\d]$", "^a*+b?$"),
    *("", "^(19|20)\\d\\d-(0[1-9]|1[0-2])$", "^#[0-9a-fA-F]{6}$", "^(?i:abc)$", "^[à-ü]{2}$"),
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_sample_matches_its_pattern(pattern: str) -> None:
    for seed in range(20):
        sample = make_sample(pattern, Random(seed), 3)
        assert re.search(pattern, sample), (pattern, sample)
        assert matches_pattern(pattern, sample)


@pytest.mark.parametrize("pattern", ["^\\p{L}+$", "^\\p{Lu}\\pN$", "^\\P{L}$", "^\\x{41}$"])
def test_sample_matches_a_pattern_with_re2_classes(pattern: str) -> None:
    assert all(
        matches_pattern(pattern, make_sample(pattern, Random(seed), 3)) for seed in range(20)
    )


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        *(("(?=a)b", "looks around"), ("(?<!a)b", "looks around"), ("(?z:a)", "unknown flags")),
        *(("(a", "')' is missing"), ("a)", "a ')' too many"), ("[a", "cannot be read")),
        *(("a\\", "cannot be read"), ("[z-a]", "ends before it begins"), ("a{3,1}", "more often")),
        *(("[[:alpha:]]", "POSIX"), ("(?<n", "cannot be read"), ("\\xZZ", "cannot be read")),
        *(("[^\\s\\S]", "no character"), ("(" * 60 + ")" * 60, "nest too deep")),
        ("a" * 5_000, "longer than 4000 characters"),
        *(("\\ud83d\\ude00", "cannot be read"), ("[\\ud800-\\udfff]", "cannot be read")),
        ("\\x{ffffffffffff}", "cannot be read"),
    ],
)
def test_unsupported_pattern_is_rejected_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(reason)):
        make_sample(pattern, Random(0), 3)


@pytest.mark.parametrize("pattern", ["^[^\\ud800-\\udfff]$", "^[\\ud7ff-\\uffff]$"])
def test_sample_holds_no_half_of_a_surrogate_pair(pattern: str) -> None:
    samples = "".join(make_sample(pattern, Random(seed), 3) for seed in range(20))
    assert samples.encode().decode() == samples


def test_unsupported_pattern_matches_any_text() -> None:
    assert matches_pattern("(?=b)c", "a")
    assert not matches_pattern("^b$", "a")
