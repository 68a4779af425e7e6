"""Comparisons: two answers to one message under blind labels, told as one stream, and one vote on
them."""

import asyncio
import random
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from chat_app.conversations import as_uuid
from chat_app.errors import CONFLICT, NOT_FOUND, ChatError
from chat_app.loop import on_loop
from chat_app.models import ABComparison, ModelProfile, Preference
from chat_app.profiles import Named
from chat_app.ranking import Rank, Vote, rank
from chat_app.runs.begin import Begun, Sending, begin
from chat_app.runs.registry import open_runs
from mockllm_site.kit.database_thread import in_database
from traces_app.follow import follow
from traces_app.log import LoggedEvent
from traces_app.models import Status, Trace

BRANCHES = ("a", "b")
_SEEDS = 2**53
_TRACES = ("trace_a", "trace_b")
Profile: TypeAlias = ModelProfile | Named | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A comparison that has begun: its runs are stored, to be started by the caller."""

    comparison_id: Any
    begun: Begun


def draw(first: Profile, second: Profile, seed: int) -> dict[str, Profile]:
    """Which of two profiles is called `a`: the seed decides, and nothing else."""
    drawn = [first, second]
    random.Random(seed).shuffle(drawn)
    return dict(zip(BRANCHES, drawn, strict=True))


def open_pair(
    sending: Sending,
    *,
    profiles: tuple[Profile, Profile],
    seed: int | None = None,
) -> Pair:
    """Store a message, two runs that are to answer it, and their comparison, all or nothing.

    Raises ChatError. A message that was sent before gives the comparison that it got then.
    """
    seed = secrets.randbelow(_SEEDS) if seed is None else seed
    drawn = draw(*profiles, seed)
    found = begin(
        Sending(
            sending.conversation_id,
            sending.text,
            drawn,
            client_id=sending.client_id,
            client_message_id=sending.client_message_id,
        ),
        also=lambda begun: _store(begun, seed),
    )
    comparison = ABComparison.objects.only("pk").get(user_message=found.user_message_id)
    return Pair(comparison.pk, found)


def vote(client_id: str, comparison_id: Any, preference: str) -> ABComparison:
    """Keep a client's preference. The same one again changes nothing; another one, or a vote on
    an answer that failed or is still coming, is a CONFLICT."""
    with transaction.atomic():
        comparison = comparison_of(client_id, comparison_id, lock=True)
        if comparison.preference == preference:
            return comparison
        if comparison.preference:
            raise ChatError(CONFLICT, "This comparison has been voted on", field="preference")
        chosen = BRANCHES if preference == Preference.TIE else (preference,)
        for branch in BRANCHES:
            status = _status(comparison, branch)
            if status == Status.RUNNING:
                raise ChatError(CONFLICT, "Its answers are not complete yet", field="comparison_id")
            if branch in chosen and status != Status.COMPLETED:
                raise ChatError(
                    CONFLICT,
                    f"Answer {branch} did not succeed: it cannot be preferred",
                    field="preference",
                )
        comparison.preference = preference
        comparison.preference_at = timezone.now()
        comparison.save(update_fields=["preference", "preference_at"])
        return comparison


def comparison_of(client_id: str | None, comparison_id: Any, *, lock: bool = False) -> ABComparison:
    """A client's comparison, or anyone's for None; raises NOT_FOUND for an id of none."""
    key = as_uuid(comparison_id)
    rows = ABComparison.objects.select_related(*_TRACES)
    if lock:
        rows = rows.select_for_update(of=("self",), no_key=True)
    if client_id is not None:
        rows = rows.filter(conversation__client_id=client_id)
    found = key and rows.filter(pk=key).first()
    if not found:
        raise ChatError(NOT_FOUND, "Comparison not found", field="comparison_id")
    return found


def pending_of(client_id: str) -> QuerySet[ABComparison]:
    """A client's comparisons that can still be voted on, the latest first."""
    return ABComparison.objects.filter(
        conversation__client_id=client_id,
        preference="",
        trace_a__status=Status.COMPLETED,
        trace_b__status=Status.COMPLETED,
    ).select_related(*_TRACES)


def leaderboard() -> list[Rank]:
    """Every profile that was voted on, the best first. What staff exclude does not count."""
    counted = ABComparison.objects.filter(excluded=False).exclude(preference="")
    votes = counted.values_list("preference", "profile_a_name", "profile_b_name")
    return rank(_vote(*row) for row in votes)


