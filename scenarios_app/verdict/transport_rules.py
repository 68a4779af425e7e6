"""Client rules on HTTP: retries, waits, and streams that are not read to their end."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from scenarios_app.engine.canonical import Message
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.verdict.retries import (
    MIN_PAUSE_SECONDS,
    MIN_RUN_GAP_SECONDS,
    Retry,
    consecutive_retries,
    find_retries,
    find_undecided_runs,
    is_numbered_retry,
    is_retryable,
    requested_wait,
)
from scenarios_app.verdict.session import JudgedExchange, JudgedSession, Rule, Sighting


def _find_early_retries(retries: Iterable[Retry]) -> Iterator[Sighting]:
    """Yield retries before the time that the failed response asked to wait."""
    for retry in retries:
        wait = requested_wait(retry.failed)
        if is_retryable(retry.failed) and wait is not None and retry.is_early:
            pause = max(0.0, retry.retry.at - retry.failed.answered_at)
            yield Sighting(
                f"sent again {_format_duration(pause)} after a {retry.failed.status} that asked to "
                f"wait {_format_duration(wait)}",
                retry.retry,
                (retry.failed,),
            )


def _find_retries_without_pause(retries: Iterable[Retry]) -> Iterator[Sighting]:
    """Yield sightings of requests whose second and third attempt followed a failure without a
    pause; waits that an answer asked for are not judged."""
    hasty: dict[JudgedExchange, Retry] = {}
    reported: set[JudgedExchange] = set()
    for retry in retries:
        if (
            not is_retryable(retry.failed)
            or requested_wait(retry.failed) is not None
            or retry.pause >= MIN_PAUSE_SECONDS
        ):
            if is_numbered_retry(retry.retry) and retry.failed in hasty:
                # A retry with a pause does not undo a hasty one earlier in the same call.
                hasty[retry.retry] = hasty[retry.failed]
            continue
        hasty[retry.retry] = retry
        first = hasty.get(retry.failed)
        if first is None:
            continue
        if retry.failed not in reported:
            yield Sighting(
                f"sent a third time {_format_duration(max(0.0, retry.pause))} after the second, "
                f"which came {_format_duration(max(0.0, first.pause))} after a failure",
                retry.retry,
                (first.failed, retry.failed),
            )
        reported.add(retry.retry)


def _find_retries_of_permanent_errors(retries: Iterable[Retry]) -> Iterator[Sighting]:
    """Yield retries of errors that the same request gets every time."""
    for retry in retries:
        if not is_retryable(retry.failed):
            header = retry.failed.response_headers.get("x-should-retry", "").lower()
            every_time = "which the same request gets every time"
            reason = "whose answer says not to" if header == "false" else every_time
            message = f"sent again after a {retry.failed.status}, {reason}"
            yield Sighting(message, retry.retry, (retry.failed,))


def _find_undecided_retries(session: JudgedSession) -> Iterator[Sighting]:
    """Yield sightings of runs that break a retry rule if one client sent them."""
    for requests in find_undecided_runs(session.exchanges):
        retries = list(consecutive_retries(requests))
        broken = [
            rule
            for rule, find_sightings in _RETRY_RULES.items()
            # Retries within numbered calls are certain, and judged as such.
            if any(not is_numbered_retry(sighting.exchange) for sighting in find_sightings(retries))
        ]
        if broken:
            came = "came" if not requests[-1].failed else "failed"
            yield Sighting(
                f"{len(requests):,} identical requests {came} one after another within "
                f"{_format_duration(requests[-1].at - requests[0].at)}: {', '.join(broken)} if "
                "one client sent them, not if parallel ones did; give each its own session (API "
                "key) to tell",
                requests[-1],
                (requests[0],),
            )


def _format_duration(seconds: float) -> str:
    """Return a duration such as "50 ms" or "1.5 s"."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


_RETRY_RULES = {
    "retry-after-ignored": _find_early_retries,
    "no-back-off": _find_retries_without_pause,
    "retried-unretryable": _find_retries_of_permanent_errors,
}


def _closed_streams(session: JudgedSession) -> Iterator[JudgedExchange]:
    """Yield faultless streams that the client closed."""
    for exchange in session.exchanges:
        if (
            exchange.outcome == "client_gone"
            and exchange.streamed
            and not exchange.fault
            and exchange.status < 400
        ):
            yield exchange


def _find_closed_streams(session: JudgedSession) -> Iterator[Sighting]:
    """Yield streams that the client closed before their end."""
    for exchange in _closed_streams(session):
        message = f"closed after {exchange.response_bytes:,} bytes, before the end of the stream"
        yield Sighting(message, exchange)


def _find_unread_usage(session: JudgedSession) -> Iterator[Sighting]:
    """Yield closed streams whose request asked for usage."""
    for exchange in _closed_streams(session):
        if _asks_for_usage(exchange.request_body):
            yield Sighting("asked for usage, and closed the stream before it came", exchange)


