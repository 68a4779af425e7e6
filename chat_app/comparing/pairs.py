"""Two runs on one message, told as one stream: each event says which of the two it is of."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

from django.utils import timezone

from chat_app.comparing.comparisons import BRANCHES, Pair, comparison_of, open_pair
from chat_app.loop import on_loop
from chat_app.models import ModelProfile
from chat_app.runs.begin import Sending
from chat_app.runs.registry import open_runs
from mockllm_site.kit.database_thread import in_database
from traces_app.follow import follow
from traces_app.log import LoggedEvent


@dataclass(frozen=True, slots=True)
class PairHandle:
    """A comparison whose two runs go on, whoever follows them; `trace_ids` are those of a and b."""

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
    profiles: tuple[ModelProfile | None, ModelProfile | None],
    seed: int | None = None,
) -> PairHandle:
    """Store a message and have two profiles answer it at once. Raises ChatError, and nothing is
    stored then."""
    return await on_loop(_start(partial(open_pair, sending, profiles=profiles, seed=seed)))


async def _start(opening: "partial[Pair]") -> PairHandle:
    runs = open_runs()
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
