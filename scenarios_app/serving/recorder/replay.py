"""A recorded answer sent again: its status, its headers that matter, and its body byte for byte, in
the pieces in which it came."""

from msgspec.structs import replace

from scenarios_app.engine.recorded import RecordedAnswer
from scenarios_app.serving.exchange import Exchange
from scenarios_app.serving.reply import FRAMING, Frame, Reply, whole_reply
from scenarios_app.wire.base import ArchiveWrite, Headers

PACE_HEADER = "x-mockllm-pace"
_AS_RECORDED = "recorded"
# Content types of streams.
_STREAMS = ("text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream")
_ERROR = 300


def replay(
    exchange: Exchange, recorded: RecordedAnswer, *, headers: Headers, delay: float = 0.0
) -> Reply:
    """Return the reply of a recorded response: immediate, or with its recorded timing if the step
    or request asks for that."""
    pace = exchange.call.headers.get(PACE_HEADER, "").strip().lower()
    paced = recorded.pace if not pace else pace == _AS_RECORDED
    recorded_names = {name for name, _ in recorded.headers}
    merged = (*(header for header in headers if header[0] not in recorded_names), *recorded.headers)
    if _is_stream(recorded):
        reply = Reply(
            recorded.status,
            tuple((name, value) for name, value in merged if name not in FRAMING),
            frames=_recorded_frames(recorded, paced=paced),
            wire=exchange.wire,
        )
    else:
        reply = whole_reply(recorded.status, recorded.body, headers=merged)
        if paced:
            reply = replace(reply, frames=_recorded_frames(recorded, paced=True))
        if recorded.cut:
            # One byte more than is sent, so that clients notice the cut.
            length = ("content-length", str(len(recorded.body) + 1))
            others = (header for header in reply.headers if header[0] != "content-length")
            reply = replace(reply, headers=(*others, length))
    stored = _archive_writes(exchange, recorded)
    return replace(reply, delay=delay, cut=recorded.cut, stored=stored)


def _is_stream(recorded: RecordedAnswer) -> bool:
    """Return whether a response was a stream, by its media type or its request."""
    media_type = dict(recorded.headers).get("content-type", "").partition(";")[0].strip().lower()
    asked_for = recorded.stream is True and recorded.status < _ERROR
    return media_type in _STREAMS or asked_for


def _recorded_frames(recorded: RecordedAnswer, *, paced: bool) -> tuple[Frame, ...]:
    """Return the recorded chunks as frames, at their recorded times or without waits."""
    return tuple(Frame(at / 1000 if paced else 0.0, data) for at, data in recorded.chunks)


def _archive_writes(exchange: Exchange, recorded: RecordedAnswer) -> tuple[ArchiveWrite, ...]:
    """Return the archive's writes, so that later requests can name the response. Errors and cut
    responses write nothing."""
    endpoint, request = exchange.target.endpoint, exchange.request
    if endpoint is None or endpoint.archival is None or request is None or request.own is None:
        return ()
    if recorded.cut or recorded.status >= _ERROR:
        return ()
    return endpoint.archival.record_body(request, recorded.body)
