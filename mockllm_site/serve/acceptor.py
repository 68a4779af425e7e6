"""Takes connections off a listening socket, as many as the operating system lets this process have.

An event loop takes all that wait, also without a descriptor left for them: those are reset. Here
they go on waiting in the socket's own queue. Only for a process that may open few files."""

import asyncio
import logging
import resource
import socket
from collections.abc import Callable, Sized

log = logging.getLogger(__name__)

# For files, databases, tools, calls to providers, and connections that are told to come again.
RESERVE = 256


def connection_cap(wanted: int) -> int:
    """How many connections to take: as many as are wanted, or fewer where the limit on descriptors
    is too low and may not be raised, which is said."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + RESERVE
    if soft < needed:
        soft = _raised(needed, hard)
    if soft >= needed:
        return wanted
    cap = max(soft - RESERVE, 1)
    log.warning(
        "this process may open %d files, so it takes %d connections at once instead of %d: "
        "raise the limit (ulimit -n %d) or lower MOCKLLM_MAX_CONNECTIONS",
        *(soft, cap, wanted, needed),
    )
    return cap


def _raised(needed: int, hard: int) -> int:
    """The limit after an attempt to raise it: the hard one too, which root may."""
    for top in (max(hard, needed) if hard != resource.RLIM_INFINITY else hard, hard):
        soft = needed if top == resource.RLIM_INFINITY else min(needed, top)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, top))
        except (ValueError, OSError):
            continue
        return soft
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


AT_ONCE = 16
PAUSE_SECONDS = 0.05


class Acceptor:
    """`open` are the connections that there are; `most` of them may be. `at_once` are taken before
    others have their turn."""

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.Protocol],
        *,
        open: Sized,
        most: int,
        at_once: int = AT_ONCE,
    ) -> None:
        self._listening = listening
        self._protocol = protocol
        self._open = open
        self._most = most
        self._at_once = at_once
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
        for _ in range(self._at_once):
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
