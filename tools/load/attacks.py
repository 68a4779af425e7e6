"""Attacks that send many expensive requests at the same time. An attack gets the port of a server
and returns its results as text."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable

from tools.load.probing import ask, chat, every, request

CONCURRENT_REQUESTS = 40
READERS = 100
CHAT = "/v1/chat/completions"


def _make_scenario(question: str, text: str) -> dict[str, object]:
    match = {"messages": [{"contains": question}]}
    step = {"consume": False, "match": match, "produce": {"text": text}}
    return {"name": question, "steps": [step]}


SCENARIOS = [
    _make_scenario("small question", "A small answer."),
    _make_scenario("a long answer", "word " * 400_000),
    _make_scenario("ECHO", "{{ request.last_user_text }}"),
    _make_scenario("GROW", "{{ request.last_user_text }} " * 1_000),
]
Attack = Callable[[int], Awaitable[str]]


def _post_many(path: str, body: bytes) -> Attack:
    """Return an attack that sends this request many times at the same time."""

    async def attack(port: int) -> str:
        data = request(path, body)
        return await every([ask(port, data) for _ in range(CONCURRENT_REQUESTS)])

    return attack


def _embeddings_body(count: int) -> bytes:
    return json.dumps({"model": "m", "input": [f"text number {n}" for n in range(count)]}).encode()


async def dead_readers(port: int) -> str:
    """Request a long stream with many clients that read nothing."""
    loop, sockets = asyncio.get_running_loop(), []
    data = request(CHAT, chat("a long answer", stream=True))
    for _ in range(READERS):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.setblocking(False)
        await loop.sock_connect(one, ("127.0.0.1", port))
        await loop.sock_sendall(one, data)
        sockets.append(one)
    await asyncio.sleep(8)
    for sock in sockets:
        sock.close()
    return f"{READERS} connected"


ATTACKS: dict[str, Attack] = {
    "embeddings of 2,048 texts": _post_many("/v1/embeddings", _embeddings_body(2_048)),
    "1.8 MB echoed whole": _post_many(CHAT, chat("ECHO " + "word " * 360_000)),
    "1.8 MB echoed as a stream": _post_many(CHAT, chat("ECHO " + "word " * 360_000, stream=True)),
    "a template grown to 2 MB": _post_many(CHAT, chat("GROW " + "word " * 380)),
    "a template grown beyond 2 MB": _post_many(CHAT, chat("GROW " + "word " * 2_000)),
    "10 MB of numbers": _post_many(CHAT, b'{"messages": [' + b"1," * 4_990_000 + b"1]}"),
    "10 MB of empty arrays": _post_many(CHAT, b'{"messages": [' + b"[]," * 3_330_000 + b"1]}"),
    "10 MB of text": _post_many(CHAT, chat("word " * 1_990_000)),
    "10 MB of escapes": _post_many(CHAT, b'{"messages": [{"role": "user", "content": "'
                               + b'\\",' * 3_330_000 + b'"}]}'),
    "9,999 messages": _post_many(CHAT, json.dumps({"model": "m", "messages": [
        {"role": "user", "content": "word " * 150} for _ in range(9_999)]}).encode()),
    "10 MB of broken JSON": _post_many(CHAT, b'{"messages": "' + b"x" * 9_900_000),
    "a long answer, whole": _post_many(CHAT, chat("a long answer")),
    "a long answer, streamed": _post_many(CHAT, chat("a long answer", stream=True)),
    "dead readers of a long stream": dead_readers,
}  # fmt: skip
