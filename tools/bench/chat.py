"""Measures a chat run: time to its first event and CPU time, with goals.

`python -m tools.bench.chat` sends a hundred messages concurrently over HTTP to a server whose mock
answers in process. The cost of the provider's SDK is measured separately.
"""

import asyncio
import io
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2

from tools.bench.cpu import spent
from tools.bench.servers import SERVE, Running, running

CONCURRENT_RUNS = 100
ROUNDS = 5
FIRST_MS, CPU_MS = 150, 8
SDK_CALLS = 100
SCENARIO = {
    "name": "bench",
    "steps": [{"consume": False, "produce": {"text": " ".join(f"word{n}" for n in range(20))}}],
}


async def measure_run(port: int, number: int) -> tuple[float, float]:
    """Return milliseconds until a run's first event and until the first words of its answer."""
    # Written to a socket, because a hundred requests of httpx2 take 100 ms themselves.
    body = {"conversation_id": None, "client_id": f"bench {number}", "message": "Hello there"}
    data = json.dumps(body).encode()
    head = (
        "POST /api/get_chat_response_stream/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    )
    start, times = time.monotonic(), list[float]()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.encode() + data)
    status = await reader.readline()
    if b" 200 " not in status:
        raise ValueError((status + await reader.read(500)).decode())
    async for line in reader:
        if line.startswith(b"data:") and len(times) < 2:
            times.append((time.monotonic() - start) * 1e3)
    writer.close()
    return times[0], times[-1]


async def run_all(port: int) -> list[tuple[float, float]]:
    return list(
        await asyncio.gather(*(measure_run(port, number) for number in range(CONCURRENT_RUNS)))
    )


def measure(server: Running) -> tuple[float, float, float]:
    """Return the p95 of the first event and of the first words, and the CPU of a run, all in
    milliseconds."""
    before = spent(server.pid)
    times = asyncio.run(run_all(server.port))
    time.sleep(0.5)
    cpu = (spent(server.pid) - before).process / CONCURRENT_RUNS * 1e3
    first, words = (
        statistics.quantiles(round_times, n=20)[-1] for round_times in zip(*times, strict=True)
    )
    return first, words, cpu


def measure_sdk(file: str) -> float:
    """Return the CPU milliseconds of a streamed call of the SDK, including the mock in process."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "mockllm_site.settings_test"
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("load_scenarios", file, stdout=io.StringIO())
    import openai

    from scenarios_app.serving.transport import MockTransport

    messages: Any = [{"role": "user", "content": "Hello there"}]

    async def make_calls(count: int) -> None:
        http = httpx2.AsyncClient(transport=MockTransport())
        client = openai.AsyncOpenAI(api_key="k", base_url="http://mock/v1", http_client=http)
        for _ in range(count):
            stream = await client.chat.completions.create(
                model="gpt-4o", messages=messages, stream=True
            )
            async for _ in stream:
                pass

    async def measure_calls() -> float:
        await make_calls(5)
        start = time.process_time()
        await make_calls(SDK_CALLS)
        return (time.process_time() - start) / SDK_CALLS * 1e3

    return asyncio.run(measure_calls())


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "scenarios.json")
        file.write_text(json.dumps(SCENARIO))
        compare(str(file))


def compare(file: str) -> None:
    sdk = measure_sdk(file)
    print(f"CPU of a call through the SDK alone: {sdk:.1f} ms")
    print(
        f"{'':<12}{'first event p95':>18}{'first words p95':>18}{'CPU a run':>12}{'beside SDK':>12}"
    )
    variables = {"MOCKLLM_ENV": "test", "MOCKLLM_SCENARIOS": file}
    with running(*SERVE, variables=variables) as server:
        for number in range(ROUNDS):
            first, words, cpu = measure(server)
            name = "first" if not number else "again"
            print(f"{name:<12}{first:>15.0f} ms{words:>15.0f} ms{cpu:>9.1f} ms{cpu - sdk:>9.1f} ms")
    print(f"{'goal':<12}{FIRST_MS:>15} ms{'':>18}{'':>12}{CPU_MS:>9} ms")


if __name__ == "__main__":
    main()