def record(comparison: ABComparison) -> dict[str, Any]:
    """A comparison as the API tells it: who answered is told after the vote."""
    voted = bool(comparison.preference)
    return {
        "comparison_id": comparison.pk,
        "conversation_id": comparison.conversation_id,
        "user_message_id": comparison.user_message_id,
        "preference": comparison.preference or None,
        "created_at": comparison.created_at,
        "preference_at": comparison.preference_at,
        **{f"trace_id_{branch}": getattr(comparison, f"trace_{branch}_id") for branch in BRANCHES},
        **{f"message_id_{branch}": _message_id(comparison, branch) for branch in BRANCHES},
        **{f"status_{branch}": _status(comparison, branch) for branch in BRANCHES},
        "profiles": profiles(comparison) if voted else None,
    }


def profiles(comparison: ABComparison) -> Mapping[str, str]:
    """Who was who."""
    return {branch: getattr(comparison, f"profile_{branch}_name") for branch in BRANCHES}


def _store(begun: Begun, seed: int) -> None:
    a, b = begun.runs
    ABComparison.objects.create(
        conversation_id=begun.conversation_id,
        user_message_id=begun.user_message_id,
        seed=seed,
        profile_a_id=a.profile.pk,
        profile_b_id=b.profile.pk,
        profile_a_name=a.profile.name,
        profile_b_name=b.profile.name,
        trace_a_id=a.trace_id,
        trace_b_id=b.trace_id,
    )


def _trace(comparison: ABComparison, branch: str) -> Trace | None:
    trace: Trace | None = getattr(comparison, f"trace_{branch}")
    return trace


def _status(comparison: ABComparison, branch: str) -> str | None:
    trace = _trace(comparison, branch)
    return None if trace is None else trace.status


def _message_id(comparison: ABComparison, branch: str) -> Any:
    trace = _trace(comparison, branch)
    return None if trace is None else trace.message_id


def _vote(preference: str, a: str, b: str) -> Vote:
    if preference == Preference.B:
        return Vote(b, a)
    return Vote(a, b, tie=preference == Preference.TIE)


@dataclass(frozen=True, slots=True)
class PairHandle:
    """A comparison whose two runs go on, followed or not; `trace_ids` are those of a and b."""

    comparison_id: UUID
    conversation_id: UUID
    trace_ids: tuple[UUID, ...]

    async def events(self) -> AsyncGenerator[LoggedEvent, None]:
        """The events of both as they come, each with its `branch`; the last, of no branch, is the
        end of the comparison. They are numbered through, from 1."""
        waiting: asyncio.Queue[LoggedEvent | Exception | None] = asyncio.Queue()
        pumps = [
            asyncio.create_task(_pump(trace_id, branch, waiting))
            for branch, trace_id in zip(BRANCHES, self.trace_ids, strict=True)
        ]
        try:
            number, going = 0, len(pumps)
            while going:
                match await waiting.get():
                    case None:
                        going -= 1
                    case Exception() as error:
                        raise error
                    case event:
                        number += 1
                        yield replace(event, seq=number)
            yield await in_database(partial(self._end, number + 1))
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    def _end(self, number: int) -> LoggedEvent:
        comparison = comparison_of(None, self.comparison_id)
        answers = {
            f"message_id_{branch}": trace and trace.message_id and str(trace.message_id)
            for branch, trace in zip(
                BRANCHES, (comparison.trace_a, comparison.trace_b), strict=True
            )
        }
        payload = {
            "conversation_id": str(self.conversation_id),
            "comparison_id": str(self.comparison_id),
            **answers,
        }
        return LoggedEvent(number, "done", payload, timezone.now())


async def start_pair(
    sending: Sending,
    *,
    profiles: tuple[Profile, Profile],
    seed: int | None = None,
) -> PairHandle:
    """Store a message and have two profiles answer it at once. Raises ChatError, and nothing is
    stored then."""
    return await on_loop(_start(partial(open_pair, sending, profiles=profiles, seed=seed)))


async def _start(opening: "partial[Pair]") -> PairHandle:
    runs = open_runs()
    with runs.gate.shut():
        pair = await in_database(opening)
    for opened in pair.begun.runs:
        runs.start(opened)
    return PairHandle(pair.comparison_id, pair.begun.conversation_id, pair.begun.trace_ids)


async def _pump(
    trace_id: UUID, branch: str, waiting: "asyncio.Queue[LoggedEvent | Exception | None]"
) -> None:
    try:
        async with aclosing(follow(trace_id)) as events:
            async for event in events:
                payload = {**event.payload, "branch": branch}
                await waiting.put(LoggedEvent(event.seq, event.type, payload, event.at))
    except Exception as error:
        await waiting.put(error)
    else:
        await waiting.put(None)
