"""Redis for tests: the local one, or one that a test starts, kills and starts again."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

import redis

from tests.support.required_services import require

URL = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/0")
UP_SECONDS = 30.0


def local_redis_url() -> str:
    """Return the URL of the local Redis, which the test requires."""
    try:
        with redis.Redis.from_url(URL) as client:
            client.ping()
    except redis.RedisError:
        require(False, f"there is no Redis at {URL}")
    return URL


class RedisServer:
    """A Redis server on a free port; with `persists` it keeps all its data when it is killed."""

    def __init__(self, folder: Path, *, persists: bool = True) -> None:
        require(shutil.which("redis-server") is not None, "there is no redis-server")
        with socket.create_server(("127.0.0.1", 0)) as free_socket:
            self.port: int = free_socket.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._arguments = [
            *("redis-server", "--port", str(self.port), "--bind", "127.0.0.1"),
            *("--dir", str(folder), "--save", "", "--daemonize", "no"),
            *("--appendonly", "yes" if persists else "no"),
            # By default Redis delays writes while the disk is busy, for up to two seconds.
            *("--appendfsync", "always"),
        ]
        self.process = self.start()

    def start(self) -> "subprocess.Popen[bytes]":
        """Start the server, also repeatedly, and wait until it answers."""
        self.process = subprocess.Popen(self._arguments, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + UP_SECONDS
        with redis.Redis.from_url(self.url) as client:
            while True:
                try:
                    client.ping()
                except redis.RedisError:
                    assert time.monotonic() < deadline, "redis-server does not answer"
                    time.sleep(0.02)
                else:
                    return self.process

    def stop(self) -> None:
        """Kill the server, as a power cut would."""
        self.process.kill()
        self.process.wait()
