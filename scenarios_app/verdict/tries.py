"""Which request is another one sent again: of the same method, path, query and body."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from itertools import chain, pairwise
from math import inf
from typing import TypeAlias

from scenarios_app.verdict.session import Exchange

# Later than this, in seconds, somebody asks anew.
PATIENCE = 120.0
# A client's clock and ours, in seconds and as a share of the wait.
SLACK, SLACK_SHARE = 0.01, 0.01
# Tries that follow so fast on one another, in seconds, were not held back at all.
AT_ONCE = 0.05
# A busy machine may spread calls that begin together over so many seconds.
SIDE_BY_SIDE = 10.0
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

    A client that numbers the tries of a call is believed. Of several such clients as many as
    possible are taken to have waited; calls that follow at once on one another, as only a loop
    around them makes them, are tries as well. Of clients without numbers several may send the same:
    where two such requests overlap, or the same is asked again soon after it has succeeded, nothing
    is claimed, and as long as each failure has a later request that kept to its wait, that is taken
    for its next try.
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
        for run in _lone_runs([[one] for one in plain]):
            requests = [one for (one,) in run]
            failures = [one for one in requests if _fails(one)]
            found |= _patient(failures, requests) or _paired(failures, requests, _ended)
    numbered: defaultdict[int, list[Exchange]] = defaultdict(list)
    for one in group:
        if (number := _try_of(one)) is not None:
            numbered[number].append(one)
    for number, later in numbered.items():
        found |= _fewest_early(numbered.get(number - 1, ()), later)
    found |= _looped([one for one in group if _try_of(one) is not None])
    for again, failed in found.items():
        if _fails(failed):
            yield Retry(failed, again)


def _lone_runs(calls: Sequence[list[Exchange]]) -> Iterator[list[list[Exchange]]]:
    """The calls, parted after each that succeeded: who tries again stops there. Runs that come
    within SIDE_BY_SIDE of one another are left out: those are several callers, one after the other
    only because the machine was busy."""
    runs: list[list[list[Exchange]]] = [[]]
    for call in calls:
        runs[-1].append(call)
        if not call[-1].failed:
            runs.append([])
    runs = [run for run in runs if run]
    near = {
        place
        for place, (one, later) in enumerate(pairwise(runs))
        if later[0][0].at - one[-1][-1].ended_at < SIDE_BY_SIDE
    }
    for place, run in enumerate(runs):
        if not near & {place - 1, place}:
            yield run


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
    side by side; they are a loop's if it ends with the one that succeeds. The calls of one client
    that failed have the same number of tries."""
    found: dict[Exchange, Exchange] = {}
    for *failing, last in chain.from_iterable(map(_series, _lone_runs(_calls(numbered)))):
        ends = [call[-1] for call in failing]
        known = any(len(call) > 1 for call in failing) or not _fails(last[-1])
        alike = len({len(call) for call in failing}) == 1
        if len(ends) >= _LEAST and all(map(_fails, ends)) and known and alike:
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
        elif calls and _try_of(one) == len(calls[-1]) and _may_go_on(calls[-1][-1]):
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


def _fewest_early(
    before: Sequence[Exchange], later: Sequence[Exchange]
) -> dict[Exchange, Exchange]:
    """To each of the next tries one that it may follow on, so that as few as possible came too
    early: clients side by side must not be blamed for each other's failures."""
    found = _paired(before, later, _well_after)
    failed = set(before).difference(found.values())
    early = _paired(
        [one for one in before if one in failed and _fails(one)],
        [one for one in later if one not in found],
        _ended,
    )
    return found | early


def _may_go_on(one: Exchange) -> bool:
    """Whether a client that does everything right may send it again."""
    return one.outcome == "client_gone" or (one.failed and retryable(one))


def _well_after(one: Exchange) -> float:
    """When a client that does everything right sends its next try; never where that is useless."""
    if not _may_go_on(one):
        return inf
    if not _fails(one):
        # Its client may have left and begun the next try before this server noticed.
        return one.at
    return max(_due(one), one.ended_at + (AT_ONCE if asked_wait(one) is None else 0.0))


def _ended(one: Exchange) -> float:
    return one.ended_at


def _paired(
    failures: Sequence[Exchange], later: Iterable[Exchange], ready: Callable[[Exchange], float]
) -> dict[Exchange, Exchange]:
    """To each request the first failure that was ready for it, each failure once: no other choice
    pairs more of them."""
    ahead = deque(sorted(failures, key=ready))
    found: dict[Exchange, Exchange] = {}
    for one in later:
        while ahead and one.at - ready(ahead[0]) > PATIENCE:
            ahead.popleft()
        if ahead and ahead[0] is not one and ready(ahead[0]) <= one.at:
            found[one] = ahead.popleft()
    return found
