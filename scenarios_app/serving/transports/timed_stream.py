"""Sends a stream through uvicorn's protocol with the event loop's timers, without a task per
stream."""

import asyncio
import time
from collections.abc import Callable

from scenarios_app.serving.playback import Answer
from scenarios_app.serving.reply import PIECE_BYTES


class TimedStream:
    """Sends one stream. `write` gets each piece and if it is the last; then `end` is called.

    It has the attributes that uvicorn's protocol expects of a request's cycle.
    """

    def __init__(
        self,
        answer: Answer,
        *,
        write: Callable[[bytes, bool], None],
        end: Callable[[], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.response_started = self.response_complete = self.disconnected = False
        self.keep_alive = True
        self.message_event = _NOBODY
        self._answer = answer
        self._player = answer.player()
        self._write, self._end, self._loop = write, end, loop
        self._timer: asyncio.TimerHandle | None = None
        self._blocked = False

    def go_on(self) -> None:
        """Write the due pieces, and set a timer for the rest."""
        self._timer = None
        if self._blocked or self.response_complete:
            return
        now, player = time.monotonic(), self._player
        move = player.next(now)
        if isinstance(move, bytes):
            if not self._send(move):
                return
            # After this many bytes the event loop runs other tasks, even if the client reads fast.
            again = now if len(move) >= PIECE_BYTES else player.again
        elif move is None:
            return
        else:
            again = move
        self._timer = self._loop.call_later(again - now if again > now else 0, self.go_on)

    def block(self) -> None:
        """Stop writing until `unblock`, because the client reads too slowly."""
        self._blocked = True

    def unblock(self) -> None:
        self._blocked = False
        if self._timer is None:
            self.go_on()

    def leave(self) -> None:
        """Stop writing, because the client disconnected."""
        if not self.response_complete:
            self.response_complete = self.disconnected = True
            if self._timer is not None:
                self._timer.cancel()
            self._answer.abort()

    def _send(self, piece: bytes) -> bool:
        """Write a piece; return whether more may be written."""
        self._answer.record_sent(piece)
        if not self._player.over:
            self._write(piece, False)
            self.response_started = True
            return not self._blocked
        self.response_complete = True
        # First the journal: who has an answer may look there at once.
        self._answer.finish(early=not self._player.whole)
        self._write(piece, True)
        self.response_started = True
        self._end()
        return False


# uvicorn sets it for readers of a cycle; this class has none.
_NOBODY = asyncio.Event()
