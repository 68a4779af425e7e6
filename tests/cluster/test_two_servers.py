"""Two servers behind a load balancer without stickiness: each answers as the other would."""

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

from tests.cluster.redis import machine
from tests.serving.processes.serve_process import Serving
from tests.state.outside import postgres_database
from tools.soak.client import Client
from tools.soak.servers import shared

# Two servers start, with two processes each.
pytestmark = pytest.mark.timeout(300)

SECONDS = 60.0
CANARY = f"sk-canary-{uuid4().hex}"


def says(name: str, *texts: str, asked: str, **step: Any) -> dict[str, Any]:
    match = {"messages": [{"contains": asked}]}
    steps = [{"match": match, "produce": {"text": text}, **step} for text in texts]
    return {"name": name, "steps": steps}


SCENARIOS = (
    says("three", "one", "two", "three", asked="tell", consume=True),
    says(
        "fails",
        "At last.",
        asked="fail",
        failures={"times": 2, "fault": {"kind": "http", "status": 500}},
    ),
    says("counts", "Counted.", asked="count", consume=False, side_effects={"counter": "calls"}),
    says("stores", "Kept.", asked="keep", consume=False),
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
    """Both servers, and a session of one test's own, whose connections end with it."""

    servers: tuple[Serving, Serving]
    session: str
    clients: list[Client] = field(default_factory=list)

    def client(self, place: int, *, session: str = "", key: str = "any") -> Client:
        port = self.servers[place % 2].port
        self.clients.append(Client(port, session=session or self.session, key=key))
        return self.clients[-1]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, Serving]]:
    one, other = (tmp_path_factory.mktemp(name) for name in ("one", "other"))
    with (
        postgres_database() as address,
        shared(one, *SCENARIOS, workers=1, postgres=address) as first,
        shared(other, *SCENARIOS, workers=1, postgres=address) as second,
    ):
        yield first, second


@pytest.fixture
async def pair(servers: tuple[Serving, Serving]) -> AsyncIterator[Pair]:
    pair = Pair(servers, uuid4().hex)
    yield pair
    await asyncio.gather(*(client.closed() for client in pair.clients))


async def by_turns(pair: Pair, *asked: str) -> list[tuple[int, str]]:
    found = []
    for place, content in enumerate(asked):
        found.append(await pair.client(place).ask(content))
    return found


async def test_steps_failures_and_counters_are_those_of_both(pair: Pair) -> None:
    told = await by_turns(pair, *["tell"] * 4)
    assert [text for _, text in told[:3]] == ["one", "two", "three"] and told[3][0] == 404
    statuses = [status for status, _ in await by_turns(pair, *["fail"] * 4)]
    assert statuses == [500, 500, 200, 404]
    await by_turns(pair, *["count"] * 3)
    seen = [await pair.client(place).control("GET", state_of(pair)) for place in (0, 1)]
    assert seen[0] == seen[1]
    assert seen[0]["counters"] == {"calls": 3} and seen[0]["attempts"][0]["count"] == 2
    assert seen[0]["complete"] is True


def state_of(pair: Pair) -> str:
    return f"/control/state?session={pair.session}"


async def test_a_reset_is_one_of_both(pair: Pair) -> None:
    await by_turns(pair, "tell", "tell")
    await pair.client(0).control("POST", "/control/reset", {"session": pair.session})
    told = await by_turns(pair, "tell", "tell", "tell")
    assert [text for _, text in told] == ["one", "two", "three"]
    for place in (0, 1):
        path = f"/control/requests?session={pair.session}"
        assert len((await pair.client(place).control("GET", path))["requests"]) == 3


async def test_the_journal_of_one_is_read_from_the_other_at_once(pair: Pair) -> None:
    for number in range(5):
        await pair.client(number).ask("count")
        asked = {"session": pair.session, "match": {"messages": [{"contains": "count"}]}}
        verified = await pair.client(number + 1).control(
            "POST", "/control/verify", {**asked, "count": {"equals": number + 1}}
        )
        assert verified["passed"] is True
    verdict = await pair.client(1).control("GET", f"/control/verdict?session={pair.session}")
    assert verdict["complete"] is True


async def test_the_figures_of_both_are_told_by_either(pair: Pair) -> None:
    async def answered(place: int) -> dict[str, float]:
        _, text = await pair.client(place).request("GET", "/metrics")
        families = text_string_to_metric_families(text.decode())
        found = [one for family in families for one in family.samples]
        return {
            one.labels["worker"]: one.value
            for one in found
            if one.name == "mockllm_requests_total" and one.labels["match"] == "matched"
            if one.labels["outcome"] == "complete" and one.labels["provider"] == "openai"
        }

    await by_turns(pair, "count", "count")
    before = await answered(0)
    assert len(before) == 2
    await by_turns(pair, *["count"] * 10)
    for place in (0, 1):
        after = await answered(place)
        assert {worker: after[worker] - before[worker] for worker in after} == dict.fromkeys(
            before, 5.0
        )


