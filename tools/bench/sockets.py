"""Measures the CPU microseconds of a streamed Response over a WebSocket and as server-sent events.

Both get the same requests in alternating rounds; each connection has one request at a time. The
median of the rounds counts.
"""

import base64
import itertools
import json
import os
import selectors
import socket
import statistics
import tempfile
import time
from pathlib import Path

from websockets.frames import Frame, Opcode

from tools.bench.__main__ import SCENARIO
from tools.bench.cpu import spent
from tools.bench.load import CONNECTIONS, ask
from tools.bench.servers import SERVE, Running, running

ROUNDS = 9
ROUND_SECONDS = 0.5
DIFFERENT = 500
END = b'"response.completed"'


def bodies(*, different: bool) -> list[dict[str, str]]:
    texts = [f"please answer needle-777 now {i if different else ''}" for i in range(DIFFERENT)]
    return [{"model": "m", "input": text} for text in texts]


def http_requests(*, different: bool) -> list[bytes]:
    encoded = [
        json.dumps({**body, "stream": True}).encode() for body in bodies(different=different)
    ]
    head = "POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer test\r\n"
    return [f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data for data in encoded]


def frames(*, different: bool) -> list[bytes]:
    events = [{"type": "response.create", **body} for body in bodies(different=different)]
    return [Frame(Opcode.TEXT, json.dumps(e).encode()).serialize(mask=True) for e in events]


def open_websocket(port: int) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    key = base64.b64encode(os.urandom(16)).decode()
    connection.sendall(
        "GET /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer test\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        f"Sec-WebSocket-Key: {key}\r\n\r\n".encode()
    )
    assert connection.recv(4096).startswith(b"HTTP/1.1 101 ")
    return connection


def ask_over_websockets(port: int, requests: list[bytes], *, seconds: float) -> int:
    """Send these frames in turn for `seconds`; return the number of responses."""
    next_requests, selector = itertools.cycle(requests), selectors.DefaultSelector()
    connections = [open_websocket(port) for _ in range(CONNECTIONS)]
    tails = dict.fromkeys(connections, b"")
    for connection in connections:
        selector.register(connection, selectors.EVENT_READ)
        connection.sendall(next(next_requests))
    responses, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        for key, _ in selector.select(0.1):
            assert isinstance(key.fileobj, socket.socket)
            connection = key.fileobj
            data = tails[connection] + connection.recv(1 << 20)
            # Only the last event holds the whole response.
            if END in data and data.endswith(b"}}"):
                responses, tails[connection] = responses + 1, b""
                connection.sendall(next(next_requests))
            else:
                tails[connection] = data
    for connection in connections:
        connection.close()
    return responses


def microseconds(server: Running, *, over_sockets: bool, different: bool) -> float:
    before = spent(server.pid)
    if over_sockets:
        requests = frames(different=different)
        responses = ask_over_websockets(server.port, requests, seconds=ROUND_SECONDS)
    else:
        requests = http_requests(different=different)
        responses = ask(server.port, *requests, seconds=ROUND_SECONDS)
    return (spent(server.pid) - before).loop / responses * 1e6


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        scenarios = Path(directory, "scenarios.json")
        scenarios.write_text(json.dumps(SCENARIO))
        variables = {"MOCKLLM_ENV": "test", "MOCKLLM_SCENARIOS": str(scenarios)}
        with running(*SERVE, variables=variables) as server:
            print(f"{'µs of CPU per Response of 50 words':<36}{'SSE':>8}{'socket':>8}{'ratio':>8}")
            for different in (False, True):
                rounds = [
                    [
                        microseconds(server, over_sockets=over_sockets, different=different)
                        for over_sockets in (False, True)
                    ]
                    for _ in range(ROUNDS + 1)
                ][1:]
                sse, websocket = (statistics.median(costs) for costs in zip(*rounds, strict=True))
                name = "different requests" if different else "the same request"
                print(f"{name:<36}{sse:>8.0f}{websocket:>8.0f}{websocket / sse:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
