"""Frames of a streamed answer as a template: an answer of the short path is one formatting, as over
HTTP."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from scenarios_app.serving.exchange import RequestHead
from scenarios_app.serving.fast.short_path import PlainAnswer, ShortPath
from scenarios_app.serving.fast.slots import Slotted
from scenarios_app.serving.playback import Answer
from scenarios_app.serving.transports.websocket import SocketConnection, events_of
from scenarios_app.wire.base import Call
from scenarios_app.wire.sockets import SocketProtocol, Turn

# Limit of forms of one response, by the lengths of values and by lane.
MAX_FORMS = 64
# Marks of slots while a template is made. JSON escapes these bytes, so no event contains them.
_FIRST_MARK = 0x10
_MARKS = re.compile(rb"([\x10-\x1f])\1*")
MAX_SLOTS = 16


def encode_text(payload: bytes) -> bytes:
    """Return a text frame."""
    return _text_head(len(payload)) + payload


def _text_head(size: int) -> bytes:
    """Return the head of a whole text frame with a payload of this many bytes."""
    if size <= 125:
        return bytes((0x81, size))
    if size < 65_536:
        return b"\x81\x7e" + size.to_bytes(2)
    return b"\x81\x7f" + size.to_bytes(8)


class FrameTemplate(NamedTuple):
    """The frames of one response for values of certain lengths, and its last message."""

    frames: Slotted
    last_event: Slotted


def frame_template(
    body: Slotted, lengths: Sequence[int], encode: Callable[[bytes], list[bytes]]
) -> FrameTemplate | None:
    """Return the template of a response with a body of events, or None if its slots cannot be told
    apart.

    `encode` returns the messages of a body. Slots keep their lengths, on which the heads of frames
    depend.
    """
    if len(lengths) > MAX_SLOTS:
        return None
    marks = [bytes((_FIRST_MARK + number,)) * length for number, length in enumerate(lengths)]
    events = encode(body.fill(marks))
    frames = _to_slotted([part for event in events for part in (_text_head(len(event)), event)])
    if not events or frames.fill(marks) != b"".join(map(encode_text, events)):
        return None
    return FrameTemplate(frames, _to_slotted([b"", events[-1]]))


def _to_slotted(parts: Sequence[bytes]) -> Slotted:
    """Return heads and events in turn, with slots for the marks in the events."""
    pieces, numbers, piece = [], [], b""
    for head, event in zip(parts[::2], parts[1::2], strict=True):
        piece += head
        begin = 0
        for mark in _MARKS.finditer(event):
            pieces.append(piece + event[begin : mark.start()])
            numbers.append(mark[1][0] - _FIRST_MARK)
            piece, begin = b"", mark.end()
        piece += event[begin:]
    return Slotted([*pieces, piece], numbers)


class PlainFrames:
    """The plain answers of one connection; `write` writes encoded frames to it."""

    def __init__(
        self,
        path: ShortPath,
        head: RequestHead,
        connection: SocketConnection,
        *,
        write: Callable[[bytes], None],
    ) -> None:
        self._path = path
        self._head = head
        self._connection = connection
        self._write = write

    def answer(self, rules: SocketProtocol, turn: Turn, call: Call) -> Answer | bool:
        """Answer a plain request and return True, or return the answer that is to be sent; False
        for any other request."""
        answer = self._path.answer(self._head, call)
        if not isinstance(answer, PlainAnswer):
            return answer or False
        values = answer.values
        template = _frame_template(rules, turn, answer) if answer.is_stream else None
        if template is None:
            reply = answer.template.render(values)
            self._connection.send(events_of(rules, turn, reply, reply.body))
        else:
            turn.last_event = template.last_event.fill(values)
            self._write(template.frames.fill(values))
        return True


def _frame_template(rules: SocketProtocol, turn: Turn, answer: PlainAnswer) -> FrameTemplate | None:
    """Return the cached frames for an answer of the short path, or None if it has none."""
    forms, lengths = answer.template.frame_templates, tuple(map(len, answer.values))
    form = turn.stream_id, lengths
    template = forms.get(form)
    if template is None:
        encode = partial(rules.encode, Turn(b"", turn.stream_id))
        template = frame_template(answer.template.body, lengths, encode)
        if len(forms) >= MAX_FORMS:
            forms.clear()
        forms[form] = template
    return template
