"""Finds retries: requests that repeat the method, path, query and body of a failed one."""

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from itertools import chain, pairwise
from math import inf
from typing import TypeAlias

from scenarios_app.verdict.session import JudgedExchange

# A repetition later than this is a new request.
MAX_RETRY_SECONDS = 120.0
# Tolerated difference of clocks, in seconds and as a share of the wait.
SLACK_SECONDS, SLACK_SHARE = 0.01, 0.01
# A retry that follows faster had no back-off.
MIN_PAUSE_SECONDS = 0.05
# Calls closer together may come from parallel clients, whose requests a busy machine handles one
# after the other.
MIN_RUN_GAP_SECONDS = 10.0
# Header in which the official SDKs number the attempts of a call, from 0.
ATTEMPT_HEADER = "x-stainless-retry-count"
# Headers that tell clients, or calls of one client, apart.
_CLIENT_HEADERS = ("user-agent", "x-stainless-async", "idempotency-key")
# A loop around calls has at least this number of failed calls in a row.
_MIN_LOOP_FAILURES = 2
_RETRYABLE = frozenset({408, 409, 425, 429, 499})

# Method, path, query, body size and body.
_RequestKey: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...], int, str]


@dataclass(frozen=True, slots=True)
class Retry:
    """A failed request and its retry."""

    failed: JudgedExchange
    retry: JudgedExchange

    @property
    def pause(self) -> float:
        """Seconds from the failure, as early as the client may know of it, to the retry."""
        return self.retry.at - _failure_time(self.failed)

    @property
    def is_early(self) -> bool:
        """True if the retry came before the requested wait was over."""
        return self.retry.at < _retry_time(self.failed)


def find_retries(exchanges: Sequence[JudgedExchange]) -> Iterator[Retry]:
    """Yield all retries in the order of their arrival.

    Clients that number their attempts (SDKs) are trusted: attempt n is paired with an attempt
    n - 1 so that as few retries as possible are early. Their calls are retries of one another
    only if they follow without a pause, as in a loop.

    Requests without numbers may come from several clients. Nothing is reported if they overlap or
    their headers differ, soon after the request has succeeded, or of close ones that are undecided
    (`find_undecided_runs`). If every failure can be paired with a later request that waited long
    enough, that one is taken as its retry.
    """
    retries = [retry for group in _repeat_groups(exchanges) for retry in _find_group_retries(group)]
    yield from sorted(retries, key=lambda retry: retry.retry.at)


def find_undecided_runs(exchanges: Sequence[JudgedExchange]) -> Iterator[list[JudgedExchange]]:
    """Yield runs of identical requests, one after another, of which at most the last succeeded.

    One client may have sent them in a loop, or parallel clients whose requests a server handles
    one after another. A run whose last request succeeded is undecided only if other connections
    were open: a loop uses one connection again or closes it first. Runs whose failures can each be
    paired with a later request that waited are left out.
    """
    for group in _repeat_groups(exchanges):
        unnumbered = [one for one in group if _attempt_number(one) is None]
        for part in filter(_is_undecided, _split_at_gaps(unnumbered)):
            failures = [one for one in part if _failed(one)]
            if len(_pair(failures, unnumbered, _polite_retry_time)) < len(failures):
                yield part
        for series in _looped_calls(group):
            if requests := _undecided_requests(series):
                yield requests


def consecutive_retries(requests: Iterable[JudgedExchange]) -> Iterator[Retry]:
    """Yield the retries of a run as if one client had sent it."""
    return (Retry(one, later) for one, later in pairwise(requests) if _failed(one))


def is_retryable(exchange: JudgedExchange) -> bool:
    """True if a retry of a failed request may succeed, by `x-should-retry` or its status."""
    if (wish := exchange.response_headers.get("x-should-retry", "").lower()) in ("true", "false"):
        return wish == "true"
    status = exchange.status
    return exchange.broken or status in _RETRYABLE or status >= 500


def requested_wait(exchange: JudgedExchange) -> float | None:
    """Return the seconds that a response asks to wait from its first byte, by `retry-after-ms` or
    `retry-after` (seconds or a date). None if neither is valid."""
    headers = exchange.response_headers
    if (milliseconds := _parse_number(headers.get("retry-after-ms", ""))) is not None:
        return milliseconds / 1000
    retry_after = headers.get("retry-after", "")
    if (seconds := _parse_number(retry_after)) is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - exchange.answered_at)
    except (ValueError, OverflowError):
        return None


