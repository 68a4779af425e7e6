"""Collects answers of the short path for a moment before they are counted."""

import asyncio
from collections.abc import Callable, Sequence
from threading import RLock

from scenarios_app.journal import BATCH_ROWS, BATCH_SECONDS, journal
from scenarios_app.serving.fast.short_path import PlainAnswer


class RecentAnswers:
    """Answers of the short path that are neither counted nor journalled yet. `hand_over` gets them
    in batches: BATCH_SECONDS after the first, at BATCH_ROWS, and before anything is read."""

    def __init__(self, hand_over: Callable[[Sequence[PlainAnswer]], None]) -> None:
        self._hand_over = hand_over
        self._answers: list[PlainAnswer] = []
        # Reentrant: an answer that was never sent is recorded when it is garbage-collected.
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._answers)

    def add(self, answer: PlainAnswer) -> None:
        """Add an answer to the batch."""
        self._answers.append(answer)
        waiting = len(self._answers)
        if waiting >= BATCH_ROWS:
            self._end_batch()
        elif waiting == 1:
            asyncio.get_running_loop().call_later(BATCH_SECONDS, self._end_batch)

    def hand_over_records(self) -> None:
        """Hand over all answers so far."""
        # Locked until all are counted, so that no other reader misses some.
        with self._lock:
            batch = self._answers[:]
            del self._answers[: len(batch)]
            if batch:
                self._hand_over(batch)

    def _end_batch(self) -> None:
        """Hand over the batch, and let the journal write it soon: it was collected over a moment
        already."""
        self.hand_over_records()
        journal.write_soon()
