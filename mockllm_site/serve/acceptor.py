"""Takes connections off a listening socket, and stops where there are as many as there may be.

An event loop takes all that wait, also without a descriptor left for them: those are reset. Here
they go on waiting in the socket's own queue. Only for a process that may open few files.
"""

import asyncio
import socket
from collections.abc import Callable, Sized

AT_ONCE = 16
PAUSE_SECONDS = 0.05


class Acceptor:
    """`open` are the connections that there are; `most` of them may be."""

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        *,
        open: Sized,
        most: int,
    ) -> None:
        self._listening = listening
        self._protocol = protocol
        self._open = open
        self._most = most
        self._loop = asyncio.get_running_loop()
        self._taking: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._listening.setblocking(False)
        self._pause = None
        self._loop.add_reader(self._listening, self._accept)

    def stop(self) -> None:
        """Take no more; those that are being taken still are."""
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._listening)

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            if len(self._open) + len(self._taking) >= self._most:
                return self._wait()
            try:
                connection, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return None
            except OSError:
                # No descriptor left after all.
                return self._wait()
            task = self._loop.create_task(self._take(connection))
            self._taking.add(task)
            task.add_done_callback(self._taking.discard)
        return None

    async def _take(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        try:
            await self._loop.connect_accepted_socket(self._protocol, connection)
        except OSError:
            connection.close()

    def _wait(self) -> None:
        self._loop.remove_reader(self._listening)
        self._pause = self._loop.call_later(PAUSE_SECONDS, self.start)
