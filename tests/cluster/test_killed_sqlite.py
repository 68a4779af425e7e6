"""A server on SQLite is killed during writes: acknowledged writes are kept and none is mixed."""

import asyncio
import json
import random
import re
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.admin.pages import LIST, fields
from tests.serving.processes.serve_process import ServerProcess, run_server, write_scenarios
from tests.support import migrated_database
from tools.soak.servers import drain_output

PASSWORD = "a password of a test"
# Up to ten steps, a page has all fields.
STEPS = 8
SECONDS, FIRST_SECONDS = 60.0, 90.0
KEY = {"Authorization": "Bearer sk-writer"}
QUESTION = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
CHAT_SCENARIO = {
    "name": "talk",
    "steps": [{"consume": False, "produce": {"text": "word " * 40}}],
}


@dataclass
class Acknowledged:
    """The acknowledged writes; `put` and `saved` are generations that count up."""

    put: int = 0
    saved: int = 0
    answers: list[str] = field(default_factory=list)
    request_count: int = 0

    def counts(self) -> list[int]:
        return [self.put, self.saved, len(self.answers), self.request_count]


def document(name: str, generation: int) -> dict[str, Any]:
    steps = [
        {"match": {"model": f"m{n}"}, "produce": {"text": f"{generation}"}} for n in range(STEPS)
    ]
    return {"name": name, "description": f"{generation}", "steps": steps}


class Writers:
    """Clients that write repeatedly until their server is gone."""

    def __init__(self, server: ServerProcess, acknowledged: Acknowledged) -> None:
        self._server = server
        self._acknowledged = acknowledged

    async def run(self, seconds: float) -> None:
        """Write concurrently, and kill the server `seconds` after each client has written once."""
        before = self._acknowledged.counts()
        base_url = self._server.base_url
        async with (
            httpx2.AsyncClient(base_url=base_url, timeout=SECONDS) as client,
            httpx2.AsyncClient(base_url=base_url, timeout=SECONDS) as browser,
        ):
            await self._log_in(browser)
            writes = (
                self._send_request,
                self._put_scenario,
                self._send_chat_message,
                self._send_chat_message,
            )
            tasks = [asyncio.create_task(self._until_gone(write, client)) for write in writes]
            tasks.append(asyncio.create_task(self._until_gone(self._save_in_admin, browser)))
            async with asyncio.timeout(FIRST_SECONDS):
                while any(map(int.__le__, self._acknowledged.counts(), before)):
                    await asyncio.sleep(0.01)
            await asyncio.sleep(seconds)
            self._server.process.send_signal(signal.SIGKILL)
            await asyncio.gather(*tasks)

    async def _log_in(self, client: httpx2.AsyncClient) -> None:
        page = await client.get("/admin/login/")
        form = fields(page.text, "login-form") | {"username": "admin", "password": PASSWORD}
        response = await client.post("/admin/login/", data=form)
        assert response.status_code == 302, response.text[:500]

    async def _until_gone(self, write: Any, client: httpx2.AsyncClient) -> None:
        with suppress(httpx2.TransportError):
            while True:
                await write(client)

    async def _send_request(self, client: httpx2.AsyncClient) -> None:
        response = await client.post("/v1/chat/completions", json=QUESTION, headers=KEY)
        assert response.status_code == 200
        self._acknowledged.request_count += 1

    async def _put_scenario(self, client: httpx2.AsyncClient) -> None:
        scenario = document("put", self._acknowledged.put + 1)
        response = await client.put("/control/scenarios/put", json=scenario)
        assert response.status_code in (200, 201), response.text
        self._acknowledged.put += 1

    async def _save_in_admin(self, client: httpx2.AsyncClient) -> None:
        generation = str(self._acknowledged.saved + 1)
        list_page = (await client.get(LIST, params={"q": "saved"})).text
        (page, *_) = re.findall(rf"{LIST}\d+/change/", list_page)
        form = fields((await client.get(page)).text)
        form |= {name: generation for name in form if name.endswith("-produce.text")}
        response = await client.post(page, data=form | {"description": generation})
        assert response.status_code == 302, response.text[:2_000]
        self._acknowledged.saved += 1

    async def _send_chat_message(self, client: httpx2.AsyncClient) -> None:
        message = {"client_id": "reader", "message": "Hello"}
        response = await client.post("/api/get_chat_response_stream", json=message)
        assert response.status_code == 200, response.text
        last = json.loads(response.text.strip().rpartition("data: ")[2])
        assert last["type"] == "done", last
        self._acknowledged.answers.append(last["message_id"])