async def test_a_run_is_covered_by_both(pair: Pair) -> None:
    await pair.client(0).control("DELETE", "/control/coverage")
    await by_turns(pair, *["fail"] * 3, *["count"] * 3)
    for place in (0, 1):
        told = await pair.client(place).control("GET", "/control/coverage?scenarios=fails,counts")
        assert told["complete"] is True and told["requests"] == 6
        served = {one["scenario"]: one["steps"][0]["served"] for one in told["scenarios"]}
        assert served == {"counts": 3, "fails": 3}
        (fault,) = told["scenarios"][1]["steps"][0]["faults"]
        assert fault["triggered"] is True


async def test_an_edit_is_seen_by_the_others_next_request(pair: Pair) -> None:
    for number in range(10):
        document = says("edited", f"version {number}", asked="edited", consume=False)
        await pair.client(number).control("PUT", "/control/scenarios/edited", document)
        assert await pair.client(number + 1).ask("edited") == (200, f"version {number}")


async def test_a_sessions_own_scenarios_are_its_own_everywhere(pair: Pair) -> None:
    path = f"/control/scenarios/mine?session={pair.session}"
    for number in range(4):
        document = says("mine", f"mine {number}", asked="mine", consume=False)
        await pair.client(number).control("PUT", path, document)
        assert await pair.client(number + 1).ask("mine") == (200, f"mine {number}")
    await pair.client(0).control("DELETE", path)
    assert (await pair.client(1).ask("mine"))[0] == 404


async def test_steps_that_are_pushed_from_both_at_once_are_all_there(pair: Pair) -> None:
    path = f"/control/scenarios/pushed/steps?session={pair.session}"
    first = path.replace("/steps", "")
    await pair.client(0).control("PUT", first, {"name": "pushed", "steps": []})

    async def push(number: int) -> None:
        step = {"name": str(number), "produce": {"text": f"{number}"}}
        await pair.client(number).control("POST", path, step)

    await asyncio.gather(*map(push, range(8)))
    steps = (await pair.client(0).control("GET", first))["steps"]
    assert sorted(step["name"] for step in steps) == [str(number) for number in range(8)]


async def test_a_kept_answer_is_gone_on_with_elsewhere(pair: Pair) -> None:
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


async def test_a_run_is_cancelled_from_elsewhere(pair: Pair) -> None:
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
        told = await pair.client(1).control(
            "POST", "/api/cancel_stream", {"client_id": "me", "trace_id": trace}
        )
        took = time.monotonic() - began
        assert told == {"status": "cancelled", "trace_id": trace}
        await reader.readuntil(b'"cancelled":true')
    writer.close()
    await writer.wait_closed()
    print(f"cancelled from elsewhere in {took * 1000:.0f} ms")


async def test_no_key_is_in_redis(pair: Pair) -> None:
    """Neither one that is sent, nor one that its client says besides."""
    keyed = pair.client(0, key=CANARY)
    own = pair.client(0, session=CANARY, key=CANARY)
    for client in (keyed, own):
        for content in ("tell", "fail", "count", f"keep {CANARY}"):
            await client.ask(content)
        body = {"model": "gpt-4o", "input": f"keep {CANARY}", "store": True}
        status, answer = await client.request("POST", "/v1/responses", json.dumps(body).encode())
        assert status == 200
        path = f"/v1/responses/{json.loads(answer)['id']}/input_items"
        status, items = await client.request("GET", path)
        assert status == 200 and CANARY.encode() not in items and b"keep ***" in items
    assert (await own.control("GET", f"/control/state?session={CANARY}"))["counters"]
    await own.control("PUT", f"/control/scenarios/own?session={CANARY}", says("own", asked="x"))
    await own.control("POST", "/control/reset", {"session": "nobody"})
    with redis.Redis.from_url(machine()) as everything:
        for key in everything.scan_iter(count=1_000):
            assert CANARY.encode() not in key
            assert CANARY.encode() not in _value(everything, key), key


def _value(client: "redis.Redis", key: bytes) -> bytes:
    kinds = {
        b"string": lambda: client.get(key),
        b"hash": lambda: client.hgetall(key),
        b"list": lambda: client.lrange(key, 0, -1),
        b"set": lambda: client.smembers(key),
        b"zset": lambda: client.zrange(key, 0, -1),
    }
    read = kinds.get(client.type(key))
    return repr(read() if read else b"").encode()