def _parse_number(text: str) -> float | None:
    """Return a finite number from 0 up, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < inf else None


def _retry_time(failed: JudgedExchange) -> float:
    """Return the Unix time from which a failed request may be retried, less a tolerance."""
    wait = requested_wait(failed) or 0.0
    return failed.answered_at + wait - SLACK_SECONDS - wait * SLACK_SHARE


def _repeat_groups(exchanges: Iterable[JudgedExchange]) -> Iterator[list[JudgedExchange]]:
    """Yield the groups of at least two identical POST requests, of which at least one failed."""
    groups: defaultdict[_RequestKey, list[JudgedExchange]] = defaultdict(list)
    for one in exchanges:
        if one.method == "POST" and one.request_body:
            query = tuple(sorted(one.query.items()))
            key = (one.method, one.path, query, one.request_bytes, one.request_body)
            groups[key].append(one)
    return (group for group in groups.values() if len(group) > 1 and any(map(_failed, group)))


def _failed(one: JudgedExchange) -> bool:
    """True if it failed other than as unmatched or violated, which the verdict lists itself."""
    return one.failed and not one.is_unmatched and not one.violated


def _succeeded(one: JudgedExchange) -> bool:
    """True if it did not fail and the client did not leave."""
    return not one.failed and one.outcome != "client_gone"


def _find_group_retries(group: Sequence[JudgedExchange]) -> Iterator[Retry]:
    """Yield the retries in a group of identical requests, not ordered by time."""
    attempts: defaultdict[int | None, list[JudgedExchange]] = defaultdict(list)
    for one in group:
        attempts[_attempt_number(one)].append(one)
    retry_of: dict[JudgedExchange, JudgedExchange] = {}
    for requests in _decided_requests(attempts.pop(None, ())):
        for run in _separate_runs([[one] for one in requests]):
            run_requests = [one for (one,) in run]
            failures = [one for one in run_requests if _failed(one)]
            pairs = _pair(failures, run_requests, _first_retry_time)
            if len(pairs) < len(failures):
                pairs = _pair(failures, run_requests, _failure_time)
            retry_of |= pairs
    for number, later in attempts.items():
        retry_of |= _pair_fewest_early(attempts.get((number or 0) - 1, ()), later)
    for series in _looped_calls(group):
        if not _undecided_requests(series):
            retry_of |= {call[0]: ended[-1] for ended, call in pairwise(series)}
    for retry, failed in retry_of.items():
        if _failed(failed):
            yield Retry(failed, retry)


def _split_at_gaps(
    requests: Iterable[JudgedExchange], seconds: float = MIN_RUN_GAP_SECONDS
) -> Iterator[list[JudgedExchange]]:
    """Split requests after `seconds` without an open one, but not before a numbered retry."""
    part: list[JudgedExchange] = []
    last_end = -inf
    for one in requests:
        if part and one.at - last_end >= seconds and not is_numbered_retry(one):
            yield part
            part = []
        part.append(one)
        last_end = max(last_end, one.ended_at)
    if part:
        yield part


def _decided_requests(unnumbered: Iterable[JudgedExchange]) -> Iterator[list[JudgedExchange]]:
    """Yield the requests before, between and after parts that parallel clients may have sent."""
    requests: list[JudgedExchange] = []
    for part in _split_at_gaps(unnumbered):
        if _has_several_clients(part) or _is_undecided(part):
            yield requests
            requests = []
        else:
            requests += part
    yield requests


def _is_undecided(part: Sequence[JudgedExchange]) -> bool:
    """Return True if it cannot be known whether one client sent these requests: parallel clients
    may have sent them, though they came one after another."""
    if len(part) < 2 or _has_several_clients(part) or any(map(_succeeded, part[:-1])):
        return False
    return not _succeeded(part[-1]) or any(one.siblings for one in part[1:])


def _undecided_requests(series: Sequence[list[JudgedExchange]]) -> list[JudgedExchange]:
    """Return all requests of a series of calls, or none if one client certainly made the calls."""
    has_siblings = any(call[0].siblings for call in series[1:])
    if _succeeded(series[-1][-1]) and not has_siblings:
        return []
    return list(chain.from_iterable(series))


def _separate_runs(calls: Sequence[list[JudgedExchange]]) -> Iterator[list[list[JudgedExchange]]]:
    """Split calls after each success, since a client stops retrying there. Runs within
    MIN_RUN_GAP_SECONDS of one another are left out."""
    runs: list[list[list[JudgedExchange]]] = [[]]
    for call in calls:
        runs[-1].append(call)
        if not call[-1].failed:
            runs.append([])
    runs = [run for run in runs if run]
    close = {
        index
        for index, (run, next_run) in enumerate(pairwise(runs))
        if next_run[0][0].at - run[-1][-1].ended_at < MIN_RUN_GAP_SECONDS
    }
    for index, run in enumerate(runs):
        if not close & {index - 1, index}:
            yield run


def is_numbered_retry(one: JudgedExchange) -> bool:
    """True if its client numbers it as a second or later attempt of a call."""
    return bool(_attempt_number(one))


def _attempt_number(one: JudgedExchange) -> int | None:
    """Return the number of the attempt in its call, from 0. None without ATTEMPT_HEADER, or if that
    is no number of at most nine digits."""
    number = one.request_headers.get(ATTEMPT_HEADER, "")
    return int(number) if re.fullmatch(r"[0-9]{1,9}", number) else None


def _looped_calls(group: Iterable[JudgedExchange]) -> Iterator[list[list[JudgedExchange]]]:
    """Yield series of numbered calls as a loop makes them. They followed without a pause on at
    least two failed calls with equal numbers of attempts."""
    for part in _split_at_gaps(one for one in group if _attempt_number(one) is not None):
        for run in _separate_runs(_split_into_calls(part)):
            for requests in _split_at_gaps(chain.from_iterable(run), MIN_PAUSE_SECONDS):
                *failing, last = _split_into_calls(requests)
                same_length = len({len(call) for call in failing}) == 1
                all_failed = all(_failed(call[-1]) for call in failing)
                if len(failing) >= _MIN_LOOP_FAILURES and all_failed and same_length:
                    yield [*failing, last]


def _split_into_calls(numbered: Sequence[JudgedExchange]) -> list[list[JudgedExchange]]:
    """Return the calls of one client, each with its attempts. Returns an empty list if the requests
    may come from several clients."""
    if _has_several_clients(numbered):
        return []
    calls: list[list[JudgedExchange]] = []
    for one in numbered:
        if not is_numbered_retry(one):
            calls.append([one])
        elif calls and _attempt_number(one) == len(calls[-1]) and _may_retry(calls[-1][-1]):
            calls[-1].append(one)
        else:
            return []
    return calls


def _has_several_clients(group: Sequence[JudgedExchange]) -> bool:
    """True if requests overlap or come from clients with different headers."""
    clients = {tuple(one.request_headers.get(name) for name in _CLIENT_HEADERS) for one in group}
    return len(clients) > 1 or any(later.at < one.ended_at for one, later in pairwise(group))


def _pair_fewest_early(
    attempts: Sequence[JudgedExchange], later: Sequence[JudgedExchange]
) -> dict[JudgedExchange, JudgedExchange]:
    """Map each later attempt to one that it may retry, so that as few as possible are early.
    Parallel clients must not be blamed for one another's failures."""
    pairs = _pair(attempts, later, _polite_retry_time)
    unpaired = set(attempts).difference(pairs.values())
    early = _pair(
        [one for one in attempts if one in unpaired and _failed(one)],
        [one for one in later if one not in pairs],
        _failure_time,
    )
    return pairs | early


