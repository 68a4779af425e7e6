"""A full disk: answers continue, the journal waits or counts dropped rows, and then recovers."""

import asyncio
import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.serving.processes.serve_process import ServerProcess, run_server, write_scenarios
from tests.support import migrated_database
from tools.soak.client import Client
from tools.soak.servers import drain_output, one_time_scenario

STEPS = 980
# The journal's limit for one body, so that its room is soon used up.
LONG_TEXT = "x" * 65_536


@contextmanager
def full_disk(server: ServerProcess) -> Iterator[None]:
    """Forbid the server to write to files, as on a full disk; connections are not affected."""
    soft, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    migrated_database.copy_to(tmp_path / "db.sqlite3")
    variables = {
        "MOCKLLM_ENV": "dev",
        "DATABASE_URL": f"sqlite:///{tmp_path}/db.sqlite3",
        "MOCKLLM_SCENARIOS": write_scenarios(tmp_path, one_time_scenario(STEPS)),
        "MOCKLLM_ADMIN_PASSWORD": "a password of a test",
    }
    with run_server(tmp_path, "--no-demo", **variables) as server, drain_output(server):
        yield server


async def read_readiness(client: Client) -> tuple[int, dict[str, str]]:
    status, body = await client.request("GET", "/readyz")
    return status, json.loads(body)["checks"]


async def metric_value(client: Client, name: str) -> float:
    _, text = await client.request("GET", "/metrics")
    families = text_string_to_metric_families(text.decode())
    return next(
        sample.value for family in families for sample in family.samples if sample.name == name
    )


async def read_journal(client: Client) -> tuple[int, bool, int]:
    """Return the number of requests in the journal, its completeness and the number lost."""
    page = await client.control("GET", "/control/requests?session=soak&limit=1000")
    return len(page["requests"]), page["complete"], page["lost"]


async def test_answers_continue_on_a_full_disk_and_the_journal_waits(server: ServerProcess) -> None:
    client = Client(server.port)
    answers = [await client.ask() for _ in range(5)]
    assert await read_journal(client) == (5, True, 0)
    with full_disk(server):
        answers += [await client.ask() for _ in range(20)]
        async with asyncio.timeout(30):
            while (readiness := await read_readiness(client)) != (
                200,
                {"database": "ok", "journal": "OperationalError"},
            ):
                assert readiness == (200, {"database": "ok", "journal": "ok"})
        assert await metric_value(client, "mockllm_journal_waiting_bytes") > 0
        assert (await client.request("GET", "/healthz"))[0] == 503
        body = json.dumps({"name": "other", "steps": []}).encode()
        assert (await client.request("PUT", "/control/scenarios/other", body))[0] == 503
    answers += [await client.ask() for _ in range(5)]
    assert answers == [(200, f"answer {number}") for number in range(30)]
    assert await read_journal(client) == (30, True, 0)
    assert await read_readiness(client) == (200, {"database": "ok", "journal": "ok"})
    assert (await client.request("GET", "/healthz"))[0] == 200
    await client.control("PUT", "/control/scenarios/other", {"name": "other", "steps": []})
    await client.closed()


async def test_chat_on_a_full_disk_is_503_and_works_afterwards(server: ServerProcess) -> None:
    """A message that cannot be stored is rejected."""
    client = Client(server.port)
    run_path, message = (
        "/api/get_chat_response_stream",
        {"client_id": "reader", "message": "Hello"},
    )
    body = json.dumps(message).encode()
    status, events = await client.request("POST", run_path, body)
    assert status == 200 and b'"type":"done"' in events
    with full_disk(server):
        for path, request_body in (
            (run_path, message),
            ("/api/new_conversation", {"client_id": "reader", "title": "new"}),
        ):
            status, answer = await client.request("POST", path, json.dumps(request_body).encode())
            assert status == 503, (path, status, answer)
            assert json.loads(answer)["code"] == "SERVICE_UNAVAILABLE"
        assert (await client.request("GET", "/api/list_conversations?client_id=reader"))[0] == 200
    status, events = await client.request("POST", run_path, body)
    assert status == 200 and b'"type":"done"' in events
    _, conversations = await client.request("GET", "/api/list_conversations?client_id=reader")
    assert len(json.loads(conversations)["conversations"]) == 2
    await client.closed()


@pytest.mark.long
@pytest.mark.timeout(600)
async def test_journal_rows_without_room_are_counted(server: ServerProcess) -> None:
    client = Client(server.port)
    request_count = 0
    with full_disk(server):
        while (
            not (dropped := await metric_value(client, "mockllm_journal_dropped_total"))
            and request_count < STEPS
        ):
            for _ in range(50):
                assert (await client.ask(LONG_TEXT))[0] == 200
            request_count += 50
        assert dropped
        dropped = await metric_value(client, "mockllm_journal_dropped_total")
    journal_state = await read_journal(client)
    assert dropped > 0 and journal_state == (request_count - dropped, False, dropped)
    assert await metric_value(client, "mockllm_journal_waiting_bytes") == 0
    await client.closed()
