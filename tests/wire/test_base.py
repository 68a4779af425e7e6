"""The framing that the wires share."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.wire.base import encode_text, named_sse, retry_after_seconds, sse


def test_an_event_is_a_data_line_and_a_blank_one() -> None:
    assert sse(b"{}") == b"data: {}\n\n"


def test_a_named_event_says_its_name_first() -> None:
    assert named_sse("ping", b"{}") == b"event: ping\ndata: {}\n\n"


@pytest.mark.parametrize(
    ("milliseconds", "seconds"), [(0, "0"), (1, "1"), (1000, "1"), (1001, "2"), (60_000, "60")]
)
def test_retry_after_rounds_up(milliseconds: int, seconds: str) -> None:
    assert retry_after_seconds(milliseconds) == seconds


def test_text_is_utf_8_and_escaped_only_where_it_must_be() -> None:
    assert encode_text('Grüße, "世界" 🎉\n') == '"Grüße, \\"世界\\" 🎉\\n"'.encode()


@given(st.text())
def test_encoded_text_is_one_line_for_every_reader_and_decodes_to_itself(text: str) -> None:
    data = encode_text(text)
    assert len(data.decode().splitlines()) == 1
    assert msgspec.json.decode(data) == text


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x1c", "\x0b", "\r"])
def test_no_line_separator_stays_in_encoded_text(separator: str) -> None:
    data = encode_text(f"é{separator}é")
    assert separator not in data.decode()
    assert msgspec.json.decode(data) == f"é{separator}é"
