"""Connections to Redis, which run scripts from any thread or event loop without retries; each new
connection checks that Redis has lost no data."""

import asyncio
import hashlib
import logging
import time
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Final
from uuid import uuid4

import redis
import redis.asyncio
from redis.asyncio.retry import Retry as AsyncRetry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError
from redis.retry import Retry

from scenarios_app.cluster.scripts import CHANGED, CHECK, LIBRARY, NAME
from scenarios_app.engine.state import StateUnavailable
from scenarios_app.models import Installation

log = logging.getLogger(__name__)

SECONDS: Final = 10.0
# After a failure, requests fail immediately for this long, so that they do not pile up.
PAUSE_SECONDS: Final = 0.25
CONNECTIONS: Final = 32
AWAY: Final = "What this server shares with others (REDIS_URL) cannot be reached; try again."
LOST: Final = (
    "Redis has lost data of sessions, so consumed steps may answer again: make it persist its data "
    "(appendonly yes)"
)


_SETTINGS: Final[Mapping[str, Any]] = {
    "socket_timeout": SECONDS,
    "socket_connect_timeout": SECONDS,
    "protocol": 2,
}


@cache
def _sha(script: str) -> str:
    """Return the SHA-1 by which Redis knows a script with the library before it."""
    return hashlib.sha1((LIBRARY + script).encode()).hexdigest()


class Connections:
    """One process's connections to one Redis, whose keys begin with `prefix`. `run`, `run_here` and
    `name` raise StateUnavailable if it does not answer. `lost` counts how often Redis returned
    without data that it had."""

    def __init__(self, url: str) -> None:
        self.lost = 0
        # The latest Redis clock value that this process has seen.
        self.moment = 0
        self._url = url
        self._name = b""
        self._away_until = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._async: redis.asyncio.Redis | None = None
        # Waiting requests get a connection in the order of arrival.
        self._free = asyncio.Semaphore(CONNECTIONS)
        # The blocking client, for threads.
        self.here = redis.Redis.from_url(
            url, retry=Retry(NoBackoff(), 0), redis_connect_func=self._on_connect, **_SETTINGS
        )

    @cached_property
    def prefix(self) -> bytes:
        """Return the prefix of all keys of one database, which the first use reads from it."""
        return b"mockllm:{%b}:" % Installation.name().encode()

    @property
    def channel(self) -> bytes:
        """Return the name of the channel for messages between the processes."""
        return self.prefix + b"bus"

    def use_running_loop(self) -> None:
        """Use asynchronous connections on the running event loop from now on. On other event loops,
        which end soon, `run` blocks."""
        self._loop = asyncio.get_running_loop()
        self._free = asyncio.Semaphore(CONNECTIONS)
        pool = redis.asyncio.ConnectionPool.from_url(
            self._url,
            retry=AsyncRetry(NoBackoff(), 0),
            redis_connect_func=self._on_connect_async,
            **_SETTINGS,
        )
        self._async = redis.asyncio.Redis(connection_pool=pool)

    async def release_loop(self) -> None:
        """Close all connections, before the event loop of `use_running_loop` ends."""
        client, self._async, self._loop = self._async, None, None
        if client is not None:
            await client.aclose(close_connection_pool=True)
        self.here.close()

    async def run(self, script: str, *arguments: Any) -> Any:
        """Run a script in Redis and return its result. Raises StateUnavailable."""
        client = self._async
        if client is None or asyncio.get_running_loop() is not self._loop:
            return self.run_here(script, *arguments)
        async with self._free:
            self._require_up()
            try:
                try:
                    return await client.evalsha(_sha(script), 1, self.prefix, *arguments)
                except NoScriptError:
                    return await client.eval(LIBRARY + script, 1, self.prefix, *arguments)
            except (RedisError, OSError) as error:
                # Close idle connections too: they are probably broken as well.
                await client.connection_pool.disconnect(inuse_connections=False)
                raise self._mark_away(error) from error

    def run_here(self, script: str, *arguments: Any) -> Any:
        """Run a script and return its result, blocking this thread. Raises StateUnavailable."""
        self._require_up()
        try:
            try:
                return self.here.evalsha(_sha(script), 1, self.prefix, *arguments)
            except NoScriptError:
                return self.here.eval(LIBRARY + script, 1, self.prefix, *arguments)
        except (RedisError, OSError) as error:
            self.here.connection_pool.disconnect(inuse_connections=False)
            raise self._mark_away(error) from error

    def announce_change(self) -> None:
        """Increase the number of the latest catalog change, and send it to every process. A failure
        is only logged."""
        try:
            self.run_here(CHANGED, self.channel)
        except StateUnavailable:
            log.warning("other processes were not notified of a change; they poll for it")

    def name(self, name_in_rows: str = "") -> str:
        """Return an id of this Redis and key prefix: the one that Redis has, or `name_in_rows`,
        by which the other processes of the database know theirs, if they listen on this one."""
        if not self._name:
            self._name = self.run_here(NAME, uuid4().hex, name_in_rows, self.channel)
        return self._name.decode()

    def problem(self) -> str | None:
        """Write a probe key, blocking; return the error's class name after logging it, or None."""
        try:
            self.here.set(self.prefix + b"probe", b"1")
        except (RedisError, OSError) as error:
            log.warning("Redis does not answer (%s)", error)
            return type(error).__name__
        return None

    def _require_up(self) -> None:
        """Raise StateUnavailable during the pause after a failure."""
        if time.monotonic() < self._away_until:
            raise StateUnavailable(AWAY)

    def _mark_away(self, error: Exception) -> StateUnavailable:
        """Let commands fail without a try for PAUSE_SECONDS; return the error that they raise."""
        if time.monotonic() >= self._away_until:
            log.error("Redis does not answer (%s: %s)", type(error).__name__, error)
        self._away_until = time.monotonic() + PAUSE_SECONDS
        return StateUnavailable(AWAY)

    def _check_command(self) -> Sequence[Any]:
        """Return the Redis command that asks if the state is whole."""
        now = int(time.time() * 1_000_000)
        return ("EVAL", LIBRARY + CHECK, 1, self.prefix, now, self.moment, self._name)

    def _check_answer(self, whole: Any) -> None:
        """Count and log a loss if Redis has lost the state since the last check."""
        if not whole:
            self.lost += 1
            self.moment = 0
            log.error(LOST)

    def _on_connect(self, connection: Any) -> None:
        """Connect, and count a loss if Redis has not all the data that it had."""
        connection.on_connect()
        if "prefix" in vars(self):
            connection.send_command(*self._check_command())
            self._check_answer(connection.read_response())

    async def _on_connect_async(self, connection: Any) -> None:
        """Check the state on each new connection of an event loop."""
        await connection.on_connect()
        if "prefix" in vars(self):
            await connection.send_command(*self._check_command())
            self._check_answer(await connection.read_response())
