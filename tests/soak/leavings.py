"""What is left of clients that leave and of servers that end: nothing."""

import asyncio
import json
import os
import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.load.probing import request, resident
from tests.soak.client import Client
from tests.soak.outages import until

KEY = "soak"
WORDS = 200
SETTLED_SECONDS = 5.0
WARM = 200
SLOW = {
    "name": "slow",
    "steps": [
        {
            "consume": False,
            "produce": {
                "text": "word " * WORDS,
                "pacing": {"chunk_ms": 10, "words_per_chunk": 1},
            },
        }
    ],
}


def streams() -> dict[str, bytes]:
    """A streamed request of each wire and of the chat."""
    said = [{"role": "user", "content": "Hello"}]
    parts = [{"role": "user", "parts": [{"text": "Hello"}]}]
    gemini = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    asked = {
        "openai": ("/v1/chat/completions", {"model": "gpt-4o", "messages": said, "stream": True}),
        "responses": ("/v1/responses", {"model": "gpt-4o", "input": "Hello", "stream": True}),
        "anthropic": (
            "/v1/messages",
            {"model": "claude-sonnet-5-5", "max_tokens": 99, "messages": said, "stream": True},
        ),
        "gemini": (gemini, {"contents": parts}),
        "ollama": ("/api/chat", {"model": "llama3", "messages": said}),
        "chat": (
            "/api/get_chat_response_stream",
            {"client_id": "soak", "message": "Hello", "conversation_id": None, "profile": None},
        ),
    }
    more = f"anthropic-version: 2023-06-01\r\nx-goog-api-key: {KEY}\r\n"
    return {
        name: request(path, json.dumps(body).encode(), key=KEY, more=more)
        for name, (path, body) in asked.items()
    }


async def drop(port: int, data: bytes) -> None:
    """Ask, read for as long as chance has it, in the middle of an event as often as not, and go."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(random.random() / 2):
            await reader.read(random.randrange(1, 3_000))
            await reader.read(random.randrange(1, 3_000))
    writer.transport.abort()


@dataclass(frozen=True)
class Held:
    """What processes hold: files and sockets, threads, and memory in megabytes."""

    descriptors: int
    threads: int
    megabytes: float


def held(pids: set[int]) -> Held:
    descriptors = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)
    threads = sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in pids)
    return Held(descriptors, threads, sum(map(resident, pids)))


async def drops(port: int, pids: set[int], *, count: int, at_once: int = 20) -> tuple[Held, Held]:
    """What processes hold before and after so many clients have left in the middle of an answer;
    afterwards is once the last run of the chat, which goes on, has ended."""
    requests = list(streams().values())

    async def some(number: int, count: int) -> None:
        for place in range(number, count, at_once):
            await drop(port, requests[place % len(requests)])

    async def all_of(count: int) -> Held:
        async with asyncio.TaskGroup() as group:
            for number in range(at_once):
                group.create_task(some(number, count))
        return await settled(pids)

    # What a process makes once, such as threads for the database, it has by then.
    return await all_of(WARM), await all_of(count)


async def settled(pids: set[int]) -> Held:
    """What they hold once they have held no less for some seconds."""
    least, since = held(pids), time.monotonic()
    while time.monotonic() < since + SETTLED_SECONDS:
        await asyncio.sleep(0.25)
        now = held(pids)
        if (now.descriptors, now.threads) < (least.descriptors, least.threads):
            least, since = now, time.monotonic()
    return Held(least.descriptors, least.threads, held(pids).megabytes)


async def ended_with_streams(port: int, end: Callable[[], object], *, count: int) -> list[int]:
    """The statuses of so many live streams during which a server is told to end; 0 for one that
    was cut."""
    clients = [Client(port) for _ in range(count)]

    async def ask(client: Client) -> int:
        status, text = await client.ask(stream=True)
        client.close()
        return status if text.count("word") == WORDS else 0

    tasks = [asyncio.create_task(ask(client)) for client in clients]
    await until(lambda: all(client.begun for client in clients))
    end()
    return list(await asyncio.gather(*tasks))
