"""Concurrent requests to one server, and the number of its database connections."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread

import psycopg

CONNECTIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
CLOSE_ALL = f"""
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE pid IN ({CONNECTIONS.replace("count(*)", "pid")})
"""
POLL_SECONDS = 0.005
ANSWER_SECONDS = 60.0


@dataclass
class ConnectionMaximum:
    """The highest number of connections that was observed."""

    most: int = 0
    stopped: Event = field(default_factory=Event)


@contextmanager
def watch_connections(address: str) -> Iterator[ConnectionMaximum]:
    """Count the connections of the database repeatedly, at least once."""
    maximum = ConnectionMaximum()

    def observe() -> None:
        with psycopg.connect(address, autocommit=True) as observer:
            while True:
                maximum.most = max(maximum.most, connections(observer))
                if maximum.stopped.wait(POLL_SECONDS):
                    return

    thread = Thread(target=observe)
    thread.start()
    try:
        yield maximum
    finally:
        maximum.stopped.set()
        thread.join()


def connections(observer: "psycopg.Connection[tuple[int]]") -> int:
    row = observer.execute(CONNECTIONS).fetchone()
    assert row is not None
    return row[0]


def close_all_connections(address: str) -> None:
    """Close every connection from the server's side, as a restarted server does."""
    with psycopg.connect(address, autocommit=True) as observer:
        observer.execute(CLOSE_ALL)


def request_statuses(port: int, *paths: str, times: int) -> Counter[int]:
    """Request all paths concurrently, `times` times each, and count the response statuses."""

    async def request_all() -> list[int]:
        return await asyncio.gather(*(_status(port, path) for path in paths * times))

    return Counter(asyncio.run(request_all()))


async def _status(port: int, path: str) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    async with asyncio.timeout(ANSWER_SECONDS):
        answer = await reader.read()
    writer.close()
    return int(answer.split(b" ", 2)[1])


@asynccontextmanager
async def follow_run(port: int, client: str) -> AsyncIterator[None]:
    """Start a chat run and follow it; yield after its first chunk."""
    body = json.dumps({"client_id": client, "message": "Hello"})
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"POST /api/get_chat_response_stream HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await reader.readuntil(b'"type":"chunk"')
        yield
    finally:
        writer.close()
