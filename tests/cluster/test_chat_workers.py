"""Chat runs with two workers on one port are followed, resumed and cancelled by any worker."""

import asyncio
import json
import os
import random
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.serving.processes.serve_process import ServerProcess
from tools.soak.outages import wait_until
from tools.soak.servers import run_shared_server
from traces_app.leases import MAX_UNSTORED_EVENTS

RUNS, SECONDS = 8, 60.0
WORD_COUNT = 120
SLOW_SCENARIO = {
    "name": "slowly",
    "steps": [
        {
            "consume": False,
            "produce": {
                "text": "word " * WORD_COUNT,
                "pacing": {"words_per_second": 20, "words_per_chunk": 1},
            },
        }
    ],
}


@dataclass
class Run:
    """A run as seen by a client that reconnects until it gets the terminal event."""

    client_id: str
    trace_id: str = ""
    events: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    resumed: int = 0

    @property
    def last(self) -> dict[str, Any]:
        return self.events[-1][1] if self.events else {}

    @property
    def has_ended(self) -> bool:
        return self.last.get("type") in ("done", "error")

    async def follow(self, base_url: str) -> None:
        async with asyncio.timeout(SECONDS):
            await self._read_events(base_url, "POST", "/api/get_chat_response_stream")
            while not self.has_ended:
                self.resumed += 1
                await asyncio.sleep(0.05)
                await self._read_events(base_url, "GET", f"/api/stream/{self.trace_id}")

    async def _read_events(self, base_url: str, method: str, path: str) -> None:
        """Read the events of one connection."""
        headers = {"Last-Event-ID": str(self.events[-1][0])} if self.events else {}
        client_fields = {"client_id": self.client_id}
        request_args = (
            {"json": {**client_fields, "message": "Hello"}}
            if method == "POST"
            else {"params": client_fields}
        )
        try:
            async with (
                httpx2.AsyncClient(base_url=base_url, timeout=SECONDS) as client,
                client.stream(method, path, headers=headers, **request_args) as response,
            ):
                assert response.status_code == 200
                self.trace_id = response.headers["x-trace-id"]
                number = 0
                async for line in response.aiter_lines():
                    if line.startswith("id: "):
                        number = int(line[4:])
                    elif line.startswith("data: "):
                        self.events.append((number, json.loads(line[6:])))
        except httpx2.TransportError:
            return

    def check(self) -> None:
        """Assert that each event came once, in order, and only the last one is terminal.

        Only the terminal event of a run whose worker was killed leaves a gap before its number.
        """
        *before, (last_number, last) = self.events
        assert [number for number, _ in before] == list(range(1, len(self.events)))
        if last["type"] == "error":
            assert last_number > MAX_UNSTORED_EVENTS
        else:
            assert last_number == len(self.events)
        terminal = [event for _, event in self.events if event["type"] in ("done", "error")]
        assert terminal == [self.last]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder: Path = tmp_path_factory.mktemp("workers")
    # Imported in each worker, as in the successor of a killed one.
    with run_shared_server(folder, SLOW_SCENARIO, workers=2, warm=False) as server:
        yield server


async def start_runs(server: ServerProcess) -> tuple[list[Run], list["asyncio.Task[None]"]]:
    """Start runs and return them with their tasks once each has received events."""
    runs = [Run(f"reader {number}") for number in range(RUNS)]
    tasks = [asyncio.create_task(run.follow(server.base_url)) for run in runs]
    async with asyncio.timeout(SECONDS):
        while not all(len(run.events) > 3 for run in runs):
            await asyncio.sleep(0.02)
    return runs, tasks


async def load_run(server: ServerProcess, run: Run) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the trace of a run and the stored messages of its conversation."""
    async with httpx2.AsyncClient(base_url=server.base_url, timeout=SECONDS) as client:
        trace: dict[str, Any] = (await client.get(f"/api/trace/{run.trace_id}")).json()
        query = {"client_id": run.client_id, "conversation_id": trace["conversation_id"]}
        conversation = (await client.get("/api/load_conversation", params=query)).json()
        messages: list[dict[str, Any]] = conversation["messages"]
        return trace, messages


@pytest.mark.timeout(300)
def test_runs_of_a_killed_worker_end_and_other_runs_continue(server: ServerProcess) -> None:
    async def kill_worker_during_runs() -> list[Run]:
        runs, tasks = await start_runs(server)
        before = server.children()
        os.kill(random.choice(sorted(before)), signal.SIGKILL)
        await asyncio.gather(*tasks)
        await wait_until(lambda: len(server.children() - before) > 0)
        for run in runs:
            trace, (user, *answers) = await load_run(server, run)
            assert (user["content"], user["status"]) == ("Hello", "complete")
            # A run that was killed before its first events were stored has no answer.
            assert len(answers) == 1 or (answers == [] and trace["status"] == "failed")
            stored_text = answers[0]["content"] if answers else ""
            streamed_text = "".join(
                event["content"] for _, event in run.events if event["type"] == "chunk"
            )
            # The last events before the kill may have been sent and not stored.
            assert streamed_text.strip().startswith(stored_text.strip())
            assert (trace["status"] == "failed") == (run.last["type"] != "done")
        return runs

    runs = asyncio.run(kill_worker_during_runs())
    for run in runs:
        run.check()
        if run.last["type"] == "error":
            assert (run.last["code"], run.last["message"]) == ("SERVICE_UNAVAILABLE", "interrupted")
            assert run.resumed
    completed_runs = [run for run in runs if run.last["type"] == "done"]
    assert all(
        sum(event["type"] == "chunk" for _, event in run.events) >= WORD_COUNT
        for run in completed_runs
    )


@pytest.mark.timeout(300)
def test_run_is_cancelled_by_any_worker(server: ServerProcess) -> None:
    async def cancel_runs() -> list[Run]:
        runs, tasks = await start_runs(server)
        async with httpx2.AsyncClient(base_url=server.base_url, timeout=SECONDS) as client:
            for run in runs:
                cancel_request = {"client_id": run.client_id, "trace_id": run.trace_id}
                # A separate connection, so that any worker may accept it.
                headers = {"Connection": "close"}
                response = await client.post(
                    "/api/cancel_stream", json=cancel_request, headers=headers
                )
                assert response.json() == {"status": "cancelled", "trace_id": run.trace_id}
                second_response = await client.post(
                    "/api/cancel_stream", json=cancel_request, headers=headers
                )
                assert second_response.status_code == 409
        await asyncio.gather(*tasks)
        return runs

    for run in asyncio.run(cancel_runs()):
        run.check()
        assert run.last["type"] == "done" and run.last["cancelled"] is True
        assert run.resumed == 0
