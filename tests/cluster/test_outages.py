"""Workers, Redis and PostgreSQL are killed under load: no step answers twice, and the server
recovers."""

import asyncio
import re
from functools import partial
from pathlib import Path

import pytest

from tests.cluster import postgres, redis
from tools.soak.client import Client
from tools.soak.once import run_clients
from tools.soak.outages import Outages
from tools.soak.servers import one_time_scenario, run_shared_server

# More steps than requests until the engines are back: 2,000 take less than four seconds.
CLIENTS, STEPS = 8, 6_000


@pytest.mark.timeout(300)
def test_each_step_goes_to_one_of_many_clients_of_many_workers(tmp_path: Path) -> None:
    with run_shared_server(tmp_path, one_time_scenario(60), workers=2) as server:
        results = asyncio.run(run_clients(server.port, clients=20, session="few"))
        code, _, _ = server.end()
    assert (results.answers.total(), results.repeated_texts, results.consumed) == (60, [], 60), (
        results.summary
    )
    assert set(results.statuses) == {200, 404} and code == 0


@pytest.mark.timeout(300)
def test_killed_worker_loses_and_repeats_no_answer(tmp_path: Path) -> None:
    outages = Outages(2)
    with run_shared_server(tmp_path, one_time_scenario(STEPS), workers=2, warm=False) as server:
        disturb = partial(outages.kill_workers, server=server)
        results = asyncio.run(
            run_clients(server.port, clients=CLIENTS, session="w", disturb=disturb)
        )
        code, out, _ = server.end()
    assert (
        not results.repeated_texts
        and not results.unexpected_statuses
        and 503 not in results.statuses
    ), results.summary
    assert (
        results.answers.total() <= results.consumed <= results.answers.total() + results.unanswered
    )
    assert len(re.findall(r"worker \d+ ended by SIGKILL and is replaced", server.stderr_text)) == 2
    assert (code, out) == (0, "")


@pytest.mark.timeout(300)
def test_restarted_redis_serves_no_step_twice(tmp_path: Path) -> None:
    engine, outages = redis.RedisServer(tmp_path), Outages(2)
    try:
        with run_shared_server(
            tmp_path, one_time_scenario(STEPS), workers=2, redis=engine.url
        ) as server:
            disturb = partial(outages.restart_engine, engine=engine)
            results = asyncio.run(
                run_clients(server.port, clients=CLIENTS, session="r", disturb=disturb)
            )
            code, _, _ = server.end()
    finally:
        engine.stop()
    assert (
        not results.repeated_texts and not results.unexpected_statuses and results.unanswered == 0
    ), results.summary
    assert results.statuses[503] > 0 and code == 0
    # A step consumed for a client that got a 503 instead is in no answer.
    assert results.answers.total() <= results.consumed
    assert "lost" not in server.stderr_text


@pytest.mark.timeout(300)
def test_answers_continue_without_postgresql_and_the_journal_waits(tmp_path: Path) -> None:
    engine, outages = postgres.PostgresServer(), Outages(2)
    try:
        with run_shared_server(
            tmp_path, one_time_scenario(STEPS), workers=2, postgres=engine.url
        ) as server:
            disturb = partial(outages.restart_engine, engine=engine)
            results = asyncio.run(
                run_clients(server.port, clients=CLIENTS, session="p", disturb=disturb)
            )
            journal = asyncio.run(read_journal(server.port, "p"))
            code, _, _ = server.end()
    finally:
        engine.end()
    assert set(results.statuses) == {200} and not results.repeated_texts and code == 0, (
        results.summary
    )
    assert journal == (results.answered, True)


async def read_journal(port: int, session: str) -> tuple[int, bool]:
    """Return the number of journal entries of a session, and whether the journal is complete."""
    client, count, after, complete = Client(port), 0, "", True
    while True:
        path = f"/control/requests?session={session}&limit=1000{after}"
        page = await client.control("GET", path)
        count += len(page["requests"])
        complete = complete and page["complete"]
        if page["next"] is None:
            client.close()
            return count, complete
        after = f"&after={page['next']}"
