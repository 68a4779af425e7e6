"""Redis is away during sessions and chat runs: nothing is lost or served twice, and it recovers."""

import asyncio
import time
from collections import Counter
from pathlib import Path

import httpx2
import pytest

from tests.cluster import redis
from tests.cluster.test_chat_workers import SLOW_SCENARIO, WORD_COUNT, Run, start_runs
from tests.serving.processes.serve_process import ServerProcess
from tools.soak.client import Client
from tools.soak.servers import one_time_scenario, run_shared_server

STEPS = 40
RECOVERED_SECONDS = 5.0


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "away", [4, pytest.param(30, marks=[pytest.mark.long, pytest.mark.timeout(600)])]
)
def test_runs_and_sessions_continue_after_a_redis_outage(tmp_path: Path, away: int) -> None:
    engine = redis.RedisServer(tmp_path)
    once_scenario = {"name": "once", "priority": 1, **one_time_scenario(STEPS)}
    for step in once_scenario["steps"]:
        step["match"] = {"messages": [{"contains": "next"}]}
    try:
        with run_shared_server(
            tmp_path, SLOW_SCENARIO, once_scenario, workers=2, redis=engine.url, warm=False
        ) as server:
            asyncio.run(_check_outage(server, engine, away))
            code, _, _ = server.end()
    finally:
        engine.stop()
    assert code == 0
    assert "Traceback" not in server.stderr_text
    # One line for each process and outage.
    line = "Changes by other processes are not received: Redis does not answer"
    assert 1 <= server.stderr_text.count(line) <= 2


async def _check_outage(server: ServerProcess, engine: redis.RedisServer, away: int) -> None:
    client = Client(server.port, session="keeps-its-place")
    answers = [await client.ask("next") for _ in range(10)]
    runs, tasks = await start_runs(server)
    # The server has closed the idle connection.
    await client.closed()
    await asyncio.to_thread(engine.stop)
    outage_end = time.monotonic() + away
    statuses_during_outage: Counter[int] = Counter()
    refused_run = Run("somebody new")
    async with httpx2.AsyncClient(base_url=server.base_url, timeout=60) as http_client:
        refused_task = asyncio.create_task(refused_run.follow(server.base_url))
        while time.monotonic() < outage_end:
            status, text = await client.ask("next")
            statuses_during_outage[status] += 1
            if status != 503:
                answers.append((status, text))
            assert (await http_client.get("/livez")).status_code == 200
            await asyncio.sleep(0.2)
        ready = await http_client.get("/readyz")
        await asyncio.wait_for(refused_task, 60)
    await asyncio.to_thread(engine.start)
    redis_started = time.monotonic()
    while (answer := await client.ask("next"))[0] != 200:
        assert time.monotonic() - redis_started < RECOVERED_SECONDS, answer
        await asyncio.sleep(0.05)
    answers.append(answer)
    answers += [await client.ask("next") for _ in range(5)]
    await asyncio.gather(*tasks)
    assert set(statuses_during_outage) == {503}, statuses_during_outage
    assert ready.status_code == 503
    texts = [text for _, text in answers]
    assert len(set(texts)) == len(texts)
    for run in runs:
        run.check()
        assert run.last["type"] == "done"
        assert sum(event["type"] == "chunk" for _, event in run.events) >= WORD_COUNT
    assert refused_run.last["type"] == "error"
    await client.closed()
