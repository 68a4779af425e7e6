"""Starts servers that share a PostgreSQL and a Redis."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from tests.cluster.redis import local_redis_url
from tests.serving.processes.serve_process import ServerProcess, run_server, write_scenarios
from tests.state.other_process import postgres_database


def one_time_scenario(steps: int) -> dict[str, object]:
    """Return a scenario whose steps answer once each, the first with `answer 0`."""
    texts = (f"answer {number}" for number in range(steps))
    return {"name": "once", "steps": [{"consume": True, "produce": {"text": t}} for t in texts]}


@contextmanager
def run_shared_server(
    folder: Path,
    *scenarios: dict[str, object],
    workers: int = 2,
    redis: str | None = None,
    postgres: str | None = None,
    warm: bool = True,
    **variables: Any,
) -> Iterator[ServerProcess]:
    """Run a server with `workers` processes and only these scenarios, at a new database unless
    `postgres` has an address. Without `warm`, processes are not forked from a warm one."""
    with database(postgres) as address:
        variables = {
            "MOCKLLM_ENV": "dev",
            "DATABASE_URL": address,
            "REDIS_URL": local_redis_url() if redis is None else redis,
            "MOCKLLM_SCENARIOS": write_scenarios(folder, *scenarios),
            "MOCKLLM_ADMIN_PASSWORD": "a password of a test",
            **variables,
        }
        with (
            run_server(
                folder, "--no-demo", "--workers", str(workers), warm=warm, **variables
            ) as server,
            drain_output(server),
        ):
            yield server


@contextmanager
def database(url: str | None) -> Iterator[str]:
    """Yield `url`, or the address of a new PostgreSQL database that is removed at the end."""
    if url is not None:
        yield url
        return
    with postgres_database() as address:
        yield address


@contextmanager
def drain_output(server: ServerProcess) -> Iterator[None]:
    """Add the standard error of a server to `server.stderr_text`, since a full pipe would block the
    server, and kill it at the end."""
    error = server.process.stderr
    assert error is not None
    ours = os.dup(error.fileno())

    def read() -> None:
        with os.fdopen(ours, "rb") as stream:
            while piece := stream.read1(65_536):
                server.stderr_text += piece.decode("utf-8", "replace")

    thread = Thread(target=read, daemon=True)
    thread.start()
    try:
        yield
    finally:
        if server.process.poll() is None:
            server.process.kill()
        thread.join(30)
