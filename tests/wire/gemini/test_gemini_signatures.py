"""Conversion of thought signatures between any text of scripts and base64 of clients."""

from base64 import b64encode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.wire.gemini.fields import decode_signature, encode_signature

OPAQUE = b"\xff\xfe\x00\x01sign\xfb"


@pytest.mark.parametrize("scripted", ["sig-1", "Grüße", "ab12c", "a b", "=", "\ud800"])
def test_a_text_is_sent_in_base64(scripted: str) -> None:
    encoded = encode_signature(scripted)
    assert encoded == b64encode(scripted.encode("utf-8", "surrogatepass")).decode()
    assert decode_signature(encoded) == scripted


def test_base64_signature_is_sent_unchanged() -> None:
    scripted = b64encode(OPAQUE).decode()
    assert encode_signature(scripted) == scripted
    assert decode_signature(scripted) == scripted


@given(st.text(min_size=1) | st.binary(min_size=1).map(lambda data: b64encode(data).decode()))
def test_returned_signature_is_encoded_the_same_again(scripted: str) -> None:
    encoded = encode_signature(scripted)
    assert encode_signature(decode_signature(encoded)) == encoded


@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
def test_clients_may_use_either_alphabet_and_leave_the_padding_out(
    encode: type, padded: bool
) -> None:
    for data, scripted in ((OPAQUE, b64encode(OPAQUE).decode()), (b"sig-1", "sig-1")):
        encoded = encode(data).decode()
        assert decode_signature(encoded if padded else encoded.rstrip("=")) == scripted


@pytest.mark.parametrize("signature", ["sig-1", "no base64!", "é", "a"])
def test_signature_that_is_not_base64_stays_unchanged(signature: str) -> None:
    assert decode_signature(signature) == signature
