"""Many requests at once to one server, and how many connections its database has meanwhile."""

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
MOMENT = 0.005
ENDED_SECONDS = 60.0


@dataclass
class Looked:
    """The most connections that were seen."""

    most: int = 0
    over: Event = field(default_factory=Event)


@contextmanager
def watched(address: str) -> Iterator[Looked]:
    """Looks at the database's connections again and again, at least once."""
    looked = Looked()

    def look() -> None:
        with psycopg.connect(address, autocommit=True) as looking:
            while True:
                looked.most = max(looked.most, connections(looking))
                if looked.over.wait(MOMENT):
                    return

    thread = Thread(target=look)
    thread.start()
    try:
        yield looked
    finally:
        looked.over.set()
        thread.join()


def connections(looking: "psycopg.Connection[tuple[int]]") -> int:
    row = looking.execute(CONNECTIONS).fetchone()
    assert row is not None
    return row[0]


def close_all(address: str) -> None:
    """Close every connection from the database's side, as one does that starts anew."""
    with psycopg.connect(address, autocommit=True) as closing:
        closing.execute(CLOSE_ALL)


def statuses(port: int, *paths: str, times: int) -> Counter[int]:
    """How many of these answers had which status, all asked for at once."""

    async def ask() -> list[int]:
        return await asyncio.gather(*(_status(port, path) for path in paths * times))

    return Counter(asyncio.run(ask()))


async def _status(port: int, path: str) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    async with asyncio.timeout(ENDED_SECONDS):
        answer = await reader.read()
    writer.close()
    return int(answer.split(b" ", 2)[1])


@asynccontextmanager
async def following(port: int, client: str) -> AsyncIterator[None]:
    """A run of the chat that somebody follows, once it says something."""
    body = json.dumps({"client_id": client, "message": "Hello"})
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"POST /api/get_chat_response_stream HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    )
    try:
        async with asyncio.timeout(ENDED_SECONDS):
            await reader.readuntil(b'"type":"chunk"')
        yield
    finally:
        writer.close()
