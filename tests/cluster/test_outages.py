"""Workers and engines that die under load: nothing is served twice, and all goes on by itself."""

import asyncio
import re
from functools import partial
from pathlib import Path

import pytest

from tests.cluster import postgres, redis
from tools.soak.client import Client
from tools.soak.once import fight
from tools.soak.outages import Outages
from tools.soak.servers import once, shared

# More steps than requests until the engines are back: 2,000 take less than four seconds.
CLIENTS, STEPS = 8, 6_000


@pytest.mark.timeout(300)
def test_each_step_goes_to_one_of_many_clients_of_many_workers(tmp_path: Path) -> None:
    with shared(tmp_path, once(60), workers=2) as server:
        found = asyncio.run(fight(server.port, clients=20, session="few"))
        code, _, _ = server.end()
    assert (found.answers.total(), found.twice, found.consumed) == (60, [], 60), found.told
    assert set(found.statuses) == {200, 404} and code == 0


@pytest.mark.timeout(300)
def test_a_worker_that_is_killed_loses_and_repeats_nothing(tmp_path: Path) -> None:
    outages = Outages(2)
    with shared(tmp_path, once(STEPS), workers=2, warm=False) as server:
        beside = partial(outages.of_workers, server=server)
        found = asyncio.run(fight(server.port, clients=CLIENTS, session="w", beside=beside))
        code, out, _ = server.end()
    assert not found.twice and not found.wrong and 503 not in found.statuses, found.told
    assert found.answers.total() <= found.consumed <= found.answers.total() + found.gone
    assert len(re.findall(r"worker \d+ ended by SIGKILL and is replaced", server.stderr_text)) == 2
    assert (code, out) == (0, "")


@pytest.mark.timeout(300)
def test_a_redis_that_is_killed_serves_nothing_twice_when_it_is_back(tmp_path: Path) -> None:
    engine, outages = redis.Own(tmp_path), Outages(2)
    try:
        with shared(tmp_path, once(STEPS), workers=2, redis=engine.url) as server:
            beside = partial(outages.of, engine=engine)
            found = asyncio.run(fight(server.port, clients=CLIENTS, session="r", beside=beside))
            code, _, _ = server.end()
    finally:
        engine.stop()
    assert not found.twice and not found.wrong and found.gone == 0, found.told
    assert found.statuses[503] > 0 and code == 0
    # A step consumed for a client that got a 503 instead is in no answer.
    assert found.answers.total() <= found.consumed
    assert "lost" not in server.stderr_text


@pytest.mark.timeout(300)
def test_answers_go_on_without_postgresql_and_the_journal_waits(tmp_path: Path) -> None:
    engine, outages = postgres.Own(), Outages(2)
    try:
        with shared(tmp_path, once(STEPS), workers=2, postgres=engine.url) as server:
            beside = partial(outages.of, engine=engine)
            found = asyncio.run(fight(server.port, clients=CLIENTS, session="p", beside=beside))
            journal = asyncio.run(_journal(server.port, "p"))
            code, _, _ = server.end()
    finally:
        engine.end()
    assert set(found.statuses) == {200} and not found.twice and code == 0, found.told
    assert journal == (found.answered, True)


async def _journal(port: int, session: str) -> tuple[int, bool]:
    """How many requests the journal has of a session, and whether it says that these are all."""
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
