"""Framing and text encoding that the wires share."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.wire.base import encode_text, named_sse, retry_after_seconds, sse


def test_event_is_a_data_line_and_a_blank_line() -> None:
    assert sse(b"{}") == b"data: {}\n\n"


def test_named_event_starts_with_its_name() -> None:
    assert named_sse("ping", b"{}") == b"event: ping\ndata: {}\n\n"


@pytest.mark.parametrize(
    ("milliseconds", "seconds"), [(0, "0"), (1, "1"), (1000, "1"), (1001, "2"), (60_000, "60")]
)
def test_retry_after_rounds_up(milliseconds: int, seconds: str) -> None:
    assert retry_after_seconds(milliseconds) == seconds


def test_encoded_text_is_utf_8_with_necessary_escapes_only() -> None:
    assert encode_text('Grüße, "世界" 🎉\n') == '"Grüße, \\"世界\\" 🎉\\n"'.encode()


@given(st.text())
def test_encoded_text_is_one_line_and_decodes_to_itself(text: str) -> None:
    data = encode_text(text)
    assert len(data.decode().splitlines()) == 1
    assert msgspec.json.decode(data) == text


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x1c", "\x0b", "\r"])
def test_line_separators_in_text_are_escaped(separator: str) -> None:
    data = encode_text(f"é{separator}é")
    assert separator not in data.decode()
    assert msgspec.json.decode(data) == f"é{separator}é"
