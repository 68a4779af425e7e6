"""The end of `serve` while everything is going on at once, as a process manager brings it about."""

import asyncio
import json
import signal
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.chat.scripts import ENDLESS, call_tool
from tests.serving.pipelines import chat, scenario
from tests.serving.processes.serve_process import Serving, serving, written
from tests.support import migrated_database

PASSWORD = "a-password-of-tests"
RESTARTING = 1012
INTERRUPTED = ("error", "SERVICE_UNAVAILABLE", "interrupted")
WIRE = {"match": {"model": "wire"}, "consume": False, "produce": ENDLESS}
TOOL = {"match": {"model": "gpt-4o"}, "consume": False, "produce": call_tool("slow", seconds=600)}


@dataclass
class Going:
    """A server with a stream of a wire, a run whose tool is being called by a process of its own,
    and somebody who watches the journal."""

    server: Serving
    wire: AsyncIterator[dict[str, Any]]
    run: AsyncIterator[dict[str, Any]]
    journal: ClientConnection
    children: set[int] = field(default_factory=set)

    async def ended(self) -> tuple[dict[str, Any], dict[str, Any], int | None]:
        """The last that each of the streams says, and the code that the socket is closed with."""
        wire, run = [event async for event in self.wire], [event async for event in self.run]
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                await self.journal.recv()
        code = closed.value.rcvd.code if closed.value.rcvd else None
        return wire[-1], run[-1], code


@asynccontextmanager
async def going(directory: Path, *, drain_seconds: str) -> AsyncIterator[Going]:
    variables = {
        "MOCKLLM_ENV": "dev",
        "MOCKLLM_SCENARIOS": written(directory, scenario("both", WIRE, TOOL)),
        "MOCKLLM_ADMIN_PASSWORD": PASSWORD,
        "MOCKLLM_DRAIN_SECONDS": drain_seconds,
    }
    migrated_database.copy_to(directory / "mockllm.sqlite3")
    async with AsyncExitStack() as held:
        server = held.enter_context(serving(directory, **variables))
        client = httpx2.AsyncClient(base_url=server.base_url, timeout=60)
        await held.enter_async_context(client)
        journal = await held.enter_async_context(await watching(client, server))
        asked = chat(model="wire", stream=True)
        headers = dict(asked.headers)
        wire = client.stream("POST", asked.path, content=asked.body, headers=headers)
        wire_events = events(await held.enter_async_context(wire))
        await anext(wire_events)
        body = {"client_id": "reader", "message": "Go on"}
        run = client.stream("POST", "/api/get_chat_response_stream", json=body)
        run_events = events(await held.enter_async_context(run))
        async for event in run_events:
            if event["type"] == "tool_start":
                break
        children = server.children()
        assert children
        yield Going(server, wire_events, run_events, journal, children)


async def watching(client: httpx2.AsyncClient, server: Serving) -> connect:
    """The journal's socket, as the admin's user has it."""
    await client.get("/admin/login/")
    token = client.cookies["csrftoken"]
    form = {"username": "admin", "password": PASSWORD, "csrfmiddlewaretoken": token}
    assert (await client.post("/admin/login/", data=form)).status_code == 302
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    return connect(
        f"ws://127.0.0.1:{server.port}/ws/journal/",
        origin=server.base_url,
        additional_headers={"Cookie": cookies},
    )


async def events(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    assert response.status_code == 200
    async for line in response.aiter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def alive(pid: int) -> bool:
    """Whether a process is there; one that ended and waits to be reaped is not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def stored(directory: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(directory / "mockllm.sqlite3")) as database:

        def rows(query: str) -> list[Any]:
            return database.execute(query).fetchall()

        journal = "SELECT model, outcome FROM scenarios_app_servedrequest ORDER BY model"

        return {
            "integrity": rows("PRAGMA integrity_check"),
            "journal": rows(journal),
            "runs": rows("SELECT status, code, error FROM traces_app_trace"),
            "tools": rows(
                "SELECT json_extract(payload, '$.status') FROM traces_app_traceevent "
                "WHERE type = 'tool_end'"
            ),
        }


@pytest.fixture(params=["one", "terminated twice", "interrupted twice"])
def signals(request: pytest.FixtureRequest) -> Iterator[tuple[signal.Signals, ...]]:
    """SIGTERM, and what comes after it."""
    again = {"terminated twice": signal.SIGTERM, "interrupted twice": signal.SIGINT}
    yield (again[request.param],) if request.param in again else ()


async def test_everything_ends_properly_and_nothing_is_left(
    tmp_path: Path, signals: tuple[signal.Signals, ...]
) -> None:
    """After the time for draining, or at once when it is said twice."""
    drain_seconds = "600" if signals else "1"
    async with going(tmp_path, drain_seconds=drain_seconds) as all_at_once:
        server = all_at_once.server
        server.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(server.logged, "Shutting down")
        for again in signals:
            server.process.send_signal(again)
        wire, run, closed = await all_at_once.ended()
        code, _, err = await asyncio.to_thread(server.wait)
    assert wire["error"]["message"] == "The server is shutting down."
    assert (run["type"], run["code"], run["message"]) == INTERRUPTED
    assert closed == RESTARTING
    assert code == 0
    assert "Traceback" not in err
    assert not [pid for pid in all_at_once.children if alive(pid)]
    assert stored(tmp_path) == {
        "integrity": [("ok",)],
        "journal": [("gpt-4o", "complete"), ("wire", "fault")],
        "runs": [("failed", "SERVICE_UNAVAILABLE", "interrupted")],
        "tools": [("cancelled",)],
    }


async def test_a_client_that_reads_nothing_does_not_outlast_a_second_signal(
    tmp_path: Path,
) -> None:
    large = {"consume": False, "produce": {"text": "word " * 400_000}}
    variables = {"MOCKLLM_SCENARIOS": written(tmp_path, scenario("large", large))}
    with serving(tmp_path, MOCKLLM_DRAIN_SECONDS="600", **variables) as server:
        asked = chat(stream=True)
        head = f"POST {asked.path} HTTP/1.1\r\nHost: localhost\r\n"
        fields = {**asked.headers, "content-length": str(len(asked.body))}
        head += "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=100)
        writer.write(head.encode() + asked.body)
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        server.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(server.logged, "Waiting for connections to close")
        server.process.send_signal(signal.SIGTERM)
        code, _, err = await asyncio.to_thread(server.wait)
        writer.close()
    assert code == 0
    assert "Traceback" not in err
