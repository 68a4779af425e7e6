"""Faults of a WebSocket itself, and their equivalents over HTTP."""

import asyncio
import contextlib
import json
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus

from tests.serving.pipelines import Harness, responses, scenario, text_step
from tests.serving.websocket.connections import connected, socket_server

PAUSE = 0.3


def faulty(kind: str, **fault: Any) -> dict[str, Any]:
    step = text_step("one two three", match={"model": "m"})
    step["produce"]["fault"] = {"kind": kind, **fault}
    return scenario("s", step)


async def events_before_close(client: Any) -> tuple[list[str], int | None]:
    """Return the types of all events, and the code of the close frame."""
    await client.send(model="m", input="Hello")
    types: list[str] = []
    with contextlib.suppress(ConnectionClosedError):
        async for text in client.connection:
            types.append(json.loads(text)["type"])
    return types, await client.close_code()


@pytest.mark.parametrize("frames", [0, 1, 3])
async def test_socket_is_closed_after_some_frames(
    monkeypatch: pytest.MonkeyPatch, frames: int
) -> None:
    document = faulty("close_socket", after_frames=frames, close_code=4001, message="Enough.")
    async with socket_server(monkeypatch, document) as (port, harness), connected(port) as client:
        types, code = await events_before_close(client)
        assert (len(types), code) == (frames, 4001)
        assert client.connection.close_reason == "Enough."
    (entry,) = harness.journal
    assert (entry.outcome, entry.fault, entry.step) == ("fault", "close_socket", "1")


async def test_socket_is_closed_late_after_the_whole_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = faulty("close_socket")
    async with socket_server(monkeypatch, document) as (port, _), connected(port) as client:
        types, code = await events_before_close(client)
    assert (types[-1], code) == ("response.completed", 1011)


async def test_connection_limit_is_an_error_event_before_the_close_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit = "websocket_connection_limit_reached"
    document = faulty("close_socket", after_frames=0, code=limit, close_code=1000)
    async with socket_server(monkeypatch, document) as (port, _), connected(port) as client:
        error = await client.ask(model="m", stream_id="a")
        assert (error["status"], error["error"]["code"]) == (400, limit)
        assert "stream_id" not in error
        assert await client.close_code() == 1000


@pytest.mark.parametrize("fault", [{"half_frame": True, "after_frames": 2}, {"close_code": 1006}])
async def test_connection_ends_without_a_close_frame(
    monkeypatch: pytest.MonkeyPatch, fault: dict[str, Any]
) -> None:
    document = faulty("close_socket", **fault)
    async with socket_server(monkeypatch, document) as (port, _), connected(port) as client:
        await client.send(model="m", input="Hello")
        with pytest.raises(Exception, match="no close frame"):
            while True:
                await client.event()
        assert client.connection.close_code == 1006


async def test_pings_are_not_answered_while_the_fault_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = faulty("no_pong", hold_ms=2 * int(PAUSE * 1000))
    del document["steps"][0]["produce"]["text"]
    async with socket_server(monkeypatch, document) as (port, _), connected(port) as client:
        await asyncio.wait_for(await client.connection.ping(), 20)
        await client.send(model="m", input="Hello")
        pong = await client.connection.ping()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(pong), PAUSE)
        assert await client.close_code() == 1006
        pong.exception()


async def test_upgrade_is_refused_by_a_step_and_then_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refusing = {"produce": {"fault": {"kind": "refuse_upgrade"}}}
    document = scenario("s", refusing, text_step("Hi.", match={"messages": ["Hello"]}))
    async with socket_server(monkeypatch, document) as (port, harness):
        with pytest.raises(InvalidStatus) as raised:
            async with connected(port):
                pass
        async with connected(port) as client:
            assert (await client.ask())["type"] == "response.completed"
    assert raised.value.response.status_code == 426
    assert raised.value.response.headers["Upgrade"] == "websocket"
    upgrade, answer = harness.journal
    assert (upgrade.method, upgrade.status, upgrade.fault) == ("GET", 426, "refuse_upgrade")
    assert (upgrade.step, answer.step) == ("1", "2")


async def test_stale_response_is_scripted_as_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stale = {
        "kind": "http",
        "status": 400,
        "code": "previous_response_not_found",
        "param": "previous_response_id",
    }
    document = scenario(
        "s",
        text_step("Hi.", match={"messages": ["Hello"]}),
        {"match": {"messages": ["And?"]}, "produce": {"fault": stale}},
        text_step("Again.", match={"messages": ["And?"]}),
    )
    async with socket_server(monkeypatch, document) as (port, _), connected(port) as client:
        first = (await client.ask(store=False))["response"]["id"]
        for _ in range(2):
            # The failed continuation has removed the response from its lane.
            error = await client.ask("And?", previous_response_id=first)
            assert error["error"]["code"] == "previous_response_not_found"


@pytest.mark.parametrize(
    ("kind", "fault", "status", "outcome"),
    [
        ("close_socket", {"after_frames": 3}, 200, "fault"),
        ("no_pong", {"hold_ms": 10}, 200, "fault"),
        ("refuse_upgrade", {}, 426, "fault"),
    ],
)
async def test_fault_over_http_is_the_nearest_one(
    kind: str, fault: dict[str, Any], status: int, outcome: str
) -> None:
    document = faulty(kind, **fault)
    if kind != "close_socket":
        del document["steps"][0]["produce"]["text"]
    harness = Harness(document)
    answer = await harness.pipeline.answer(responses("Hello", model="m", stream=True))
    body = b"".join([piece async for piece in answer.pieces()])
    assert b"response.completed" not in body
    assert answer.reply.cut is (status == 200)
    (entry,) = harness.journal
    assert (entry.status, entry.outcome) == (status, outcome)