def check_database(path: Path, acknowledged: Acknowledged) -> None:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        for name, acknowledged_generation in (
            ("put", acknowledged.put),
            ("saved", acknowledged.saved),
        ):
            ((key, document),) = database.execute(
                "SELECT id, document FROM scenarios_app_scenario WHERE name = ?", [name]
            ).fetchall()
            texts = database.execute(
                "SELECT document FROM scenarios_app_step WHERE scenario_id = ?", [key]
            ).fetchall()
            generation = json.loads(document)["description"]
            # The running request may have been stored, and then completely.
            assert int(generation) in (acknowledged_generation, acknowledged_generation + 1)
            assert [json.loads(step)["produce"]["text"] for (step,) in texts] == [
                generation
            ] * STEPS
        rows = database.execute("SELECT id, status FROM chat_app_message").fetchall()
        complete = {key for key, status in rows if status == "complete"}
        acknowledged_ids = {message_id.replace("-", "") for message_id in acknowledged.answers}
        assert acknowledged_ids <= {str(key).replace("-", "") for key in complete}


def check_next_start(server: ServerProcess, acknowledged: Acknowledged) -> None:
    with httpx2.Client(base_url=server.base_url, timeout=SECONDS) as client:
        assert client.get("/healthz").status_code == 200
        for name, acknowledged_generation in (
            ("put", acknowledged.put),
            ("saved", acknowledged.saved),
        ):
            scenario = client.get(f"/control/scenarios/{name}").json()
            generation = int(scenario["description"])
            assert generation in (acknowledged_generation, acknowledged_generation + 1)
            assert [step["produce"]["text"] for step in scenario["steps"]] == [
                f"{generation}"
            ] * STEPS
            # The writers continue from this generation.
            setattr(acknowledged, name, generation)
        conversations = client.get("/api/list_conversations", params={"client_id": "reader"}).json()
        for conversation in conversations["conversations"][:4]:
            query = {"client_id": "reader", "conversation_id": conversation["conversation_id"]}
            messages = client.get("/api/load_conversation", params=query).json()["messages"]
            for message in messages:
                if message["trace_id"]:
                    trace = client.get(f"/api/trace/{message['trace_id']}").json()
                    assert trace["status"] in ("completed", "failed"), trace["status"]


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[Any]:
    migrated_database.copy_to(tmp_path / "db.sqlite3")
    variables = {
        "MOCKLLM_ENV": "dev",
        "DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3",
        "MOCKLLM_SCENARIOS": write_scenarios(tmp_path, CHAT_SCENARIO),
        "MOCKLLM_ADMIN_PASSWORD": PASSWORD,
    }
    yield lambda: run_server(tmp_path, "--no-demo", warm=True, **variables)


@pytest.mark.parametrize(
    "rounds", [2, pytest.param(20, marks=[pytest.mark.long, pytest.mark.timeout(600)])]
)
@pytest.mark.timeout(300)
def test_acknowledged_writes_survive_a_kill_and_no_scenario_is_mixed(
    start_server: Any, tmp_path: Path, rounds: int
) -> None:
    acknowledged, random_seconds = Acknowledged(), random.Random(28)
    for number in range(rounds + 1):
        with start_server() as server, drain_output(server):
            if number:
                check_next_start(server, acknowledged)
            else:
                with httpx2.Client(base_url=server.base_url, timeout=SECONDS) as client:
                    for name in ("put", "saved"):
                        response = client.put(f"/control/scenarios/{name}", json=document(name, 0))
                        assert response.status_code == 201
            if number < rounds:
                writers = Writers(server, acknowledged)
                asyncio.run(writers.run(random_seconds.uniform(0, 0.5)))
                server.process.wait()
        if number < rounds:
            check_database(tmp_path / "db.sqlite3", acknowledged)
