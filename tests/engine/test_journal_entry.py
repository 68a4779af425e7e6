"""Raw journal entries become clean ones: without secrets, with texts up to their limits."""

from typing import Any

import pytest

from scenarios_app.engine.journal_entry import (
    FIELD_RULES,
    CleanEntry,
    JournalEntry,
    clean_entry,
    cut_entry,
    held_bytes,
)
from scenarios_app.engine.secrets import MASK

SECRET = "sk-proj-Zm9vYmFyYmF6cXV4-5b6a"
FIELDS: dict[str, Any] = {
    "uid": "0",
    "at": 1.5,
    "session": "s",
    "method": "POST",
    "path": "/v1",
    "status": 200,
    "outcome": "complete",
    "duration_ms": 1.0,
    "request_body": b"",
    "response_body": b"",
}


def clean(*, body_bytes: int = 1_000, **fields: Any) -> CleanEntry:
    return clean_entry(JournalEntry(**FIELDS | fields), body_bytes=body_bytes)


def test_long_body_is_cut_between_characters_and_marked() -> None:
    pieces = (b"abc", b"def", b"ghi")
    entry = clean(body_bytes=4, request_body="aéée".encode(), response_body=pieces)
    assert (entry.request_body, entry.request_bytes, entry.request_cut) == ("aé", 6, True)
    assert (entry.response_body, entry.response_bytes, entry.response_cut) == ("abcd", 9, True)


def test_body_as_long_as_the_limit_is_not_cut() -> None:
    entry = clean(body_bytes=4, request_body=b"abcd", response_body=b"abcd")
    assert (entry.request_body, entry.request_cut, entry.response_cut) == ("abcd", False, False)


def test_body_that_was_cut_before_keeps_its_size() -> None:
    raw = cut_entry(JournalEntry(**FIELDS | {"request_body": b"abcd"}), 2)
    assert held_bytes(raw.request_body) == 2
    entry = clean_entry(cut_entry(raw, 1), body_bytes=1_000)
    assert (entry.request_body, entry.request_bytes, entry.request_cut) == ("a", 4, True)


def test_bytes_that_are_no_text_are_escaped() -> None:
    entry = clean(request_body=b"\xff\x00\xc3", path="/a\0b")
    assert (entry.request_body, entry.path) == ("\\xff\\x00\\xc3", "/a\\x00b")


@pytest.mark.parametrize(
    ("name", "size"),
    [("request_preview", 200), ("response_preview", 200), ("session", 255), ("method", 16)],
)
def test_text_is_cut_at_the_limit_of_its_field(name: str, size: int) -> None:
    assert getattr(clean(**{name: "q" * 1_000}), name) == "q" * size


@pytest.mark.parametrize(
    "fields",
    [
        *({name: f"a {SECRET}"} for name in ("session", "path", "model")),
        {"query": {"key": SECRET, f"q{SECRET}": SECRET}},
        {"request_preview": f'{{"api_key": "other", "said": "{SECRET}"}}'},
        {"response_preview": f"Your key is {SECRET}"},
        {"violations": (f"got {SECRET}",)},
        {"near_misses": [{"mismatches": [{"field": "model", "actual": SECRET}], "n": 1}]},
        {"request_body": f'{{"said": "{SECRET}"}}'.encode()},
        {"response_body": (f'{{"x-api-key": "{SECRET}"}}'.encode(),)},
        {"response_body": SECRET.encode(), "response_plain": True},
        {"response_headers": (("set-cookie", f"a={SECRET}"), ("x-echo", SECRET))},
    ],
)
def test_no_field_has_a_secret_of_the_request(fields: dict[str, Any]) -> None:
    entry = clean(request_headers={"authorization": f"Bearer {SECRET}"}, **fields)
    texts = [str(getattr(entry, name)) for name in fields.keys() - {"response_plain"}]
    assert all(SECRET not in text and MASK in text for text in texts)
    assert entry.request_headers == {"authorization": f"Bearer {MASK}5b6a"}


def test_actual_value_of_a_secret_header_is_masked() -> None:
    mismatch = {"field": "match.headers.authorization", "expected": "a", "actual": "Bearer short"}
    (miss,) = clean(near_misses=[{"mismatches": [mismatch]}]).near_misses
    assert "short" not in str(miss)


def test_held_bytes_are_those_of_the_bodies() -> None:
    raw = JournalEntry(**FIELDS | {"request_body": b"abc", "response_body": (b"de", b"f")})
    assert (raw.held_bytes, raw.entry()) == (6, raw)
    assert held_bytes(iter([b"abc"])) == 0


@pytest.mark.parametrize(
    ("fields", "unmatched"),
    [
        ({"matched": True, "way": "match"}, False),
        ({"way": "match"}, True),
        ({"way": "url"}, True),
        ({"fallback": True, "matched": True, "way": "match"}, True),
        ({}, False),
    ],
    ids=["matched", "no step", "unknown URL", "catch-all", "refused"],
)
def test_unmatched_request_looked_for_a_step_and_found_none(
    fields: dict[str, Any], unmatched: bool
) -> None:
    assert JournalEntry(**FIELDS | fields).is_unmatched is unmatched


def test_only_shown_fields_are_described() -> None:
    assert all(bool(rule.help) == bool(rule.shown_in) for rule in FIELD_RULES.values())