def _asks_for_usage(body: str) -> bool:
    """Return True if a request's body sets `stream_options.include_usage`."""
    if '"include_usage"' not in body:
        return False
    try:
        match json.loads(body):
            case {"stream_options": {"include_usage": True}}:
                return True
    except (ValueError, RecursionError):
        pass
    return False


_SAYS_CUT = re.compile("cut off|broke off|interrupt|incomplete|truncat", re.IGNORECASE)


def _find_truncated_answers_in_history(session: JudgedSession) -> Iterator[Sighting]:
    """Yield requests whose history holds an incomplete answer as if it were whole."""
    truncated: dict[tuple[Message, ...], JudgedExchange] = {}
    complete: defaultdict[tuple[Message, ...], list[JudgedExchange]] = defaultdict(list)
    for exchange in session.exchanges:
        messages = exchange.request.messages if exchange.request else ()
        for index, message in enumerate(messages if truncated else ()):
            cut = truncated.get(messages[:index]) if message.role == "assistant" else None
            if cut is None or cut.ended_at > exchange.at:
                continue
            if any(_truncated_content(message, whole) for whole in complete[messages[:index]]):
                # A parallel client got the same text as a whole answer.
                continue
            if content := _truncated_content(message, cut):
                del truncated[messages[:index]]
                if any(_SAYS_CUT.search(after.text) for after in messages[index + 1 : index + 2]):
                    continue
                yield Sighting(
                    f"goes on with {content} of an answer that broke off", exchange, (cut,)
                )
        if exchange.broken and messages:
            truncated[messages] = exchange
        elif not exchange.failed:
            # The next turn may continue from this complete response instead.
            truncated.pop(messages, None)
            complete[messages].append(exchange)


def _truncated_content(message: Message, cut: JudgedExchange) -> str:
    """Return which content of a truncated response a message repeats: "" if none."""
    calls = [part for part in message.parts if isinstance(part, ToolCallPart)]
    if any(call.id and call.id in cut.response_body for call in calls):
        return "a tool call"
    text = message.text.strip()
    return "the text" if text and text == cut.text.strip() else ""


RULES = (
    Rule(
        "retry-after-ignored",
        "A request was sent again before the time that the answer asked to wait for.",
        "`retry-after-ms` and `Retry-After` (seconds or a date) of a failed answer, from its first "
        "byte to the next try.",
        "A loop that sleeps half a second after each 429, while the 429 says `Retry-After: 2`.",
        "error",
        lambda session: _find_early_retries(find_retries(session.exchanges)),
    ),
    Rule(
        "no-back-off",
        "A failing request was sent again and again without a pause.",
        "Three tries of one request, of which the second and the third came within "
        f"{MIN_PAUSE_SECONDS * 1000:.0f} ms of a failure (429, 5xx, a broken answer) without a "
        "requested wait. For an SDK that numbers its attempts: three such calls in a row, of which "
        "the last succeeded.",
        "`while True: try: return ask() except Exception: pass`, also around an SDK.",
        "error",
        lambda session: _find_retries_without_pause(find_retries(session.exchanges)),
    ),
    Rule(
        "retried-unretryable",
        "A request was sent again that fails every time.",
        "Statuses from 400 to 499 except 408, 409, 425 and 429, unless the answer has "
        "`x-should-retry: true`; any status with `x-should-retry: false`. Not unmatched requests "
        "and violated expectations.",
        "A loop of a plain HTTP client that also repeats a 401.",
        "error",
        lambda session: _find_retries_of_permanent_errors(find_retries(session.exchanges)),
    ),
    Rule(
        "retries-undecided",
        "Identical requests came from one client in a loop, or from parallel clients.",
        f"Identical requests less than {MIN_RUN_GAP_SECONDS:.0f} s apart, one after another, "
        "that break one of the three rules above if one client sent them. Either none succeeded, "
        "or the last one did while the session had other connections, which only `mockllm serve` "
        "knows.",
        "Three threads send the same request, while the script fails each with a 401.",
        "note",
        _find_undecided_retries,
    ),
    Rule(
        "truncated-taken-as-complete",
        "A client took a broken answer for a complete one.",
        "A later request with the same messages, and the sent part of the broken answer or a tool "
        "call of it as the assistant's message; unless the next message says that it was cut off "
        "or interrupted.",
        "A stream ends without `[DONE]` or `message_stop`, and its half sentence is stored as the "
        "model's answer.",
        "error",
        _find_truncated_answers_in_history,
    ),
    Rule(
        "stream-closed-early",
        "A client closed a stream before its end.",
        "Streams without a fault, whose connection the client closed before the last event was "
        "sent.",
        "`for event in stream: break`, or a proxy that gives up after a second.",
        "warning",
        _find_closed_streams,
    ),
    Rule(
        "usage-unread",
        "A client asked for usage and did not wait for it.",
        "OpenAI's `stream_options.include_usage` in a request whose stream the client closed "
        "early: usage comes last.",
        "A loop that stops at the first `finish_reason`, with `include_usage` switched on.",
        "error",
        _find_unread_usage,
    ),
)
