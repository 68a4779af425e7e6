"""Try what is promised of servers that share their state, and say what came of it.

    python -m tools.soak [NAME[=SIZE,…] …]

Without names all are tried, as large as docs/reliability.md has them; the sizes of each are the
arguments of its function, in order. The exit code is 1 where a promise was broken.
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
from tools.soak.hours import QUICK, REQUESTS, hours
from tools.soak.leavings import SHORT, SLOW, Held, drops, ended_with_streams
from tools.soak.once import fight
from tools.soak.outages import Engine, Outages
from tools.soak.runs import cancelled, interrupted
from tools.soak.servers import database, listening, once, shared

RECOVERED_SECONDS = 5.0
CANCELLED_SECONDS = 0.2
INTERRUPTED_SECONDS = 10.0
MEGABYTES_PER_10_000 = 2.0


def each_once(clients: int = 500, steps: int = 1_000, workers: int = 4, rounds: int = 20) -> bool:
    """Many clients and few answers."""
    with folder() as place, shared(place, once(steps), workers=workers) as server:
        return _fights(server, clients, steps, rounds)


def each_once_in_memory(clients: int = 500, steps: int = 1_000, rounds: int = 20) -> bool:
    """The same of one process without Redis."""
    with folder() as place:
        file = write_scenarios(place, once(steps))
        variables: dict[str, Any] = {"MOCKLLM_ENV": "test", "MOCKLLM_SCENARIOS": file}
        with run_server(place, "--no-demo", warm=True, **variables) as server, listening(server):
            return _fights(server, clients, steps, rounds)


def _fights(server: ServerProcess, clients: int, steps: int, rounds: int) -> bool:
    passed = True
    for number in range(rounds):
        result = asyncio.run(fight(server.port, clients=clients, session=f"round-{number}"))
        exact = result.answers.total() == result.consumed == steps
        # A connection that the server closed as idle is opened again.
        passed = passed and exact and not result.twice and set(result.statuses) - {0} == {200, 404}
        print(f"  round {number + 1}: {result.told}", flush=True)
    return passed


def workers_killed(times: int = 50, clients: int = 50, workers: int = 4) -> bool:
    """Workers that are killed under load."""
    outages = Outages(times)
    with (
        folder() as place,
        shared(place, once(200 * (times + 5)), workers=workers, warm=False) as server,
    ):
        beside = partial(outages.of_workers, server=server)
        result = asyncio.run(fight(server.port, clients=clients, session="w", beside=beside))
    print(f"  {result.told}")
    lost = not result.answers.total() <= result.consumed <= result.answers.total() + result.gone
    return not (result.twice or result.wrong or result.statuses[503] or lost)


def redis_killed(times: int = 20, clients: int = 50, workers: int = 4) -> bool:
    """A Redis that is killed under load and started again."""
    with folder() as place:
        engine = redis.Own(place)
        try:
            return _without(engine, times, clients, workers, redis=engine.url)
        finally:
            engine.stop()


def postgres_restarted(times: int = 20, clients: int = 50, workers: int = 4) -> bool:
    """PostgreSQL is killed under load and started again."""
    engine = postgres.Own()
    try:
        return _without(engine, times, clients, workers, postgres=engine.url)
    finally:
        engine.end()


def _without(engine: Engine, times: int, clients: int, workers: int, **urls: Any) -> bool:
    outages = Outages(times)
    with (
        folder() as place,
        shared(place, once(400 * (times + 5)), workers=workers, **urls) as server,
    ):
        beside = partial(outages.of, engine=engine)
        result = asyncio.run(fight(server.port, clients=clients, session="e", beside=beside))
    print(f"  {result.told}; recovered after {max(outages.recovered):.2f} s at most")
    right = not result.twice and not result.wrong and not result.gone
    return right and max(outages.recovered) <= RECOVERED_SECONDS


def clients_dropped(count: int = 20_000, workers: int = 2) -> bool:
    """Clients that leave in the middle of an answer, of every wire and the chat."""
    with folder() as place, shared(place, SHORT, workers=workers, warm=False) as server:
        pids = server.children()
        before, *later = asyncio.run(drops(server.port, pids, count=count))
    first, after = later[0], later[-1]
    slope = (after.megabytes - first.megabytes) / workers / (count * 3 / 4) * 10_000
    print(f"  before {before}, {_report_line(after, slope)}")
    nothing = after.descriptors <= before.descriptors and after.threads <= before.threads
    return nothing and (count < 10_000 or slope <= MEGABYTES_PER_10_000)


def two_hours(minutes: int = 120, at_once: int = 16, workers: int = 2) -> bool:
    """Two hours of a team's traffic (ten requests a second), compressed."""
    with folder() as place, shared(place, SHORT, QUICK, workers=workers, warm=False) as server:
        pids = server.children()
        before, *later = asyncio.run(hours(server.port, pids, minutes=minutes, at_once=at_once))
    first, after = later[0], later[-1]
    slope = (after.megabytes - first.megabytes) / workers / (minutes * REQUESTS * 3 / 4) * 10_000
    print(f"  before {before}, {_report_line(after, slope)}")
    nothing = after.descriptors <= first.descriptors and after.threads <= first.threads
    return nothing and slope <= MEGABYTES_PER_10_000


