"""Comparisons: two answers to one message under blind labels, in one stream, and a vote on them."""

import asyncio
import random
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chat_app.conversations import find_row
from chat_app.errors import CONFLICT, ChatError
from chat_app.loop import run_on_loop
from chat_app.models import ABComparison, Preference
from chat_app.ranking import ProfileRank, Vote, rank_profiles
from chat_app.runs.accept import AcceptedMessage, IncomingMessage, accept_message
from chat_app.runs.registry import accepting_registry
from mockllm_site.kit.database_thread import in_database
from traces_app.follow import follow
from traces_app.leases import end_dead_runs
from traces_app.log import LoggedEvent
from traces_app.models import Status, Trace

T = TypeVar("T")

BRANCHES = ("a", "b")
_SEEDS = 2**53
_TRACES = ("trace_a", "trace_b")


@dataclass(frozen=True, slots=True)
class StoredPair:
    """A stored comparison; the runs of `accepted` are those of branches `a` and `b`."""

    comparison_id: UUID
    accepted: AcceptedMessage

    async def events(self) -> AsyncGenerator[LoggedEvent, None]:
        """Yield the events of both runs as they come, each with its `branch`. The last one, without
        a branch, ends the comparison. They are numbered together, from 1."""
        queue: asyncio.Queue[LoggedEvent | Exception | None] = asyncio.Queue()
        pumps = [
            asyncio.create_task(_forward_events(trace_id, branch, queue))
            for branch, trace_id in zip(BRANCHES, self.accepted.trace_ids, strict=True)
        ]
        try:
            number, unfinished = 0, len(pumps)
            while unfinished:
                match await queue.get():
                    case None:
                        unfinished -= 1
                    case Exception() as error:
                        raise error
                    case event:
                        number += 1
                        yield replace(event, seq=number)
            yield await in_database(partial(self._end_event, number + 1))
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    def _end_event(self, number: int) -> LoggedEvent:
        """Return the event that ends a pair, with the ids of both answers. The id of an answer that
        is not stored, or deleted, is None."""
        traces = Trace.objects.filter(pk__in=self.accepted.trace_ids)
        answer_ids = dict(traces.values_list("branch", "message"))
        payload: dict[str, Any] = {
            "conversation_id": str(self.accepted.conversation_id),
            "comparison_id": str(self.comparison_id),
        }
        for branch in BRANCHES:
            answer_id = answer_ids.get(branch)
            payload[f"message_id_{branch}"] = answer_id and str(answer_id)
        return LoggedEvent(number, "done", payload, timezone.now())


def assign_branches(first: T, second: T, *, seed: int) -> dict[str, T]:
    """Return the two by branch; only the seed decides which of them is `a`."""
    drawn = [first, second]
    random.Random(seed).shuffle(drawn)
    return dict(zip(BRANCHES, drawn, strict=True))


def store_pair(incoming: IncomingMessage, *, seed: int | None = None) -> StoredPair:
    """Store a message, its two runs and their comparison in one transaction; starts no run. Only
    the seed decides which of the two profiles is `a`. Return the stored comparison of a message
    that was sent before. Raises ChatError."""
    seed = secrets.randbelow(_SEEDS) if seed is None else seed
    drawn = assign_branches(*BRANCHES, seed=seed)
    accepted_message = accept_message(
        replace(
            incoming,
            profiles={branch: incoming.profiles[key] for branch, key in drawn.items()},
            profile_keys={branch: f"profile_{key}" for branch, key in drawn.items()},
        ),
        store_more=lambda accepted: _store_comparison(accepted, seed),
    )
    comparison = ABComparison.objects.only("pk").get(user_message=accepted_message.user_message_id)
    return StoredPair(comparison.pk, accepted_message)


def vote(client_id: str, comparison_id: Any, preference: str) -> ABComparison:
    """Store a client's preference; the same one again changes nothing. Raises CONFLICT for another
    one, and for a vote on a failed or running answer."""
    comparison = comparison_of(client_id, comparison_id)
    with transaction.atomic():
        comparison = comparison_of(client_id, comparison.pk, lock=True)
        if comparison.preference == preference:
            return comparison
        if comparison.preference:
            raise ChatError(CONFLICT, "This comparison has been voted on", field="preference")
        chosen = BRANCHES if preference == Preference.TIE else (preference,)
        for branch in BRANCHES:
            status = _trace_column(comparison, branch, "status")
            if status == Status.RUNNING:
                raise ChatError(CONFLICT, "Its answers are not complete yet", field="comparison_id")
            if branch in chosen and status != Status.COMPLETED:
                problem = f"Answer {branch} did not succeed: it cannot be preferred"
                raise ChatError(CONFLICT, problem, field="preference")
        comparison.preference = preference
        comparison.preference_at = timezone.now()
        comparison.save(update_fields=["preference", "preference_at"])
        return comparison


