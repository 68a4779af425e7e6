"""Answers plain requests of a WebSocket on the short path, in one write of encoded frames."""

from collections.abc import Callable
from functools import partial

from scenarios_app.serving.exchange import RequestHead
from scenarios_app.serving.fast.websocket_templates import MAX_FORMS, FrameTemplate, frame_template
from scenarios_app.serving.pipeline import Pipeline
from scenarios_app.serving.short_path import PlainAnswer
from scenarios_app.serving.transports.websocket import SocketConnection, events_of
from scenarios_app.wire.base import Call
from scenarios_app.wire.sockets import SocketProtocol, Turn


class PlainFrames:
    """The plain answers of one connection; `write` writes encoded frames to it."""

    def __init__(
        self,
        pipeline: Pipeline,
        head: RequestHead,
        connection: SocketConnection,
        *,
        write: Callable[[bytes], None],
    ) -> None:
        self._pipeline = pipeline
        self._head = head
        self._connection = connection
        self._write = write

    def answer(self, rules: SocketProtocol, turn: Turn, call: Call) -> bool:
        """Answer a plain request; return False for any other."""
        path = self._pipeline.short_path
        answer = path.answer(self._head, call) if path is not None else None
        if answer is None:
            return False
        values = answer.values
        template = _frame_template(rules, turn, answer) if answer.http.chunked else None
        if template is None:
            reply, body = answer.template.render(values), answer.http.body.fill(values)
            self._connection.send(events_of(rules, turn, reply, body))
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
        template = frame_template(answer.http.body, lengths, encode)
        if len(forms) >= MAX_FORMS:
            forms.clear()
        forms[form] = template
    return template
