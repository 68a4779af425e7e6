"""A server on SQLite that is killed while everything writes: what was acknowledged is there, a
scenario is never half of one and half of another, and the next start goes on."""

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
from tests.serving.processes.serve_process import Serving, serving, written
from tests.support import migrated_database
from tools.soak.servers import listening

PASSWORD = "a password of a test"
# Up to ten steps, a page has all fields.
STEPS = 8
SECONDS, FIRST_SECONDS = 60.0, 90.0
KEY = {"Authorization": "Bearer sk-writer"}
QUESTION = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
TALK = {
    "name": "talk",
    "steps": [{"consume": False, "produce": {"text": "word " * 40}}],
}


@dataclass
class Acknowledged:
    """What writers were told is stored; generations count up."""

    put: int = 0
    saved: int = 0
    answers: list[str] = field(default_factory=list)
    asked: int = 0

    def counts(self) -> list[int]:
        return [self.put, self.saved, len(self.answers), self.asked]


def document(name: str, generation: int) -> dict[str, Any]:
    steps = [
        {"match": {"model": f"m{n}"}, "produce": {"text": f"{generation}"}} for n in range(STEPS)
    ]
    return {"name": name, "description": f"{generation}", "steps": steps}


class Writers:
    """Clients that write one thing after another until their server is gone."""

    def __init__(self, server: Serving, known: Acknowledged) -> None:
        self._server = server
        self._known = known

    async def run(self, seconds: float) -> None:
        """Write side by side, and kill the server this long after each has written something."""
        before = self._known.counts()
        base_url = self._server.base_url
        async with (
            httpx2.AsyncClient(base_url=base_url, timeout=SECONDS) as client,
            httpx2.AsyncClient(base_url=base_url, timeout=SECONDS) as browser,
        ):
            await self._log_in(browser)
            each = (self._ask, self._put, self._talk, self._talk)
            tasks = [asyncio.create_task(self._until_gone(write, client)) for write in each]
            tasks.append(asyncio.create_task(self._until_gone(self._save, browser)))
            async with asyncio.timeout(FIRST_SECONDS):
                while any(map(int.__le__, self._known.counts(), before)):
                    await asyncio.sleep(0.01)
            await asyncio.sleep(seconds)
            self._server.process.send_signal(signal.SIGKILL)
            await asyncio.gather(*tasks)

    async def _log_in(self, client: httpx2.AsyncClient) -> None:
        page = await client.get("/admin/login/")
        given = fields(page.text, "login-form") | {"username": "admin", "password": PASSWORD}
        entered = await client.post("/admin/login/", data=given)
        assert entered.status_code == 302, entered.text[:500]

    async def _until_gone(self, write: Any, client: httpx2.AsyncClient) -> None:
        with suppress(httpx2.TransportError):
            while True:
                await write(client)

    async def _ask(self, client: httpx2.AsyncClient) -> None:
        answer = await client.post("/v1/chat/completions", json=QUESTION, headers=KEY)
        assert answer.status_code == 200
        self._known.asked += 1

    async def _put(self, client: httpx2.AsyncClient) -> None:
        given = document("put", self._known.put + 1)
        answer = await client.put("/control/scenarios/put", json=given)
        assert answer.status_code in (200, 201), answer.text
        self._known.put += 1

    async def _save(self, client: httpx2.AsyncClient) -> None:
        generation = str(self._known.saved + 1)
        listed = (await client.get(LIST, params={"q": "saved"})).text
        (page, *_) = re.findall(rf"{LIST}\d+/change/", listed)
        given = fields((await client.get(page)).text)
        given |= {name: generation for name in given if name.endswith("-answer_text")}
        answer = await client.post(page, data=given | {"description": generation})
        assert answer.status_code == 302, answer.text[:2_000]
        self._known.saved += 1

    async def _talk(self, client: httpx2.AsyncClient) -> None:
        said = {"client_id": "reader", "message": "Hello"}
        answer = await client.post("/api/get_chat_response_stream", json=said)
        assert answer.status_code == 200, answer.text
        last = json.loads(answer.text.strip().rpartition("data: ")[2])
        assert last["type"] == "done", last
        self._known.answers.append(last["message_id"])


def check_database(path: Path, known: Acknowledged) -> None:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        for name, told in (("put", known.put), ("saved", known.saved)):
            ((key, generation),) = database.execute(
                "SELECT id, description FROM scenarios_app_scenario WHERE name = ?", [name]
            ).fetchall()
            texts = database.execute(
                "SELECT answer_text FROM scenarios_app_step WHERE scenario_id = ?", [key]
            ).fetchall()
            # The running request may have been stored, and then completely.
            assert int(generation) in (told, told + 1)
            assert texts == [(generation,)] * STEPS
        rows = database.execute("SELECT id, status FROM chat_app_message").fetchall()
        complete = {key for key, status in rows if status == "complete"}
        stored = {one.replace("-", "") for one in known.answers}
        assert stored <= {str(key).replace("-", "") for key in complete}


def check_next_start(server: Serving, known: Acknowledged) -> None:
    with httpx2.Client(base_url=server.base_url, timeout=SECONDS) as client:
        assert client.get("/healthz").status_code == 200
        for name, told in (("put", known.put), ("saved", known.saved)):
            found = client.get(f"/control/scenarios/{name}").json()
            generation = int(found["description"])
            assert generation in (told, told + 1)
            assert [step["produce"]["text"] for step in found["steps"]] == [f"{generation}"] * STEPS
            # The writers continue from this generation.
            setattr(known, name, generation)
        listed = client.get("/api/list_conversations", params={"client_id": "reader"}).json()
        for one in listed["conversations"][:4]:
            query = {"client_id": "reader", "conversation_id": one["conversation_id"]}
            messages = client.get("/api/load_conversation", params=query).json()["messages"]
            for message in messages:
                if message["trace_id"]:
                    trace = client.get(f"/api/trace/{message['trace_id']}").json()
                    assert trace["status"] in ("completed", "failed"), trace["status"]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Any]:
    migrated_database.copy_to(tmp_path / "db.sqlite3")
    given = {
        "MOCKLLM_ENV": "dev",
        "DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3",
        "MOCKLLM_SCENARIOS": written(tmp_path, TALK),
        "MOCKLLM_ADMIN_PASSWORD": PASSWORD,
    }
    yield lambda: serving(tmp_path, "--no-demo", warm=True, **given)


@pytest.mark.parametrize(
    "rounds", [2, pytest.param(20, marks=[pytest.mark.long, pytest.mark.timeout(600)])]
)
@pytest.mark.timeout(300)
def test_acknowledged_writes_survive_a_kill_and_no_scenario_is_mixed(
    begin: Any, tmp_path: Path, rounds: int
) -> None:
    known, random_seconds = Acknowledged(), random.Random(28)
    for number in range(rounds + 1):
        with begin() as server, listening(server):
            if number:
                check_next_start(server, known)
            else:
                with httpx2.Client(base_url=server.base_url, timeout=SECONDS) as client:
                    for name in ("put", "saved"):
                        made = client.put(f"/control/scenarios/{name}", json=document(name, 0))
                        assert made.status_code == 201
            if number < rounds:
                writers = Writers(server, known)
                asyncio.run(writers.run(random_seconds.uniform(0, 0.5)))
                server.process.wait()
        if number < rounds:
            check_database(tmp_path / "db.sqlite3", known)
