"""A Redis for tests: the machine's, with keys of each test's own, or one that a test starts, kills
and starts again."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from uuid import uuid4

import redis

from scenarios_app.shared.connections import Connections
from scenarios_app.shared.state import RedisState
from tests.services import require

URL = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/0")
UP_SECONDS = 30.0


def machine() -> str:
    """The address of the machine's Redis, which the test needs."""
    try:
        with redis.Redis.from_url(URL) as client:
            client.ping()
    except redis.RedisError:
        require(False, f"there is no Redis at {URL}")
    return URL


def fresh_state(most: int = 100_000, *, url: str | None = None) -> RedisState:
    """A store of which nobody else has the keys."""
    connections = Connections(url or machine())
    connections.prefix = b"mockllm-test-%b:" % uuid4().hex.encode()
    return RedisState(connections, most)


def same_state(state: RedisState) -> RedisState:
    """What another process has of the same."""
    other = Connections(state._connections._url)
    other.prefix = state._connections.prefix
    return RedisState(other, state.most)


def keys(state: RedisState) -> list[bytes]:
    """Everything that the store has in Redis."""
    here = state._connections
    return sorted(here.here().scan_iter(match=here.prefix + b"*", count=1_000))


def forget(state: RedisState) -> None:
    for key in keys(state):
        state._connections.here().delete(key)


class Own:
    """A Redis of the test's own, in a folder of its own. `writes_down`: it keeps what it was told
    when it is killed."""

    def __init__(self, folder: Path, *, writes_down: bool = True) -> None:
        require(shutil.which("redis-server") is not None, "there is no redis-server")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._arguments = [
            *("redis-server", "--port", str(self.port), "--bind", "127.0.0.1"),
            *("--dir", str(folder), "--save", "", "--daemonize", "no"),
            *("--appendonly", "yes" if writes_down else "no"),
        ]
        self.process = self.start()

    def start(self) -> "subprocess.Popen[bytes]":
        """Start it, also once more, and wait until it answers."""
        self.process = subprocess.Popen(self._arguments, stdout=subprocess.DEVNULL)
        until = time.monotonic() + UP_SECONDS
        with redis.Redis.from_url(self.url) as client:
            while True:
                try:
                    client.ping()
                except redis.RedisError:
                    assert time.monotonic() < until, "redis-server does not answer"
                    time.sleep(0.02)
                else:
                    return self.process

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
