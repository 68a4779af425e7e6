"""One server for all workers of a test run: the controlling process starts it when the first worker
needs it, and stops it at its own end."""

import json
import secrets
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from threading import Lock, Thread
from typing import Any

from scenarios_app.testing.process import (
    ServerFailed,
    ServerOptions,
    StandbyServer,
    server_process,
)
from scenarios_app.testing.shared.early_start import EarlyStart

# The keys of `mockllm_config`.
CONFIG_KEYS = ("scenarios", "fixtures", "settings", "catch_all", "timeout", "watch", "light")


@contextmanager
def server_for(
    config: Mapping[str, Any],
    *,
    url: str | None = None,
    pool: tuple[str, str] | None = None,
    prepared: StandbyServer | None = None,
) -> Iterator[str]:
    """Yield the base URL of a server: `url`, that of a `pool`, or a new one, the `prepared`
    process if that fits. `config` has the arguments of `running_server`. Raises ServerFailed."""
    if unknown := [name for name in config if name not in CONFIG_KEYS]:
        keys = ", ".join(CONFIG_KEYS)
        raise ServerFailed(f"mockllm_config: no {unknown[0]!r} is known, expected some of {keys}")
    if url is not None:
        yield url.rstrip("/")
        return
    options = _to_json_options(config)
    if pool is not None:
        yield _request_server(pool, options)
        return
    with server_process(ServerOptions(**options), prepared=prepared) as (base_url, _):
        yield base_url


class ServerPool:
    """Starts one server per configuration on request, and stops all when it is closed. `address` is
    the socket for requests, with the secret that authenticates workers. The first server is the
    process of `early`."""

    def __init__(self, early: EarlyStart | None = None) -> None:
        self._early = early
        secret = secrets.token_hex()
        self._listener = Listener(authkey=secret.encode())
        self.address = (str(self._listener.address), secret)
        self._is_closed = False
        self._servers = ExitStack()
        # By the JSON of a server's options.
        self._replies: dict[str, dict[str, str]] = {}
        self._lock = Lock()
        self._thread = Thread(target=self._accept_workers, name="mockllm server pool", daemon=True)
        self._thread.start()

    def base_urls(self) -> list[str]:
        """Return the base URLs of the running servers."""
        with self._lock:
            return [reply["base_url"] for reply in self._replies.values() if "base_url" in reply]

    def close(self) -> None:
        """Stop all servers."""
        self._is_closed = True
        self._listener.close()
        with self._lock:
            self._servers.close()

    def _accept_workers(self) -> None:
        """Accept connections of test workers until the pool is closed."""
        while not self._is_closed:
            try:
                connection = self._listener.accept()
            except (AuthenticationError, EOFError, OSError):
                # The client has left or a wrong secret, or the pool is closed.
                continue
            # In a thread, so that a slow start does not block other workers.
            Thread(target=self._answer_worker, args=[connection], daemon=True).start()

    def _answer_worker(self, connection: Connection) -> None:
        """Reply to a worker, and start the server of its options if there is none yet."""
        with connection:
            options = connection.recv_bytes().decode()
            with self._lock:
                if options not in self._replies:
                    self._replies[options] = self._start_server(json.loads(options))
                reply = self._replies[options]
            connection.send_bytes(json.dumps(reply).encode())

    def _start_server(self, options: Mapping[str, Any]) -> dict[str, str]:
        """Start a server and return the reply for workers: its URL and warnings, or the error."""
        messages: list[str] = []
        try:
            early, self._early = self._early, None
            prepared = early.process_for(options) if early else None
            server = server_process(ServerOptions(**options), messages.append, prepared)
            base_url, _ = self._servers.enter_context(server)
        except Exception as error:
            return {"failed": str(error)}
        return {"base_url": base_url, "warnings": "\n".join(messages)}


def _request_server(pool: tuple[str, str], options: Mapping[str, Any]) -> str:
    """Return the base URL of the server that the pool runs for these options, and issue the
    server's warnings. Raises ServerFailed."""
    address, secret = pool
    try:
        with Client(address, authkey=secret.encode()) as connection:
            connection.send_bytes(json.dumps(options, sort_keys=True).encode())
            reply = json.loads(connection.recv_bytes())
    except (OSError, EOFError, AuthenticationError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ServerFailed(f"the process that starts the server is gone ({reason})") from None
    if "failed" in reply:
        raise ServerFailed(reply["failed"])
    for line in reply["warnings"].splitlines():
        warnings.warn(line, stacklevel=3)
    return reply["base_url"]


def _to_json_options(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return server options as JSON values."""
    options = dict(config)
    watch = options.pop("watch", False)
    if scenarios := options.pop("scenarios", None):
        # Imported here because it imports the whole engine.
        from scenarios_app.testing.documents import split_paths, to_documents

        if watch:
            options["paths"], scenarios = split_paths(scenarios)
        options["documents"] = to_documents(scenarios)
    return options