def comparison_of(client_id: str | None, comparison_id: Any, *, lock: bool = False) -> ABComparison:
    """Return a client's comparison, or anyone's for None; raises NOT_FOUND. Without `lock`, dead
    runs of the comparison are ended first; with it, the row is locked in the open transaction."""
    rows = ABComparison.objects.select_related(*_TRACES)
    if lock:
        rows = rows.select_for_update(of=("self",), no_key=True)
    if client_id is not None:
        rows = rows.filter(conversation__client_id=client_id)
    comparison = find_row(rows, comparison_id, name="comparison")
    if not lock and end_dead_runs(Trace.objects.filter(user_message=comparison.user_message_id)):
        return find_row(rows, comparison_id, name="comparison")
    return comparison


def pending_of(client_id: str) -> QuerySet[ABComparison]:
    """Return a client's comparisons of two complete answers without a vote, the latest first."""
    return ABComparison.objects.filter(
        conversation__client_id=client_id,
        preference="",
        trace_a__status=Status.COMPLETED,
        trace_b__status=Status.COMPLETED,
    ).select_related(*_TRACES)


def leaderboard() -> list[ProfileRank]:
    """Rank all profiles with votes, the best first, without excluded comparisons."""
    counted = ABComparison.objects.filter(excluded=False).exclude(preference="")
    votes = counted.values_list("preference", "profile_a_name", "profile_b_name")
    return rank_profiles(_to_vote(*row) for row in votes)


def comparison_record(comparison: ABComparison) -> dict[str, Any]:
    """Return the API's record of a comparison; `profiles` is null before the vote."""
    return {
        "comparison_id": comparison.pk,
        "conversation_id": comparison.conversation_id,
        "user_message_id": comparison.user_message_id,
        "preference": comparison.preference or None,
        "created_at": comparison.created_at,
        "preference_at": comparison.preference_at,
        "edited_at": comparison.edited_at,
        **{f"trace_id_{branch}": getattr(comparison, f"trace_{branch}_id") for branch in BRANCHES},
        **{
            f"message_id_{branch}": _trace_column(comparison, branch, "message_id")
            for branch in BRANCHES
        },
        **{f"status_{branch}": _trace_column(comparison, branch, "status") for branch in BRANCHES},
        "profiles": profile_names(comparison) if comparison.preference else None,
    }


def profile_names(comparison: ABComparison) -> Mapping[str, str]:
    """Return the names of the profiles by branch, also before the vote."""
    return {branch: getattr(comparison, f"profile_{branch}_name") for branch in BRANCHES}


def _store_comparison(accepted: AcceptedMessage, seed: int) -> None:
    """Store the comparison of the two runs of a message."""
    a, b = accepted.runs
    ABComparison.objects.create(
        conversation_id=accepted.conversation_id,
        user_message_id=accepted.user_message_id,
        seed=seed,
        profile_a_id=a.profile.pk,
        profile_b_id=b.profile.pk,
        profile_a_name=a.profile.name,
        profile_b_name=b.profile.name,
        trace_a=a.trace,
        trace_b=b.trace,
    )


def _trace_column(comparison: ABComparison, branch: str, column: str) -> Any:
    """Return a column of the trace of a branch, or None if the trace is deleted."""
    return getattr(getattr(comparison, f"trace_{branch}"), column, None)


def _to_vote(preference: str, a: str, b: str) -> Vote:
    """Return a preference for branch a or b as a vote between the profiles `a` and `b`."""
    if preference == Preference.B:
        return Vote(b, a)
    return Vote(a, b, tie=preference == Preference.TIE)


async def start_pair(incoming: IncomingMessage, *, seed: int | None = None) -> StoredPair:
    """Store a message like `store_pair` and start both answers, unless it was sent before. Raises
    ChatError, or an error of the database, if nothing was stored."""

    async def store_and_start() -> StoredPair:
        registry = accepting_registry()
        with registry.gate.hold():
            pair = await in_database(partial(store_pair, incoming, seed=seed))
        for opened in pair.accepted.runs:
            registry.start(opened)
        return pair

    return await run_on_loop(store_and_start())


async def _forward_events(
    trace_id: UUID, branch: str, queue: "asyncio.Queue[LoggedEvent | Exception | None]"
) -> None:
    """Put one run's events into the queue, marked with its branch; None ends it, an error too."""
    try:
        async with aclosing(follow(trace_id)) as events:
            async for event in events:
                await queue.put(replace(event, payload={**event.payload, "branch": branch}))
    except Exception as error:
        await queue.put(error)
    else:
        await queue.put(None)