def _may_retry(one: JudgedExchange) -> bool:
    """True if a well-behaved client may retry it: a retryable failure, or the client left."""
    return one.outcome == "client_gone" or (one.failed and is_retryable(one))


def _polite_retry_time(one: JudgedExchange) -> float:
    """Return the time from which a well-behaved client retries; infinite if it never does."""
    if not _may_retry(one):
        return inf
    if not _failed(one):
        # The client may have left and begun the next attempt before this server noticed.
        return one.at
    pause = MIN_PAUSE_SECONDS if requested_wait(one) is None else 0.0
    return max(_retry_time(one), _failure_time(one) + pause)


def _first_retry_time(failed: JudgedExchange) -> float:
    """Return the time when the failure is known and the requested wait is over."""
    return max(_retry_time(failed), _failure_time(failed))


def _failure_time(failed: JudgedExchange) -> float:
    """Return the earliest time at which the client may know that a request failed."""
    return failed.ended_at if failed.broken else failed.answered_at


def _pair(
    failures: Sequence[JudgedExchange],
    later: Iterable[JudgedExchange],
    retry_time: Callable[[JudgedExchange], float],
) -> dict[JudgedExchange, JudgedExchange]:
    """Map later requests to the failure that could be retried first (`retry_time`), each failure
    once, at most MAX_RETRY_SECONDS before. No other choice pairs more of them."""
    waiting = deque(sorted(failures, key=retry_time))
    pairs: dict[JudgedExchange, JudgedExchange] = {}
    for one in later:
        while waiting and one.at - retry_time(waiting[0]) > MAX_RETRY_SECONDS:
            waiting.popleft()
        if waiting and waiting[0] is not one and retry_time(waiting[0]) <= one.at:
            pairs[one] = waiting.popleft()
    return pairs
