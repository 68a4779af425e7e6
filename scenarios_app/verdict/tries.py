"""Which request is another one sent again: of the same method, path, query and body."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import TypeAlias

from scenarios_app.verdict.session import Exchange

# Later than this, in seconds, somebody asks anew.
PATIENCE = 120.0
# A client's clock and ours, in seconds and as a share of the wait.
SLACK, SLACK_SHARE = 0.01, 0.01
# Tries that follow so fast on one another, in seconds, were not held back at all.
AT_ONCE = 0.05
# How the official SDKs number the tries of a call, from 0.
COUNT = "x-stainless-retry-count"
# By these the SDKs tell apart who they are, and whether they are asynchronous.
_CALLER = ("user-agent", "x-stainless-async")
# So often a call followed at once on one that failed, if a loop is around them.
_LEAST = 2
_RETRYABLE = frozenset({408, 409, 425, 429, 499})
_SERVERS_OWN = 500

_Asked: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...], int, str]


@dataclass(frozen=True, slots=True)
class Retry:
    """A request that was sent again after it had failed."""

    failed: Exchange
    again: Exchange

    @property
    def waited(self) -> float:
        """Seconds from the end of the failed answer to the next try."""
        return self.again.at - self.failed.ended_at

    @property
    def wait(self) -> float | None:
        """Seconds that the failed answer asked to wait, from its first byte on."""
        return asked_wait(self.failed)

    @property
    def early(self) -> bool:
        """Whether it came before the time that it was asked to wait for."""
        return self.again.at < _due(self.failed)


def retries(exchanges: Sequence[Exchange]) -> Iterator[Retry]:
    """Every request that was sent again, in the order in which they came.

    A client that numbers the tries of a call is believed; calls that follow at once on one another,
    as only a loop around them makes them, are tries as well. Of others several may send the same at
    once: where two such requests overlap nothing is claimed, and as long as each failure has a
    later request that kept to its wait, that is taken for its next try.
    """
    found = [retry for group in _groups(exchanges) for retry in _retries(group)]
    yield from sorted(found, key=lambda retry: retry.again.at)


def retryable(exchange: Exchange) -> bool:
    """Whether it may help to send a failed request again."""
    match exchange.response_headers.get("x-should-retry", "").lower():
        case "true":
            return True
        case "false":
            return False
        case _:
            status = exchange.status
            return exchange.broken or status in _RETRYABLE or status >= _SERVERS_OWN


def asked_wait(exchange: Exchange) -> float | None:
    """Seconds that an answer asks to wait (`Retry-After`, or OpenAI's `retry-after-ms`); None where
    it does not."""
    headers = exchange.response_headers
    if (milliseconds := _number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    given = headers.get("retry-after", "")
    if not given or (seconds := _number(given)) is not None:
        return seconds if given else None
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - exchange.answered_at)
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _due(failed: Exchange) -> float:
    """When a failed request may be sent again."""
    wait = asked_wait(failed) or 0.0
    return failed.answered_at + wait - SLACK - wait * SLACK_SHARE


def _groups(exchanges: Iterable[Exchange]) -> Iterator[list[Exchange]]:
    """Requests that are the same, of those of which one failed for a reason that is not told of
    elsewhere."""
    groups: defaultdict[_Asked, list[Exchange]] = defaultdict(list)
    for one in exchanges:
        if one.method == "POST" and one.request_body:
            asked = tuple(sorted(one.query.items()))
            key = (one.method, one.path, asked, one.request_bytes, one.request_body)
            groups[key].append(one)
    return (group for group in groups.values() if len(group) > 1 and any(map(_fails, group)))


def _fails(one: Exchange) -> bool:
    return one.failed and not one.unmatched and not one.violated


def _retries(group: Sequence[Exchange]) -> Iterator[Retry]:
    plain = [one for one in group if _try_of(one) is None]
    found: dict[Exchange, Exchange] = {}
    if not _overlap(plain):
        failures = [one for one in plain if _fails(one)]
        found = _patient(failures, plain) or _in_a_row(failures, plain)
    numbered: defaultdict[int, list[Exchange]] = defaultdict(list)
    for one in group:
        if (number := _try_of(one)) is not None:
            numbered[number].append(one)
    for number, later in numbered.items():
        found |= _in_a_row([one for one in numbered.get(number - 1, ()) if _fails(one)], later)
    found |= _looped([one for one in group if _try_of(one) is not None])
    for again, failed in found.items():
        yield Retry(failed, again)


def goes_on(one: Exchange) -> bool:
    """Whether it is, as its client says, a later try of a call that has begun."""
    return bool(_try_of(one))


def _try_of(one: Exchange) -> int | None:
    """Which of its call's tries it is, from 0, as its client says."""
    said = one.request_headers.get(COUNT, "")
    return int(said) if said.isascii() and said.isdecimal() else None


def _looped(numbered: Sequence[Exchange]) -> dict[Exchange, Exchange]:
    """To the first try of a call the failed call's last on which it followed at once, where a loop
    must be around them: it happened twice in a row. Calls of one try each several clients may make
    side by side; they are a loop's if it ends with the one that succeeds."""
    found: dict[Exchange, Exchange] = {}
    for *failing, last in _series(_calls(numbered)):
        ends = [call[-1] for call in failing]
        known = any(len(call) > 1 for call in failing) or not _fails(last[-1])
        if len(ends) >= _LEAST and all(map(_fails, ends)) and known:
            firsts = [call[0] for call in (*failing[1:], last)]
            found |= dict(zip(firsts, ends, strict=True))
    return found


def _series(calls: Iterable[list[Exchange]]) -> Iterator[list[list[Exchange]]]:
    """The calls, parted where one does not follow at once on the one before it."""
    series: list[list[Exchange]] = []
    for call in calls:
        if series and call[0].at - series[-1][-1].ended_at >= AT_ONCE:
            yield series
            series = []
        series.append(call)
    if series:
        yield series


def _calls(numbered: Sequence[Exchange]) -> list[list[Exchange]]:
    """The calls of one client, each with its tries; none where there may be several clients."""
    callers = {tuple(one.request_headers.get(name) for name in _CALLER) for one in numbered}
    if len(callers) > 1 or _overlap(numbered):
        return []
    calls: list[list[Exchange]] = []
    for one in numbered:
        if not goes_on(one):
            calls.append([one])
        elif calls and _try_of(one) == len(calls[-1]):
            calls[-1].append(one)
        else:
            return []
    return calls


def _overlap(group: Sequence[Exchange]) -> bool:
    return any(later.at < one.ended_at for one, later in pairwise(group))


def _patient(failures: Sequence[Exchange], later: Iterable[Exchange]) -> dict[Exchange, Exchange]:
    """The failure that each request may be a next try of, if each failure has one that kept to its
    wait; else nothing."""
    found = _paired(failures, later, lambda failed: max(_due(failed), failed.ended_at))
    return found if len(found) == len(failures) else {}


def _in_a_row(failures: Sequence[Exchange], later: Iterable[Exchange]) -> dict[Exchange, Exchange]:
    """The same where they are the tries of one client, one after the other."""
    return _paired(failures, later, lambda failed: failed.ended_at)


def _paired(
    failures: Sequence[Exchange], later: Iterable[Exchange], ready: Callable[[Exchange], float]
) -> dict[Exchange, Exchange]:
    """To each request the last failure that was ready for it, each failure once."""
    ahead = deque(sorted(failures, key=ready))
    waiting: list[Exchange] = []
    found: dict[Exchange, Exchange] = {}
    for one in later:
        while ahead and ahead[0] is not one and ready(ahead[0]) <= one.at:
            waiting.append(ahead.popleft())
        if waiting and one.at - ready(waiting[-1]) <= PATIENCE:
            found[one] = waiting.pop()
    return found
