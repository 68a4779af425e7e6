"""One server for all workers of a test run: the process that leads them starts it for the first
worker that asks, and it ends with that process."""

import json
import secrets
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from threading import Lock, Thread
from typing import Any

from scenarios_app.testing.control import ServerFailed
from scenarios_app.testing.process import Start, server_process

# What tells a configuration from a mistyped one.
CONFIGURED = ("scenarios", "fixtures", "settings", "catch_all", "timeout")


@contextmanager
def server_for(
    config: Mapping[str, Any], *, url: str | None = None, lease: tuple[str, str] | None = None
) -> Iterator[str]:
    """The base URL of a server: the one at `url`, the one that a `lease` gives, or one of this
    process's own with what `config` holds: arguments of `running_server`. Raises ServerFailed."""
    if unknown := [name for name in config if name not in CONFIGURED]:
        known = ", ".join(CONFIGURED)
        raise ServerFailed(f"mockllm_config: no {unknown[0]!r} is known, expected some of {known}")
    if url is not None:
        yield url.rstrip("/")
        return
    start = _given(config)
    if lease is not None:
        yield _leased(lease, start)
        return
    with server_process(Start(**start)) as (base_url, _):
        yield base_url


class Lease:
    """Starts servers, one for each configuration, until it is closed. `address` is where a worker
    asks for one, with the secret that it has to know."""

    def __init__(self) -> None:
        secret = secrets.token_hex()
        self._listener = Listener(authkey=secret.encode())
        self.address = (str(self._listener.address), secret)
        self._running = ExitStack()
        self._started: dict[str, dict[str, str]] = {}
        self._lock = Lock()
        self._thread = Thread(target=self._listen, name="mockllm lease", daemon=True)
        self._thread.start()

    def base_urls(self) -> list[str]:
        """Those of the servers that run."""
        with self._lock:
            return [one["base_url"] for one in self._started.values() if "base_url" in one]

    def close(self) -> None:
        """End every server."""
        self._listener.close()
        with self._lock:
            self._running.close()

    def _listen(self) -> None:
        while True:
            try:
                connection = self._listener.accept()
            except AuthenticationError:
                continue
            except OSError:
                return
            # One that takes long to start keeps no other worker from asking.
            Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection: Connection) -> None:
        with connection:
            asked = connection.recv_bytes().decode()
            with self._lock:
                if asked not in self._started:
                    self._started[asked] = self._start(json.loads(asked))
                answer = self._started[asked]
            connection.send_bytes(json.dumps(answer).encode())

    def _start(self, asked: Mapping[str, Any]) -> dict[str, str]:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                base_url, _ = self._running.enter_context(server_process(Start(**asked)))
            except Exception as error:
                return {"failed": str(error)}
        return {"base_url": base_url, "told": "\n".join(str(one.message) for one in told)}


def _leased(lease: tuple[str, str], start: Mapping[str, Any]) -> str:
    address, secret = lease
    try:
        with Client(address, authkey=secret.encode()) as connection:
            connection.send_bytes(json.dumps(start, sort_keys=True).encode())
            answer = json.loads(connection.recv_bytes())
    except (OSError, EOFError, AuthenticationError) as error:
        said = f"{type(error).__name__}: {error}"
        raise ServerFailed(f"the process that starts the server is gone ({said})") from None
    if "failed" in answer:
        raise ServerFailed(answer["failed"])
    for line in answer["told"].splitlines():
        warnings.warn(line, stacklevel=3)
    base_url: str = answer["base_url"]
    return base_url


def _given(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a server is started with, as JSON has it."""
    given = dict(config)
    if scenarios := given.pop("scenarios", None):
        # Only here: to read files and builders takes all of the engine.
        from scenarios_app.testing.documents import documents_of

        given["documents"] = documents_of(scenarios)
    return given