def _report_line(after: Held, slope: float) -> str:
    return f"after {after}, {slope:+.1f} MB a process per 10,000 from a quarter on"


def cancelled_elsewhere(count: int = 100) -> bool:
    """Chat runs that a process of another server cancels."""
    with folder() as place, folder() as beside, database(None) as address:
        serve = partial(shared, workers=1, postgres=address, warm=False)
        with serve(place, SLOW) as one, serve(beside, SLOW) as other:
            took = asyncio.run(cancelled(one.port, other.port, count=count))
    half, most = took[count // 2], took[count * 95 // 100]
    print(f"  half within {half * 1000:.0f} ms, 95 of 100 within {most * 1000:.0f} ms")
    return most <= CANCELLED_SECONDS


def interrupted_elsewhere(times: int = 10) -> bool:
    """Runs of the chat whose server is killed, followed at another one."""
    took = []
    with folder() as place, database(None) as address:
        serve = partial(shared, workers=1, postgres=address, warm=False)
        with serve(place, SLOW) as other:
            for _ in range(times):
                with folder() as beside, serve(beside, SLOW) as one:
                    kill = one.process.kill
                    took.append(asyncio.run(interrupted(one.port, other.port, kill)))
    print(f"  told after {min(took):.1f} to {max(took):.1f} s")
    return max(took) <= INTERRUPTED_SECONDS


def ended_under_way(streams: int = 100, workers: int = 4) -> bool:
    """A server that is stopped while it streams."""
    with folder() as place, shared(place, SLOW, workers=workers) as server:
        end = server.process.terminate
        statuses = asyncio.run(ended_with_streams(server.port, end, count=streams))
        code, _, _ = server.wait()
    print(f"  {statuses.count(200)} of {streams} streams whole, exit code {code}")
    return statuses == [200] * streams and code == 0


EVERY: dict[str, Callable[..., bool]] = {
    "once": each_once,
    "memory": each_once_in_memory,
    "workers": workers_killed,
    "redis": redis_killed,
    "postgres": postgres_restarted,
    "drops": clients_dropped,
    "hours": two_hours,
    "cancel": cancelled_elsewhere,
    "interrupt": interrupted_elsewhere,
    "end": ended_under_way,
}


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)


def main() -> None:
    chosen = dict(word.partition("=")[::2] for word in sys.argv[1:]) or dict.fromkeys(EVERY, "")
    if unknown := chosen.keys() - EVERY:
        sys.exit(f"{', '.join(sorted(unknown))}: expected some of {', '.join(EVERY)}")
    broken = []
    for name, sizes in chosen.items():
        print(f"{name}: {EVERY[name].__doc__}", flush=True)
        if not EVERY[name](*map(int, filter(None, sizes.split(",")))):
            broken.append(name)
        print(f"  {'BROKEN' if name in broken else 'kept'}", flush=True)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
