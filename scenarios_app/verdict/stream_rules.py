"""Rules on how clients read answers."""

import json
from collections.abc import Iterator

from scenarios_app.engine.canonical import Message
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.verdict.said import said
from scenarios_app.verdict.session import Exchange, Rule, Session, Sighting


def _left(session: Session) -> Iterator[Exchange]:
    """Streams that went well until their client closed the connection."""
    for one in session.exchanges:
        if one.outcome == "client_gone" and one.streamed and not one.fault and one.status < 400:
            yield one


def _closed(session: Session) -> Iterator[Sighting]:
    for one in _left(session):
        yield Sighting(
            f"closed after {one.response_bytes:,} bytes, before the end of the stream", one
        )


def _usage_unread(session: Session) -> Iterator[Sighting]:
    for one in _left(session):
        if _asks_for_usage(one.request_body):
            yield Sighting("asked for usage, and closed the stream before it came", one)


def _asks_for_usage(body: str) -> bool:
    if '"include_usage"' not in body:
        return False
    try:
        match json.loads(body):
            case {"stream_options": {"include_usage": True}}:
                return True
    except (ValueError, RecursionError):
        pass
    return False


def _taken(session: Session) -> Iterator[Sighting]:
    broken: dict[tuple[Message, ...], Exchange] = {}
    for one in session.exchanges:
        messages = one.request.messages if one.request else ()
        for place, message in enumerate(messages if broken else ()):
            cut = broken.get(messages[:place]) if message.role == "assistant" else None
            if cut and cut.ended_at <= one.at and (what := _as_said(message, cut)):
                del broken[messages[:place]]
                yield Sighting(f"goes on with {what} of an answer that broke off", one, (cut,))
        if one.broken and messages:
            broken[messages] = one
        elif not one.failed:
            # What goes on from here goes on from this answer.
            broken.pop(messages, None)


def _as_said(message: Message, cut: Exchange) -> str:
    """What of an answer that broke off a message has taken for all of it."""
    calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
    if any(call.id and call.id in cut.response_body for call in calls):
        return "a tool call"
    text = message.text.strip()
    return "the text" if text and text == said(cut.response_body).strip() else ""


STREAM_CLOSED_EARLY = Rule(
    "stream-closed-early",
    "A client closed a stream before its end.",
    "Streams that no fault broke, whose connection the client closed before the last event had "
    "left. What is sent all at once is gone before anybody can close it.",
    "`for event in stream: break`, or a proxy that gives up after a second.",
    "warning",
    _closed,
)
USAGE_UNREAD = Rule(
    "usage-unread",
    "A client asked for usage and did not wait for it.",
    "OpenAI's `stream_options.include_usage` in a request whose stream the client closed early: "
    "usage comes last.",
    "A loop that stops at the first `finish_reason`, with `include_usage` switched on.",
    "error",
    _usage_unread,
)
TRUNCATED_TAKEN_AS_COMPLETE = Rule(
    "truncated-taken-as-complete",
    "A client took an answer that broke off for a whole one.",
    "A later request that begins with the same messages and goes on with an assistant's message "
    "that is the text that was sent of the broken answer, or has a tool call of it.",
    "A stream that ends without `[DONE]` or `message_stop`, whose half sentence is stored in the "
    "conversation as the model's answer.",
    "error",
    _taken,
)
