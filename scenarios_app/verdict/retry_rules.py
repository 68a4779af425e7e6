"""Rules on how clients send again what has failed."""

from collections.abc import Iterator

from scenarios_app.verdict.session import Exchange, Rule, Session, Sighting
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
