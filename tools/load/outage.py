"""Takes the database away while requests are answered, and compares them with the journal."""

import http.client
import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.parse import urlencode

import psycopg

from tests.serving.processes.serve_process import run_server, write_scenarios
from tests.state.other_process import postgres_database
from tests.support.database_engine import POSTGRES
from tools.load.attacks import SCENARIOS
from tools.load.probing import chat

PER_SECOND = 100
SESSION = "outage"
HEADERS = {
    "Authorization": "Bearer any",
    "Content-Type": "application/json",
    "X-MockLLM-Session": SESSION,
}


class Request(NamedTuple):
    """A request of the clients, with the status and a part of the body that it must get."""

    path: str
    body: bytes
    status: int
    expected: bytes
    headers: Mapping[str, str] = HEADERS


# Sent in turn. Whatever happens to the database, errors have their provider's envelope.
REQUESTS = (
    Request("/v1/chat/completions", chat("a small question"), 200, b"A small answer."),
    Request("/v1/chat/completions", chat("a small question", stream=True), 200, b"data: [DONE]"),
    Request("/v1/chat/completions", chat("no step"), 404, b'"code":"no_scenario_matched"'),
    Request("/v1/chat/completions", b"{", 400, b'"type":"invalid_request_error"'),
    Request("/v1/nothing", b"{}", 404, b'"type":"invalid_request_error"'),
    Request("/v1/embeddings", b'{"model": "m", "input": "a"}', 200, b'"embedding"'),
    Request("/v1/messages", b"{}", 400, b'"type":"error"', {**HEADERS, "x-api-key": "any"}),
)
CLOSE_CONNECTIONS_SQL = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s"
)
COUNT_CONNECTIONS_SQL = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
PAGE_ENTRIES = 1_000
ANSWER_SECONDS = 60.0


@dataclass(frozen=True)
class Outage:
    """Results of an outage.

    `answered` and `journal` are request ids, in the order of responses and of rows; `slowest` is
    the longest wait for a response in seconds. The others are of the time without database:
    `waiting` the bytes of rows in memory, `inside` the number of connections to the database,
    `ready` and `healthy` the statuses of `/readyz` and `/healthz`, `database` the text of
    `/readyz`. `complete` and `lost` are those of the journal afterwards.
    """

    sent: int
    answered: list[str]
    slowest: float
    waiting: int
    inside: int
    journal: list[str]
    complete: bool
    lost: int
    ready: int
    healthy: int
    database: str


def outage(
    folder: Path, *, before: int, during: int, after: int, warm: bool = False, fast: bool = True
) -> Outage:
    """Send requests to a server on PostgreSQL, the middle ones while the database is away; without
    `fast` Django's view answers all of them."""
    waits: list[float] = []
    with (
        postgres_database() as address,
        run_server(
            folder,
            "--no-demo",
            warm=warm,
            MOCKLLM_ENV="dev",
            MOCKLLM_FAST=str(int(fast)),
            DATABASE_URL=address,
            MOCKLLM_SCENARIOS=write_scenarios(folder, *SCENARIOS),
            MOCKLLM_ADMIN_PASSWORD="a password of a test",
        ) as server,
        _drain_output(server.process),
        closing(http.client.HTTPConnection("127.0.0.1", server.port, ANSWER_SECONDS)) as client,
    ):
        answered = _send_requests(client, before, waits)
        with _database_away(address) as beside:
            answered += _send_requests(client, during, waits)
            waiting = _read_waiting_bytes(client)
            ready, page = _get(client, "/readyz")
            healthy, _ = _get(client, "/healthz")
            name = _database_name(address)
            (inside,) = beside.execute(COUNT_CONNECTIONS_SQL, [name]).fetchone() or (-1,)
        answered += _send_requests(client, after, waits)
        pages = _read_journal(client)
    ids = [line["id"] for page in pages for line in page["requests"]]
    complete, lost = all(page["complete"] for page in pages), pages[-1]["lost"]
    return Outage(
        before + during + after,
        answered,
        max(waits),
        waiting,
        inside,
        ids,
        complete,
        lost,
        ready,
        healthy,
        json.loads(page)["checks"]["database"],
    )


def report_lines(result: Outage) -> str:
    """Return the results as one line."""
    missing = len(set(result.answered) - set(result.journal))
    order = "in order" if result.journal == result.answered else "not the same"
    return (
        f"sent {result.sent:,}, answered {len(result.answered):,}, "
        f"in the journal {len(result.journal):,} ({order}), lost {missing:,}; "
        f"complete: {str(result.complete).lower()}, lost: {result.lost:,}, "
        f"waited for the database: {result.waiting / 1e6:.1f} MB, "
        f"slowest answer: {result.slowest:.2f} s"
    )


@contextmanager
def _drain_output(process: "subprocess.Popen[str]") -> Iterator[None]:
    """Drain the output of a server, which would block on a full pipe."""
    reader = Thread(target=process.communicate)
    reader.start()
    try:
        yield
    finally:
        process.kill()
        reader.join()


@contextmanager
def _database_away(address: str) -> Iterator["psycopg.Connection[tuple[int]]"]:
    """Close all connections to this database and refuse new ones; other databases are not
    affected."""
    name = _database_name(address)
    allow = f"ALTER DATABASE {name} ALLOW_CONNECTIONS"
    with psycopg.connect(POSTGRES, autocommit=True) as beside:
        beside.execute(f"{allow} false")
        try:
            beside.execute(CLOSE_CONNECTIONS_SQL, [name])
            yield beside
        finally:
            beside.execute(f"{allow} true")


def _get(client: http.client.HTTPConnection, path: str) -> tuple[int, bytes]:
    """Return the status and body of a response."""
    client.request("GET", path)
    response = client.getresponse()
    return response.status, response.read()


def _database_name(address: str) -> str:
    """Return the name of the database at an address."""
    return address.rpartition("/")[2]


def _send_requests(client: http.client.HTTPConnection, count: int, waits: list[float]) -> list[str]:
    """Send requests at a fixed rate, or as fast as responses come. Return the ids of those that got
    what they must; add the seconds of each response to `waits`."""
    began, ids = time.monotonic(), []
    for number, sent in zip(range(count), cycle(REQUESTS), strict=False):
        time.sleep(max(0.0, began + number / PER_SECOND - time.monotonic()))
        start = time.monotonic()
        client.request("POST", sent.path, sent.body, sent.headers)
        answer = client.getresponse()
        body = answer.read()
        waits.append(time.monotonic() - start)
        if sent.expected in body and answer.status == sent.status:
            ids.append(answer.headers["x-mockllm-request"])
    return ids


def _read_waiting_bytes(client: http.client.HTTPConnection) -> int:
    """Return the metric of the bytes that wait for the database."""
    client.request("GET", "/metrics")
    lines = client.getresponse().read().decode().splitlines()
    (value,) = (line.split()[1] for line in lines if line.startswith("mockllm_journal_waiting"))
    return int(float(value))


def _read_journal(client: http.client.HTTPConnection) -> list[dict[str, Any]]:
    """Return all pages of the journal of the session."""
    pages: list[dict[str, Any]] = []
    while not pages or pages[-1]["next"]:
        query = {"session": SESSION, "limit": PAGE_ENTRIES}
        if pages:
            query["after"] = pages[-1]["next"]
        client.request("GET", f"/control/requests?{urlencode(query)}")
        answer = client.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        pages.append(json.loads(body))
    return pages
