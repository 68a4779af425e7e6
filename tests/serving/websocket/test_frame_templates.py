"""Templates of frames with slots of fixed lengths, and bodies without a template."""

from scenarios_app.serving.fast.slots import Slotted
from scenarios_app.serving.fast.websocket_templates import (
    MAX_SLOTS,
    encode_text,
    frame_template,
)


def split_events(body: bytes) -> list[bytes]:
    return body.split(b"\n")[:-1]


def test_values_fill_the_frames_and_the_last_message() -> None:
    body = Slotted([b"a", b" and ", b"\n" + b"x" * 200, b"\n"], [0, 1, 0])
    template = frame_template(body, (2, 3), split_events)
    assert template is not None
    expected_events = [b"a12 and 345", b"x" * 200 + b"12"]
    assert template.frames.fill((b"12", b"345")) == b"".join(map(encode_text, expected_events))
    assert template.last_event.fill((b"12", b"345")) == expected_events[-1]


def test_frame_head_has_its_size() -> None:
    assert encode_text(b"x" * 125)[:2] == b"\x81\x7d"
    assert encode_text(b"x" * 126)[:4] == b"\x81\x7e\x00\x7e"
    assert encode_text(b"x" * 65_536)[:10] == b"\x81\x7f" + (65_536).to_bytes(8)


def test_indistinguishable_slots_have_no_template() -> None:
    assert frame_template(Slotted([b"a", b"", b"b\n"], [0, 0]), (2,), split_events) is None


def test_body_without_events_or_with_many_slots_has_no_template() -> None:
    assert frame_template(Slotted([b"a"], []), (), split_events) is None
    assert frame_template(Slotted([b"a\n"], []), (1,) * (MAX_SLOTS + 1), split_events) is None
