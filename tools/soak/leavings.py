"""Measures the resources of servers after clients disconnect, and the streams of one that stops."""

import asyncio
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tools.load.probing import request, resident
from tools.soak.client import Client
from tools.soak.outages import wait_until

API_KEY = "soak"
SETTLED_SECONDS = 5.0
MAX_SECONDS = 30.0
# Concurrent requests that make the process create its threads, such as those for the database.
WARM_REQUESTS, WARM_CONCURRENT = 1_500, 150


def make_paced_scenario(name: str, words: int) -> dict[str, object]:
    """Return a scenario with a stream of `words` words, one every 10 ms."""
    pacing = {"chunk_ms": 10, "words_per_chunk": 1}
    produce = {"text": "word " * words, "pacing": pacing}
    return {"name": name, "steps": [{"consume": False, "produce": produce}]}


SLOW_WORDS, SHORT_WORDS = 200, 30
SLOW, SHORT = make_paced_scenario("slow", SLOW_WORDS), make_paced_scenario("short", SHORT_WORDS)
# Prefixes of an event line in all wires and in the chat.
EVENT_PREFIXES = (b"data: ", b"{")
# The last line of a chunked response.
LAST_CHUNK = b"0\r\n"
# More events than any wire sends for the short answer.
MAX_EVENTS = 40


def streams() -> dict[str, bytes]:
    """Return a streamed request of each API and of the chat."""
    messages = [{"role": "user", "content": "Hello"}]
    parts = [{"role": "user", "parts": [{"text": "Hello"}]}]
    gemini = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    bodies = {
        "openai": (
            "/v1/chat/completions",
            {"model": "gpt-4o", "messages": messages, "stream": True},
        ),
        "responses": ("/v1/responses", {"model": "gpt-4o", "input": "Hello", "stream": True}),
        "anthropic": (
            "/v1/messages",
            {"model": "claude-sonnet-5-5", "max_tokens": 99, "messages": messages, "stream": True},
        ),
        "gemini": (gemini, {"contents": parts}),
        "ollama": ("/api/chat", {"model": "llama3", "messages": messages}),
        "chat": (
            "/api/get_chat_response_stream",
            {"client_id": "soak", "message": "Hello", "conversation_id": None, "profile": None},
        ),
    }
    more = f"anthropic-version: 2023-06-01\r\nx-goog-api-key: {API_KEY}\r\n"
    return {
        name: request(path, json.dumps(body).encode(), key=API_KEY, more=more)
        for name, (path, body) in bodies.items()
    }


async def send_and_disconnect(port: int, data: bytes, *, events: int, inside: bool) -> None:
    """Send a request, read `events` events (0: all; with `inside` a part of the next),
    disconnect."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
        async with asyncio.timeout(MAX_SECONDS):
            if events or inside:
                head = await reader.readuntil(b"\r\n\r\n")
                assert b" 200 " in head, head
            while events and (line := await reader.readuntil(b"\n")) != LAST_CHUNK:
                events -= line.startswith(EVENT_PREFIXES)
            if inside and not events:
                await reader.readexactly(9)
    writer.transport.abort()


@dataclass(frozen=True)
class Resources:
    """Resources of processes: open files and sockets, threads, memory in megabytes."""

    descriptors: int
    threads: int
    megabytes: float


def measure_resources(pids: set[int]) -> Resources:
    """Return the resources that these processes hold now, in total."""
    descriptors = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in pids)
    threads = sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in pids)
    return Resources(descriptors, threads, sum(map(resident, pids)))


async def drop_many(port: int, pids: set[int], *, count: int, at_once: int = 20) -> list[Resources]:
    """Return the resources of processes before, and after each quarter of `count` clients that
    disconnected between and inside the events of a response; running chat answers end first."""
    samples = [await warm_up(port, pids)]
    for quarter in range(4):
        numbers = range(quarter * count // 4, (quarter + 1) * count // 4)
        await _drop_all(port, numbers, at_once)
        samples.append(await wait_until_settled(pids))
        print(f"  {numbers.stop:,}: {samples[-1]}", flush=True)
    return samples


async def warm_up(port: int, pids: set[int]) -> Resources:
    """Return the resources after a warm-up that creates all threads and caches."""
    await _drop_all(port, range(WARM_REQUESTS), WARM_CONCURRENT)
    return await wait_until_settled(pids)


async def _drop_all(port: int, numbers: range, at_once: int) -> None:
    requests, remaining = list(streams().values()), iter(numbers)

    async def drop_next() -> None:
        for number in remaining:
            wire, border = number % len(requests), number // len(requests)
            events, inside = border // 2 % MAX_EVENTS, border % 2 == 1
            await send_and_disconnect(port, requests[wire], events=events, inside=inside)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_once):
            group.create_task(drop_next())


async def wait_until_settled(pids: set[int]) -> Resources:
    """Return the resources once they have not decreased for SETTLED_SECONDS."""
    least, since = measure_resources(pids), time.monotonic()
    while time.monotonic() < since + SETTLED_SECONDS:
        await asyncio.sleep(0.25)
        now = measure_resources(pids)
        if (now.descriptors, now.threads) < (least.descriptors, least.threads):
            least, since = now, time.monotonic()
    return Resources(least.descriptors, least.threads, measure_resources(pids).megabytes)


async def ended_with_streams(port: int, end: Callable[[], object], *, count: int) -> list[int]:
    """Return the statuses of `count` streams during which the server is stopped; 0 if cut off."""
    clients = [Client(port) for _ in range(count)]

    async def ask(client: Client) -> int:
        status, text = await client.ask(stream=True)
        client.close()
        return status if text.count("word") == SLOW_WORDS else 0

    tasks = [asyncio.create_task(ask(client)) for client in clients]
    await wait_until(lambda: all(client.begun for client in clients))
    end()
    return list(await asyncio.gather(*tasks))
