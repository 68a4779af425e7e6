"""Compressed bodies are decoded in any pieces, up to a limit of decoded bytes."""

import gzip
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.recording.bodies import (
    BodyTooLong,
    UnreadableBody,
    make_body_reader,
    readable_encodings,
)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


ENCODERS = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "Deflate": zlib.compress,
    "deflate": raw_deflate,
}


@given(
    st.sampled_from(sorted(ENCODERS)),
    st.binary(max_size=2_000),
    st.lists(st.integers(0, 2_100), max_size=8),
)
def test_body_decodes_the_same_in_any_pieces(encoding: str, data: bytes, cuts: list[int]) -> None:
    packed = ENCODERS[encoding](data)
    places = [0, *sorted(min(cut, len(packed)) for cut in cuts), len(packed)]
    reader = make_body_reader(encoding, max_bytes=2_000)
    decoded = [reader.read(packed[a:b]) for a, b in pairwise(places)]
    assert b"".join(decoded) == data


def test_members_of_gzip_follow_one_another() -> None:
    reader = make_body_reader("gzip", max_bytes=100)
    assert reader.read(gzip.compress(b"a") + gzip.compress(b"b")) == b"ab"
    assert reader.read(gzip.compress(b"c")) == b"c"


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_body_beyond_the_limit_keeps_only_its_beginning(encoding: str) -> None:
    """A decompression bomb is a few bytes that decode to millions."""
    reader = make_body_reader(encoding, max_bytes=10)
    with pytest.raises(BodyTooLong) as raised:
        reader.read(ENCODERS[encoding](b"x" * 5_000_000))
    assert raised.value.beginning == b"x" * 10


def test_body_of_exactly_the_limit_is_decoded() -> None:
    assert make_body_reader("gzip", max_bytes=10).read(gzip.compress(b"x" * 10)) == b"x" * 10


def test_body_with_wrong_encoding_header_is_unreadable() -> None:
    with pytest.raises(UnreadableBody):
        make_body_reader("gzip", max_bytes=10).read(b"not gzip at all")
    reader = make_body_reader("gzip", max_bytes=1_000_000)
    packed = gzip.compress(b"x" * 400)
    with pytest.raises(UnreadableBody):
        reader.read(packed[:-8] + bytes(8))


def test_an_unknown_encoding_is_named() -> None:
    with pytest.raises(UnreadableBody, match="compressed as zstd"):
        make_body_reader("zstd", max_bytes=10)


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("", "identity"),
        ("gzip, deflate, br, zstd", "gzip, deflate"),
        ("br", "identity"),
        ("gzip;q=0, deflate;q=0.5", "deflate"),
        ("gzip;q=0.000, deflate; q=0.10", "deflate"),
        ("*", "identity"),
    ],
)
def test_accepted_encodings_are_readable_here_and_by_the_client(
    accepted: str, expected: str
) -> None:
    assert readable_encodings(accepted) == expected
