"""Redis is away: requests without state are answered, others are rejected, and it recovers."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios_app.cluster import connections as shared_connections
from scenarios_app.engine.state import AttemptRef, StateUnavailable, StepRef, put_scenario
from tests.cluster.redis import RedisServer
from tests.cluster.stores import delete_keys, fresh_state, state_of_other_process
from tests.serving.processes.serve_process import ServerProcess
from tools.soak.client import Client
from tools.soak.servers import run_shared_server

STEP = StepRef("weather", "k1", "1")


def scenario_for(name: str, *, content: str, **step: object) -> dict[str, object]:
    match = {"messages": [{"contains": content}]}
    return {"name": name, "steps": [{"match": match, "produce": {"text": f"{name}."}, **step}]}


SCENARIOS = (
    scenario_for("always", content="plain", consume=False),
    scenario_for("once", content="once", consume=True),
    scenario_for("counted", content="counted", consume=False, side_effects={"counter": "calls"}),
    scenario_for(
        "fails",
        content="fails",
        consume=False,
        failures={"times": 1, "fault": {"kind": "http", "status": 500}},
    ),
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[RedisServer]:
    engine = RedisServer(tmp_path)
    yield engine
    engine.stop()


async def test_operation_without_redis_fails_and_works_again(engine: RedisServer) -> None:
    state = fresh_state(url=engine.url)
    state._connections.use_running_loop()
    await state.arrive("a")
    engine.stop()
    operations = (
        lambda: state.arrive("b"),
        lambda: state.consume("a", STEP),
        lambda: state.count_failure("a", AttemptRef(STEP, "openai"), times=1),
        lambda: state.increment("a", "calls"),
        lambda: state.add_violation("a", "It should not."),
        lambda: state.read("a"),
        lambda: state.sessions(),
        lambda: state.reset(None),
        lambda: state.clear_scenario("weather"),
        lambda: state.scenarios_of("a"),
        lambda: put_scenario(state, "a", "own", {}),
        lambda: state.remember_response("a", "r1", b"one"),
        lambda: state.recall_response("a", "r1"),
        lambda: state.forget_response("a", "r1"),
    )
    for operation in operations:
        with pytest.raises(StateUnavailable, match="try again"):
            await operation()
    engine.start()
    await asyncio.sleep(shared_connections.PAUSE_SECONDS)
    assert (await state.arrive("a")).ordinal == 2
    assert state._connections.lost == 0
    await state._connections.release_loop()


async def test_session_with_cached_scenarios_arrives_without_redis(engine: RedisServer) -> None:
    state = fresh_state(url=engine.url)
    await state.arrive("a")
    await state.consume("a", STEP)
    await put_scenario(state, "own", "mine", {"name": "mine"})
    await state.arrive("own")
    engine.stop()
    first, second = await state.arrive("a"), await state.arrive("a")
    # Its ids are unique, and consumed steps must be checked in Redis.
    assert first.ordinal < 0 and first.ordinal != second.ordinal
    assert ("weather", "k1") not in first.consumed and first.documents == {}
    assert (await state.arrive("own")).documents == {"mine": {"name": "mine"}}
    state.drop_cached_scenarios("nobody")
    state.drop_cached_scenarios()
    with pytest.raises(StateUnavailable):
        await state.arrive("a")
    await state._connections.release_loop()


@pytest.mark.parametrize("clock", [None, 1.0], ids=["right", "set back"])
async def test_lost_data_of_redis_is_reported(
    clock: float | None,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = RedisServer(tmp_path, persists=False)
    state = fresh_state(url=engine.url)
    other_state = state_of_other_process(state)
    state._connections.use_running_loop()
    name = state._connections.name()
    await state.arrive("a")
    before = state._connections.moment
    engine.stop()
    if clock is not None:
        monkeypatch.setattr(shared_connections.time, "time", lambda: clock)
    engine.start()
    # Its old connection turns out to be dead.
    assert (await state.arrive("a")).ordinal < 0
    await asyncio.sleep(shared_connections.PAUSE_SECONDS)
    assert (await state.arrive("a")).ordinal == 1
    assert state._connections.lost == 1 and "appendonly" in caplog.text
    # No clock value is used again, and it is the same Redis.
    assert state._connections.moment > before
    assert other_state._connections.name() == name
    await other_state.arrive("a")
    assert other_state._connections.lost == 0
    await state._connections.release_loop()
    engine.stop()


def test_redis_that_lost_its_name_is_recognized_by_its_listeners() -> None:
    state = fresh_state()
    connections = state._connections
    name = connections.name()
    delete_keys(state)
    with connections.here.pubsub() as listening:
        listening.subscribe(connections.channel)
        assert listening.get_message(timeout=5)
        assert state_of_other_process(state)._connections.name(name) == name
        delete_keys(state)
        # Redis has another name since, of a process that knew none.
        assert state_of_other_process(state)._connections.name() != name
        assert state_of_other_process(state)._connections.name(name) == name
    delete_keys(state)


def test_redis_without_listeners_does_not_take_the_name_of_another_one() -> None:
    state = fresh_state()
    assert state._connections.name("another") != "another"
    delete_keys(state)


@pytest.mark.timeout(300)
def test_requests_without_state_are_answered(engine: RedisServer, tmp_path: Path) -> None:
    with run_shared_server(tmp_path, *SCENARIOS, workers=1, redis=engine.url) as server:
        asyncio.run(_check_outage(server, engine))
        code, _, _ = server.end()
    assert code == 0


async def _check_outage(server: ServerProcess, engine: RedisServer) -> None:
    known_client, unknown_client = (
        Client(server.port, session=name) for name in ("known", "unknown")
    )
    assert await known_client.ask("plain") == (200, "always.")
    engine.stop()
    assert await known_client.ask("plain") == (200, "always.")
    assert await known_client.ask("plain", stream=True) == (200, "always.")
    assert (await known_client.request("GET", "/v1/models"))[0] == 200
    for content in ("once", "counted", "fails"):
        status, body = await known_client.ask(content)
        assert status == 503 and json.loads(body)["error"]["type"] == "server_error", (
            content,
            body,
        )
    assert (await unknown_client.ask("plain"))[0] == 503
    status, body = await known_client.request("GET", "/control/state?session=known")
    assert (status, json.loads(body)["code"]) == (503, "SERVICE_UNAVAILABLE")
    status, body = await known_client.request("GET", "/readyz")
    assert (status, json.loads(body)["ready"]) == (503, False)
    assert (await known_client.request("GET", "/livez"))[0] == 200
    engine.start()
    answers: list[tuple[int, str]] = []

    async def ask_until_available() -> None:
        while (answer := await known_client.ask("once"))[0] == 503:
            await asyncio.sleep(0.05)
        answers.append(answer)

    await asyncio.wait_for(ask_until_available(), 60)
    assert answers == [(200, "once.")] and (await known_client.ask("once"))[0] == 404
    status, _ = await known_client.request("GET", "/readyz")
    assert status == 200
    known_client.close()
    unknown_client.close()
