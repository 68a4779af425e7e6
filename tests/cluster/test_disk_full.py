"""A disk that takes no more: answers go on, the journal waits and counts what it has no room for,
and all goes on by itself once there is room."""

import asyncio
import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.serving.processes.serve_process import Serving, serving, written
from tests.support import migrated_database
from tools.soak.client import Client
from tools.soak.servers import listening, once

STEPS = 980
# The journal's limit for one body, so that its room is soon used up.
LONG = "x" * 65_536


@contextmanager
def full_disk(server: Serving) -> Iterator[None]:
    """No file of the server's may be written to, which is how a full disk shows; what has no name,
    such as a connection, goes on."""
    soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    migrated_database.copy_to(tmp_path / "db.sqlite3")
    given = {
        "MOCKLLM_ENV": "dev",
        "DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3",
        "MOCKLLM_SCENARIOS": written(tmp_path, once(STEPS)),
        "MOCKLLM_ADMIN_PASSWORD": "a password of a test",
    }
    with serving(tmp_path, "--no-demo", **given) as server, listening(server):
        yield server


async def looked(client: Client) -> tuple[int, dict[str, str]]:
    status, body = await client.request("GET", "/readyz")
    return status, json.loads(body)["checks"]


async def figure(client: Client, name: str) -> float:
    _, text = await client.request("GET", "/metrics")
    families = text_string_to_metric_families(text.decode())
    return next(one.value for family in families for one in family.samples if one.name == name)


async def in_journal(client: Client) -> tuple[int, bool, int]:
    """How many requests the journal has, whether these are all, and how many it lost."""
    page = await client.control("GET", "/control/requests?session=soak&limit=1000")
    return len(page["requests"]), page["complete"], page["lost"]


async def test_answers_go_on_and_the_journal_waits(server: Serving) -> None:
    client = Client(server.port)
    said = [await client.ask() for _ in range(5)]
    assert await in_journal(client) == (5, True, 0)
    with full_disk(server):
        said += [await client.ask() for _ in range(20)]
        async with asyncio.timeout(30):
            while (found := await looked(client)) != (
                200,
                {"database": "ok", "journal": "OperationalError"},
            ):
                assert found == (200, {"database": "ok", "journal": "ok"})
        assert await figure(client, "mockllm_journal_waiting_bytes") > 0
        assert (await client.request("GET", "/healthz"))[0] == 503
        body = json.dumps({"name": "other", "steps": []}).encode()
        assert (await client.request("PUT", "/control/scenarios/other", body))[0] == 503
    said += [await client.ask() for _ in range(5)]
    assert said == [(200, f"answer {number}") for number in range(30)]
    assert await in_journal(client) == (30, True, 0)
    assert await looked(client) == (200, {"database": "ok", "journal": "ok"})
    assert (await client.request("GET", "/healthz"))[0] == 200
    await client.control("PUT", "/control/scenarios/other", {"name": "other", "steps": []})
    await client.closed()


async def test_chat_says_that_it_cannot_store_and_goes_on_later(server: Serving) -> None:
    """A message that cannot be stored is refused; a run that is under way ends with an error."""
    client = Client(server.port)
    send, said = "/api/get_chat_response_stream", {"client_id": "reader", "message": "Hello"}
    body = json.dumps(said).encode()
    status, events = await client.request("POST", send, body)
    assert status == 200 and b'"type":"done"' in events
    with full_disk(server):
        for path, given in (
            (send, said),
            ("/api/new_conversation", {"client_id": "reader", "title": "new"}),
        ):
            status, answer = await client.request("POST", path, json.dumps(given).encode())
            assert status == 503, (path, status, answer)
            assert json.loads(answer)["code"] == "SERVICE_UNAVAILABLE"
        assert (await client.request("GET", "/api/list_conversations?client_id=reader"))[0] == 200
    status, events = await client.request("POST", send, body)
    assert status == 200 and b'"type":"done"' in events
    _, listed = await client.request("GET", "/api/list_conversations?client_id=reader")
    assert len(json.loads(listed)["conversations"]) == 2
    await client.closed()


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_journal_rows_without_room_are_counted(server: Serving) -> None:
    client = Client(server.port)
    asked = 0
    with full_disk(server):
        while (
            not (dropped := await figure(client, "mockllm_journal_dropped_total")) and asked < STEPS
        ):
            for _ in range(50):
                assert (await client.ask(LONG))[0] == 200
            asked += 50
        assert dropped
        dropped = await figure(client, "mockllm_journal_dropped_total")
    found = await in_journal(client)
    assert dropped > 0 and found == (asked - dropped, False, dropped)
    assert await figure(client, "mockllm_journal_waiting_bytes") == 0
    await client.closed()
