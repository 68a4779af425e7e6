"""Checks the promises of docs/reliability.md on servers that share their state.

    python -m tools.soak [NAME[=SIZE,…] …]

Without names, all checks run, as large as in docs/reliability.md. Sizes are the arguments of the
check's function, in order. The exit code is 1 if a check fails.
"""

import asyncio
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.cluster import postgres, redis
from tests.serving.processes.serve_process import ServerProcess, run_server, write_scenarios
from tools.soak.hours import QUICK, REQUESTS_PER_MINUTE, run_hours
from tools.soak.leavings import SHORT, SLOW, Resources, drop_many, ended_with_streams
from tools.soak.once import run_clients
from tools.soak.outages import Engine, Outages
from tools.soak.runs import measure_cancels, measure_interrupt
from tools.soak.servers import database, drain_output, one_time_scenario, run_shared_server

RECOVERED_SECONDS = 5.0
CANCELLED_SECONDS = 0.2
INTERRUPTED_SECONDS = 10.0
MEGABYTES_PER_10_000 = 2.0


def check_once(clients: int = 500, steps: int = 1_000, workers: int = 4, rounds: int = 20) -> bool:
    """Many clients compete for steps that answer once."""
    with (
        folder() as place,
        run_shared_server(place, one_time_scenario(steps), workers=workers) as server,
    ):
        return _run_rounds(server, clients, steps, rounds)


def check_once_in_memory(clients: int = 500, steps: int = 1_000, rounds: int = 20) -> bool:
    """The same in one process without Redis."""
    with folder() as place:
        file = write_scenarios(place, one_time_scenario(steps))
        variables: dict[str, Any] = {"MOCKLLM_ENV": "test", "MOCKLLM_SCENARIOS": file}
        with run_server(place, "--no-demo", warm=True, **variables) as server, drain_output(server):
            return _run_rounds(server, clients, steps, rounds)


def _run_rounds(server: ServerProcess, clients: int, steps: int, rounds: int) -> bool:
    """Return True if in each round each step answered once, in a new session."""
    passed = True
    for number in range(rounds):
        result = asyncio.run(run_clients(server.port, clients=clients, session=f"round-{number}"))
        exact = result.answers.total() == result.consumed == steps
        # A connection that the server closed as idle is opened again.
        passed = (
            passed
            and exact
            and not result.repeated_texts
            and set(result.statuses) - {0} == {200, 404}
        )
        print(f"  round {number + 1}: {result.summary}", flush=True)
    return passed


def check_killed_workers(times: int = 50, clients: int = 50, workers: int = 4) -> bool:
    """Workers are killed under load."""
    outages = Outages(times)
    with (
        folder() as place,
        run_shared_server(
            place, one_time_scenario(200 * (times + 5)), workers=workers, warm=False
        ) as server,
    ):
        disturb = partial(outages.kill_workers, server=server)
        result = asyncio.run(
            run_clients(server.port, clients=clients, session="w", disturb=disturb)
        )
    print(f"  {result.summary}")
    lost = (
        not result.answers.total() <= result.consumed <= result.answers.total() + result.unanswered
    )
    return not (result.repeated_texts or result.unexpected_statuses or result.statuses[503] or lost)


def check_killed_redis(times: int = 20, clients: int = 50, workers: int = 4) -> bool:
    """Redis is killed under load and started again."""
    with folder() as place:
        engine = redis.RedisServer(place)
        try:
            return _run_outages(engine, times, clients, workers, redis=engine.url)
        finally:
            engine.stop()


def check_restarted_postgres(times: int = 20, clients: int = 50, workers: int = 4) -> bool:
    """PostgreSQL is killed under load and started again."""
    engine = postgres.PostgresServer()
    try:
        return _run_outages(engine, times, clients, workers, postgres=engine.url)
    finally:
        engine.end()


def _run_outages(engine: Engine, times: int, clients: int, workers: int, **urls: Any) -> bool:
    """Return True if no response was wrong or lost while an engine was away `times` times."""
    outages = Outages(times)
    with (
        folder() as place,
        run_shared_server(
            place, one_time_scenario(400 * (times + 5)), workers=workers, **urls
        ) as server,
    ):
        disturb = partial(outages.restart_engine, engine=engine)
        result = asyncio.run(
            run_clients(server.port, clients=clients, session="e", disturb=disturb)
        )
    print(f"  {result.summary}; recovered after {max(outages.recovered):.2f} s at most")
    right = not result.repeated_texts and not result.unexpected_statuses and not result.unanswered
    return right and max(outages.recovered) <= RECOVERED_SECONDS


