"""Redis away for a while, with sessions and runs of the chat under way: what needs it says so, what
does not goes on, nothing is served twice or lost, and all comes back by itself."""

import asyncio
import time
from collections import Counter
from pathlib import Path

import httpx2
import pytest

from tests.cluster import redis
from tests.cluster.test_chat_workers import SLOWLY, WORDS, Run, begun
from tests.serving.processes.serve_process import Serving
from tools.soak.client import Client
from tools.soak.servers import once, shared

STEPS = 40
RECOVERED_SECONDS = 5.0


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "away", [4, pytest.param(30, marks=[pytest.mark.long, pytest.mark.timeout(600)])]
)
def test_runs_go_on_and_sessions_keep_their_place(tmp_path: Path, away: int) -> None:
    engine = redis.Own(tmp_path)
    asked = {"name": "once", "priority": 1, **once(STEPS)}
    for step in asked["steps"]:  # type: ignore[attr-defined]
        step["match"] = {"messages": [{"contains": "next"}]}
    try:
        with shared(tmp_path, SLOWLY, asked, workers=2, redis=engine.url, warm=False) as server:
            asyncio.run(_attack(server, engine, away))
            code, _, _ = server.end()
    finally:
        engine.stop()
    assert code == 0
    assert "Traceback" not in server.said
    # One line for each process and outage.
    line = "Changes by other processes are not received: Redis does not answer"
    assert 1 <= server.said.count(line) <= 2


async def _attack(server: Serving, engine: redis.Own, away: int) -> None:
    client = Client(server.port, session="keeps-its-place")
    said = [await client.ask("next") for _ in range(10)]
    runs, tasks = await begun(server)
    # The server has closed the idle connection.
    await client.closed()
    await asyncio.to_thread(engine.stop)
    until = time.monotonic() + away
    during: Counter[int] = Counter()
    refused = Run("somebody new")
    async with httpx2.AsyncClient(base_url=server.base_url, timeout=60) as other:
        new = asyncio.create_task(refused.follow(server.base_url))
        while time.monotonic() < until:
            status, text = await client.ask("next")
            during[status] += 1
            if status != 503:
                said.append((status, text))
            assert (await other.get("/livez")).status_code == 200
            await asyncio.sleep(0.2)
        ready = await other.get("/readyz")
        await asyncio.wait_for(new, 60)
    await asyncio.to_thread(engine.start)
    back = time.monotonic()
    while (answer := await client.ask("next"))[0] != 200:
        assert time.monotonic() - back < RECOVERED_SECONDS, answer
        await asyncio.sleep(0.05)
    said.append(answer)
    said += [await client.ask("next") for _ in range(5)]
    await asyncio.gather(*tasks)
    assert set(during) == {503}, during
    assert ready.status_code == 503
    texts = [text for _, text in said]
    assert len(set(texts)) == len(texts)
    for run in runs:
        run.check()
        assert run.last["type"] == "done"
        assert sum(one["type"] == "chunk" for _, one in run.events) >= WORDS
    assert refused.last["type"] == "error"
    await client.closed()
