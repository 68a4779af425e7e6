"""Rules on what clients make of HTTP: how they read answers, and how they send again what has
failed."""

import json
from collections.abc import Iterator

from scenarios_app.engine.canonical import Message
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.verdict.session import Exchange, Rule, Session, Sighting, said
from scenarios_app.verdict.tries import AT_ONCE, Retry, goes_on, retries, retryable


def _ignored(session: Session) -> Iterator[Sighting]:
    for retry in retries(session.exchanges):
        wait = retry.wait
        if retryable(retry.failed) and wait is not None and retry.early:
            waited = max(0.0, retry.again.at - retry.failed.answered_at)
            yield Sighting(
                f"sent again {_seconds(waited)} after a {retry.failed.status} that asked to wait "
                f"{_seconds(wait)}",
                retry.again,
                (retry.failed,),
            )


def _hurried(session: Session) -> Iterator[Sighting]:
    before: dict[Exchange, Retry] = {}
    told: set[Exchange] = set()
    for retry in retries(session.exchanges):
        if not retryable(retry.failed) or retry.wait is not None or retry.waited >= AT_ONCE:
            if goes_on(retry.again) and retry.failed in before:
                # What a call did well does not undo how it began.
                before[retry.again] = before[retry.failed]
            continue
        before[retry.again] = retry
        first = before.get(retry.failed)
        if first is None:
            continue
        if retry.failed not in told:
            yield Sighting(
                f"sent a third time {_seconds(max(0.0, retry.waited))} after the second, which "
                f"came {_seconds(max(0.0, first.waited))} after a failure",
                retry.again,
                (first.failed, retry.failed),
            )
        told.add(retry.again)


def _useless(session: Session) -> Iterator[Sighting]:
    for retry in retries(session.exchanges):
        if not retryable(retry.failed):
            no = retry.failed.response_headers.get("x-should-retry", "").lower() == "false"
            why = "whose answer says not to" if no else "which the same request gets every time"
            yield Sighting(
                f"sent again after a {retry.failed.status}, {why}", retry.again, (retry.failed,)
            )


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


RETRY_AFTER_IGNORED = Rule(
    "retry-after-ignored",
    "A request was sent again before the time that the answer asked to wait for.",
    "`retry-after-ms` and `Retry-After` (seconds or a date) of a failed answer, from its first "
    "byte to the next try.",
    "An own loop around a call that sleeps half a second after each 429, while the 429 says "
    "`Retry-After: 2`.",
    "error",
    _ignored,
)
NO_BACK_OFF = Rule(
    "no-back-off",
    "A failing request was sent again and again without a pause.",
    "Three tries of one request, of which the second and the third came within "
    f"{AT_ONCE * 1000:.0f} ms of a failure (429, 5xx, a broken answer) that asked for no wait. "
    "Of an SDK that numbers its tries: three calls that followed so on one another.",
    "`while True: try: return ask() except Exception: pass`, also where `ask` is a call of an SDK "
    "that pauses between its own tries.",
    "error",
    _hurried,
)
RETRIED_UNRETRYABLE = Rule(
    "retried-unretryable",
    "A request was sent again that fails every time.",
    "Statuses from 400 to 499 but for 408, 409, 425 and 429, unless the answer has "
    "`x-should-retry: true`; any status with `x-should-retry: false`. What no step answered, and "
    "violated expectations, stand in the verdict by themselves.",
    "`tenacity.retry(stop=stop_after_attempt(3))` around a call whose key is refused with a 401.",
    "error",
    _useless,
)


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
