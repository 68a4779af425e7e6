"""`serve` is ended by signals while a stream, a chat run and a journal socket are open."""

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
from tests.serving.processes.serve_process import ServerProcess, run_server, write_scenarios
from tests.support import migrated_database

PASSWORD = "a-password-of-tests"
RESTARTING = 1012
INTERRUPTED = ("error", "SERVICE_UNAVAILABLE", "interrupted")
WIRE = {"match": {"model": "wire"}, "consume": False, "produce": ENDLESS}
TOOL = {"match": {"model": "gpt-4o"}, "consume": False, "produce": call_tool("slow", seconds=600)}


@dataclass
class BusyServer:
    """A server with an open provider stream, a chat run whose tool runs in a process, and an open
    journal socket."""

    server: ServerProcess
    wire: AsyncIterator[dict[str, Any]]
    run: AsyncIterator[dict[str, Any]]
    journal: ClientConnection
    children: set[int] = field(default_factory=set)

    async def read_last_events(self) -> tuple[dict[str, Any], dict[str, Any], int | None]:
        """Return the last event of each stream, and the close code of the socket."""
        wire, run = [event async for event in self.wire], [event async for event in self.run]
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                await self.journal.recv()
        code = closed.value.rcvd.code if closed.value.rcvd else None
        return wire[-1], run[-1], code


@asynccontextmanager
async def run_busy_server(directory: Path, *, drain_seconds: str) -> AsyncIterator[BusyServer]:
    variables = {
        "MOCKLLM_ENV": "dev",
        "MOCKLLM_SCENARIOS": write_scenarios(directory, scenario("both", WIRE, TOOL)),
        "MOCKLLM_ADMIN_PASSWORD": PASSWORD,
        "MOCKLLM_DRAIN_SECONDS": drain_seconds,
    }
    migrated_database.copy_to(directory / "mockllm.sqlite3")
    async with AsyncExitStack() as stack:
        server = stack.enter_context(run_server(directory, **variables))
        client = httpx2.AsyncClient(base_url=server.base_url, timeout=60)
        await stack.enter_async_context(client)
        journal = await stack.enter_async_context(await open_journal_socket(client, server))
        wire_call = chat(model="wire", stream=True)
        headers = dict(wire_call.headers)
        wire = client.stream("POST", wire_call.path, content=wire_call.body, headers=headers)
        wire_events = events(await stack.enter_async_context(wire))
        await anext(wire_events)
        body = {"client_id": "reader", "message": "Go on"}
        run = client.stream("POST", "/api/get_chat_response_stream", json=body)
        run_events = events(await stack.enter_async_context(run))
        async for event in run_events:
            if event["type"] == "tool_start":
                break
        children = server.children()
        assert children
        yield BusyServer(server, wire_events, run_events, journal, children)


async def open_journal_socket(client: httpx2.AsyncClient, server: ServerProcess) -> connect:
    """Return the journal's socket for a logged-in admin."""
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


def is_alive(pid: int) -> bool:
    """Return whether a process runs; an ended one that is not reaped does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def read_database(directory: Path) -> dict[str, Any]:
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
    """The signals after the first SIGTERM."""
    second_signals = {"terminated twice": signal.SIGTERM, "interrupted twice": signal.SIGINT}
    yield (second_signals[request.param],) if request.param in second_signals else ()


async def test_streams_runs_and_processes_end_with_the_server(
    tmp_path: Path, signals: tuple[signal.Signals, ...]
) -> None:
    """The server ends after the drain time, or immediately after a second signal."""
    drain_seconds = "600" if signals else "1"
    async with run_busy_server(tmp_path, drain_seconds=drain_seconds) as busy:
        server = busy.server
        server.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(server.wait_for_log, "Shutting down")
        for number in signals:
            server.process.send_signal(number)
        wire, run, close_code = await busy.read_last_events()
        code, _, err = await asyncio.to_thread(server.wait)
    assert wire["error"]["message"] == "The server is shutting down."
    assert (run["type"], run["code"], run["message"]) == INTERRUPTED
    assert close_code == RESTARTING
    assert code == 0
    assert "Traceback" not in err
    assert not [pid for pid in busy.children if is_alive(pid)]
    assert read_database(tmp_path) == {
        "integrity": [("ok",)],
        "journal": [("gpt-4o", "complete"), ("wire", "fault")],
        "runs": [("failed", "SERVICE_UNAVAILABLE", "interrupted")],
        "tools": [("cancelled",)],
    }


async def test_client_that_reads_nothing_is_closed_by_a_second_signal(
    tmp_path: Path,
) -> None:
    large = {"consume": False, "produce": {"text": "word " * 400_000}}
    variables = {"MOCKLLM_SCENARIOS": write_scenarios(tmp_path, scenario("large", large))}
    with run_server(tmp_path, MOCKLLM_DRAIN_SECONDS="600", **variables) as server:
        call = chat(stream=True)
        head = f"POST {call.path} HTTP/1.1\r\nHost: localhost\r\n"
        fields = {**call.headers, "content-length": str(len(call.body))}
        head += "".join(f"{name}: {value}\r\n" for name, value in fields.items()) + "\r\n"
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=100)
        writer.write(head.encode() + call.body)
        assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
        server.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(server.wait_for_log, "Waiting for connections to close")
        server.process.send_signal(signal.SIGTERM)
        code, _, err = await asyncio.to_thread(server.wait)
        writer.close()
    assert code == 0
    assert "Traceback" not in err
