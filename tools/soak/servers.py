"""Servers that share a PostgreSQL and a Redis, as a team has them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from tests.cluster.redis import local_redis_url
from tests.serving.processes.serve_process import ServerProcess, run_server, write_scenarios
from tests.state.other_process import postgres_database


def once(steps: int) -> dict[str, object]:
    """A scenario whose steps answer one time each, `answer 0` first."""
    texts = (f"answer {number}" for number in range(steps))
    return {"name": "once", "steps": [{"consume": True, "produce": {"text": t}} for t in texts]}


@contextmanager
def shared(
    folder: Path,
    *scenarios: dict[str, object],
    workers: int = 2,
    redis: str | None = None,
    postgres: str | None = None,
    warm: bool = True,
    **variables: Any,
) -> Iterator[ServerProcess]:
    """Start a server with `workers` processes and only these scenarios; not `warm` starts fresh
    processes."""
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
            listening(server),
        ):
            yield server


@contextmanager
def database(url: str | None) -> Iterator[str]:
    if url is not None:
        yield url
        return
    with postgres_database() as address:
        yield address


@contextmanager
def listening(server: ServerProcess) -> Iterator[None]:
    """Drain the output of a server, which would block on a full pipe."""
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
