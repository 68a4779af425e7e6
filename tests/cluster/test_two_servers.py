"""Two servers behind a load balancer without stickiness give the same answers."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import pytest
import redis
from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.redis import local_redis_url
from tests.serving.processes.serve_process import ServerProcess
from tests.state.other_process import postgres_database
from tools.soak.client import Client
from tools.soak.servers import run_shared_server

# Two servers start, with two processes each.
pytestmark = pytest.mark.timeout(300)

SECONDS = 60.0
CANARY = f"sk-canary-{uuid4().hex}"


def scenario_for(name: str, *texts: str, content: str, **step: Any) -> dict[str, Any]:
    match = {"messages": [{"contains": content}]}
    steps = [{"match": match, "produce": {"text": text}, **step} for text in texts]
    return {"name": name, "steps": steps}


SCENARIOS = (
    scenario_for("three", "one", "two", "three", content="tell", consume=True),
    scenario_for(
        "fails",
        "At last.",
        content="fail",
        failures={"times": 2, "fault": {"kind": "http", "status": 500}},
    ),
    scenario_for(
        "counts", "Counted.", content="count", consume=False, side_effects={"counter": "calls"}
    ),
    scenario_for("stores", "Kept.", content="keep", consume=False),
    {
        "name": "slow",
        "steps": [
            {
                "consume": False,
                "match": {"messages": [{"contains": "slowly"}]},
                "produce": {
                    "text": "word " * 3_000,
                    "pacing": {"chunk_ms": 20, "words_per_chunk": 1},
                },
            }
        ],
    },
)


@dataclass
class Pair:
    """Two servers, and a session of one test, whose connections are closed after it."""

    servers: tuple[ServerProcess, ServerProcess]
    session: str
    clients: list[Client] = field(default_factory=list)

    def client(self, place: int, *, session: str = "", key: str = "any") -> Client:
        port = self.servers[place % 2].port
        self.clients.append(Client(port, session=session or self.session, key=key))
        return self.clients[-1]


@pytest.fixture(scope="module")
def servers(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    first_folder, second_folder = (tmp_path_factory.mktemp(name) for name in ("one", "other"))
    with (
        postgres_database() as address,
        run_shared_server(first_folder, *SCENARIOS, workers=1, postgres=address) as first,
        run_shared_server(second_folder, *SCENARIOS, workers=1, postgres=address) as second,
    ):
        yield first, second


@pytest.fixture
async def pair(servers: tuple[ServerProcess, ServerProcess]) -> AsyncIterator[Pair]:
    pair = Pair(servers, uuid4().hex)
    yield pair
    await asyncio.gather(*(client.closed() for client in pair.clients))


async def ask_alternately(pair: Pair, *contents: str) -> list[tuple[int, str]]:
    answers = []
    for place, content in enumerate(contents):
        answers.append(await pair.client(place).ask(content))
    return answers


async def test_steps_failures_and_counters_are_shared(pair: Pair) -> None:
    answers = await ask_alternately(pair, *["tell"] * 4)
    assert [text for _, text in answers[:3]] == ["one", "two", "three"] and answers[3][0] == 404
    statuses = [status for status, _ in await ask_alternately(pair, *["fail"] * 4)]
    assert statuses == [500, 500, 200, 404]
    await ask_alternately(pair, *["count"] * 3)
    states = [await pair.client(place).control("GET", state_path(pair)) for place in (0, 1)]
    assert states[0] == states[1]
    assert states[0]["counters"] == {"calls": 3} and states[0]["attempts"][0]["count"] == 2
    assert states[0]["complete"] is True


def state_path(pair: Pair) -> str:
    return f"/control/state?session={pair.session}"


async def test_reset_applies_to_both_servers(pair: Pair) -> None:
    await ask_alternately(pair, "tell", "tell")
    await pair.client(0).control("POST", "/control/reset", {"session": pair.session})
    answers = await ask_alternately(pair, "tell", "tell", "tell")
    assert [text for _, text in answers] == ["one", "two", "three"]
    for place in (0, 1):
        path = f"/control/requests?session={pair.session}"
        assert len((await pair.client(place).control("GET", path))["requests"]) == 3


async def test_journal_is_read_immediately_from_the_other_server(pair: Pair) -> None:
    for number in range(5):
        await pair.client(number).ask("count")
        verification = {"session": pair.session, "match": {"messages": [{"contains": "count"}]}}
        verified = await pair.client(number + 1).control(
            "POST", "/control/verify", {**verification, "count": {"equals": number + 1}}
        )
        assert verified["passed"] is True
    verdict = await pair.client(1).control("GET", f"/control/verdict?session={pair.session}")
    assert verdict["complete"] is True


async def test_metrics_of_both_servers_are_read_from_either(pair: Pair) -> None:
    async def requests_by_worker(place: int) -> dict[str, float]:
        _, text = await pair.client(place).request("GET", "/metrics")
        families = text_string_to_metric_families(text.decode())
        samples = [sample for family in families for sample in family.samples]
        return {
            sample.labels["worker"]: sample.value
            for sample in samples
            if sample.name == "mockllm_requests_total" and sample.labels["match"] == "matched"
            if sample.labels["outcome"] == "complete" and sample.labels["provider"] == "openai"
        }

    await ask_alternately(pair, "count", "count")
    before = await requests_by_worker(0)
    assert len(before) == 2
    await ask_alternately(pair, *["count"] * 10)
    for place in (0, 1):
        after = await requests_by_worker(place)
        assert {worker: after[worker] - before[worker] for worker in after} == dict.fromkeys(
            before, 5.0
        )


async def test_coverage_includes_requests_of_both_servers(pair: Pair) -> None:
    await pair.client(0).control("DELETE", "/control/coverage")
    await ask_alternately(pair, *["fail"] * 3, *["count"] * 3)
    for place in (0, 1):
        coverage = await pair.client(place).control(
            "GET", "/control/coverage?scenarios=fails,counts"
        )
        assert coverage["complete"] is True and coverage["requests"] == 6
        served = {
            scenario["scenario"]: scenario["steps"][0]["served"]
            for scenario in coverage["scenarios"]
        }
        assert served == {"counts": 3, "fails": 3}
        (fault,) = coverage["scenarios"][1]["steps"][0]["faults"]
        assert fault["triggered"] is True


async def test_edit_is_seen_by_the_next_request_to_the_other_server(pair: Pair) -> None:
    for number in range(10):
        document = scenario_for("edited", f"version {number}", content="edited", consume=False)
        await pair.client(number).control("PUT", "/control/scenarios/edited", document)
        assert await pair.client(number + 1).ask("edited") == (200, f"version {number}")


async def test_scenarios_of_a_session_are_shared(pair: Pair) -> None:
    path = f"/control/scenarios/mine?session={pair.session}"
    for number in range(4):
        document = scenario_for("mine", f"mine {number}", content="mine", consume=False)
        await pair.client(number).control("PUT", path, document)
        assert await pair.client(number + 1).ask("mine") == (200, f"mine {number}")
    await pair.client(0).control("DELETE", path)
    assert (await pair.client(1).ask("mine"))[0] == 404


async def test_steps_pushed_concurrently_to_both_servers_are_all_stored(pair: Pair) -> None:
    path = f"/control/scenarios/pushed/steps?session={pair.session}"
    first = path.replace("/steps", "")
    await pair.client(0).control("PUT", first, {"name": "pushed", "steps": []})

    async def push(number: int) -> None:
        step = {"name": str(number), "produce": {"text": f"{number}"}}
        await pair.client(number).control("POST", path, step)

    await asyncio.gather(*map(push, range(8)))
    steps = (await pair.client(0).control("GET", first))["steps"]
    assert sorted(step["name"] for step in steps) == [str(number) for number in range(8)]


async def test_stored_response_is_continued_on_the_other_server(pair: Pair) -> None:
    previous: dict[str, str] = {}
    for place in range(4):
        body = {"model": "gpt-4o", "input": "keep this", **previous}
        status, answer = await pair.client(place).request(
            "POST", "/v1/responses", json.dumps(body).encode()
        )
        assert status == 200, answer
        previous = {"previous_response_id": json.loads(answer)["id"]}
        path = f"/v1/responses/{previous['previous_response_id']}"
        assert (await pair.client(place + 1).request("GET", path))[0] == 200
    body = {"model": "gpt-4o", "input": "keep this", "previous_response_id": "resp_unknown"}
    status, _ = await pair.client(0).request("POST", "/v1/responses", json.dumps(body).encode())
    assert status == 400


async def test_run_is_cancelled_on_the_other_server(pair: Pair) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", pair.servers[0].port)
    body = json.dumps({"client_id": "me", "message": "slowly"}).encode()
    writer.write(
        b"POST /api/get_chat_response_stream HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )
    async with asyncio.timeout(SECONDS):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        trace = head.partition("x-trace-id: ")[2].partition("\r\n")[0]
        await reader.readuntil(b'"type":"chunk"')
        began = time.monotonic()
        response = await pair.client(1).control(
            "POST", "/api/cancel_stream", {"client_id": "me", "trace_id": trace}
        )
        took = time.monotonic() - began
        assert response == {"status": "cancelled", "trace_id": trace}
        await reader.readuntil(b'"cancelled":true')
    writer.close()
    await writer.wait_closed()
    print(f"cancelled from elsewhere in {took * 1000:.0f} ms")


async def test_no_key_is_in_redis(pair: Pair) -> None:
    """Neither a key that is sent nor one in a message is stored."""
    client_with_key = pair.client(0, key=CANARY)
    client_with_secret_session = pair.client(0, session=CANARY, key=CANARY)
    for client in (client_with_key, client_with_secret_session):
        for content in ("tell", "fail", "count", f"keep {CANARY}"):
            await client.ask(content)
        body = {"model": "gpt-4o", "input": f"keep {CANARY}", "store": True}
        status, answer = await client.request("POST", "/v1/responses", json.dumps(body).encode())
        assert status == 200
        path = f"/v1/responses/{json.loads(answer)['id']}/input_items"
        status, items = await client.request("GET", path)
        assert status == 200 and CANARY.encode() not in items and b"keep ***" in items
    assert (await client_with_secret_session.control("GET", f"/control/state?session={CANARY}"))[
        "counters"
    ]
    await client_with_secret_session.control(
        "PUT", f"/control/scenarios/own?session={CANARY}", scenario_for("own", content="x")
    )
    await client_with_secret_session.control("POST", "/control/reset", {"session": "nobody"})
    with redis.Redis.from_url(local_redis_url()) as redis_client:
        for key in redis_client.scan_iter(count=1_000):
            assert CANARY.encode() not in key
            assert CANARY.encode() not in _stored_value(redis_client, key), key


def _stored_value(client: "redis.Redis", key: bytes) -> bytes:
    kinds = {
        b"string": lambda: client.get(key),
        b"hash": lambda: client.hgetall(key),
        b"list": lambda: client.lrange(key, 0, -1),
        b"set": lambda: client.smembers(key),
        b"zset": lambda: client.zrange(key, 0, -1),
    }
    read_value = kinds.get(client.type(key))
    return repr(read_value() if read_value else b"").encode()