def check_dropped_clients(count: int = 20_000, workers: int = 2) -> bool:
    """Clients disconnect during responses of every API and of the chat."""
    with folder() as place, run_shared_server(place, SHORT, workers=workers, warm=False) as server:
        pids = server.children()
        before, *later = asyncio.run(drop_many(server.port, pids, count=count))
    first, after = later[0], later[-1]
    slope = (after.megabytes - first.megabytes) / workers / (count * 3 / 4) * 10_000
    print(f"  before {before}, {_report_line(after, slope)}")
    is_freed = after.descriptors <= before.descriptors and after.threads <= before.threads
    return is_freed and (count < 10_000 or slope <= MEGABYTES_PER_10_000)


def check_two_hours(minutes: int = 120, at_once: int = 16, workers: int = 2) -> bool:
    """Two hours of traffic, ten requests a second, are sent as fast as possible."""
    with (
        folder() as place,
        run_shared_server(place, SHORT, QUICK, workers=workers, warm=False) as server,
    ):
        pids = server.children()
        before, *later = asyncio.run(run_hours(server.port, pids, minutes=minutes, at_once=at_once))
    first, after = later[0], later[-1]
    slope = (
        (after.megabytes - first.megabytes)
        / workers
        / (minutes * REQUESTS_PER_MINUTE * 3 / 4)
        * 10_000
    )
    print(f"  before {before}, {_report_line(after, slope)}")
    is_freed = after.descriptors <= first.descriptors and after.threads <= first.threads
    return is_freed and slope <= MEGABYTES_PER_10_000


def _report_line(after: Resources, slope: float) -> str:
    return f"after {after}, {slope:+.1f} MB a process per 10,000 from a quarter on"


def check_cancels(count: int = 100) -> bool:
    """A process of another server cancels chat runs."""
    with folder() as place, folder() as beside, database(None) as address:
        serve = partial(run_shared_server, workers=1, postgres=address, warm=False)
        with serve(place, SLOW) as one, serve(beside, SLOW) as other:
            took = asyncio.run(measure_cancels(one.port, other.port, count=count))
    half, most = took[count // 2], took[count * 95 // 100]
    print(f"  half within {half * 1000:.0f} ms, 95 of 100 within {most * 1000:.0f} ms")
    return most <= CANCELLED_SECONDS


def check_interrupts(times: int = 10) -> bool:
    """The server of a chat run is killed; a follower at another server gets the error."""
    took = []
    with folder() as place, database(None) as address:
        serve = partial(run_shared_server, workers=1, postgres=address, warm=False)
        with serve(place, SLOW) as other:
            for _ in range(times):
                with folder() as beside, serve(beside, SLOW) as one:
                    kill = one.process.kill
                    took.append(asyncio.run(measure_interrupt(one.port, other.port, kill)))
    print(f"  reported after {min(took):.1f} to {max(took):.1f} s")
    return max(took) <= INTERRUPTED_SECONDS


def check_drain(streams: int = 100, workers: int = 4) -> bool:
    """A server is stopped while it streams."""
    with folder() as place, run_shared_server(place, SLOW, workers=workers) as server:
        end = server.process.terminate
        statuses = asyncio.run(ended_with_streams(server.port, end, count=streams))
        code, _, _ = server.wait()
    print(f"  {statuses.count(200)} of {streams} streams whole, exit code {code}")
    return statuses == [200] * streams and code == 0


CHECKS: dict[str, Callable[..., bool]] = {
    "once": check_once,
    "memory": check_once_in_memory,
    "workers": check_killed_workers,
    "redis": check_killed_redis,
    "postgres": check_restarted_postgres,
    "drops": check_dropped_clients,
    "hours": check_two_hours,
    "cancel": check_cancels,
    "interrupt": check_interrupts,
    "end": check_drain,
}


@contextmanager
def folder() -> Iterator[Path]:
    """Yield a temporary folder."""
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)


def main() -> None:
    checks = dict(word.partition("=")[::2] for word in sys.argv[1:]) or dict.fromkeys(CHECKS, "")
    if unknown := checks.keys() - CHECKS:
        sys.exit(f"{', '.join(sorted(unknown))}: expected some of {', '.join(CHECKS)}")
    failed = []
    for name, sizes in checks.items():
        print(f"{name}: {CHECKS[name].__doc__}", flush=True)
        if not CHECKS[name](*map(int, filter(None, sizes.split(",")))):
            failed.append(name)
        print(f"  {'FAILED' if name in failed else 'passed'}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
