"""An HTTP client with one connection, which it opens again after an error."""

import asyncio
import json
from contextlib import suppress
from typing import Any

from tools.load.probing import chat

CHAT = "/v1/chat/completions"
ANSWER_SECONDS, PAUSE_SECONDS = 60.0, 0.05


class Client:
    """Sends requests over one connection. `gone` counts the requests without a complete response;
    `begun` is True while the body of a response is read."""

    def __init__(self, port: int, *, session: str = "soak", key: str = "soak") -> None:
        self.gone = 0
        self.begun = False
        self._port = port
        self._head = (
            f"Host: 127.0.0.1\r\nAuthorization: Bearer {key}\r\nX-MockLLM-Session: {session}\r\n"
            "Content-Type: application/json\r\n"
        )
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, content: str = "Hello", *, stream: bool = False) -> tuple[int, str]:
        """Return the status and text of the response to a message; status 0 if it is incomplete."""
        status, body = await self.request("POST", CHAT, chat(content, stream=stream))
        if status != 200:
            return status, body.decode()
        if not stream:
            return status, str(json.loads(body)["choices"][0]["message"]["content"])
        lines = [line[6:] for line in body.decode().split("\n") if line.startswith("data: ")]
        if lines[-1:] != ["[DONE]"]:
            return 0, ""
        deltas = [json.loads(line)["choices"] for line in lines[:-1]]
        return status, "".join(delta[0]["delta"].get("content") or "" for delta in deltas if delta)

    async def control(self, method: str, path: str, json_body: Any = None) -> Any:
        """Return the JSON of a control response; retry after 503. Asserts that it is no error."""
        async with asyncio.timeout(ANSWER_SECONDS):
            status, body = await self.request(method, path, json.dumps(json_body).encode())
            while status == 503:
                # The process has just lost or found Redis.
                await asyncio.sleep(PAUSE_SECONDS)
                status, body = await self.request(method, path, json.dumps(json_body).encode())
        assert status in (200, 201, 204), (status, body)
        return json.loads(body or b"null")

    async def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Return the status and body of a response; `(0, b"")` if it is incomplete."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                if self._streams is None:
                    self._streams = await asyncio.open_connection("127.0.0.1", self._port)
                reader, writer = self._streams
                line = f"{method} {path} HTTP/1.1\r\n{self._head}Content-Length: {len(body)}\r\n"
                writer.write(f"{line}\r\n".encode() + body)
                self.begun = False
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                self.begun = True
                answer = await _read_body(reader, head)
                status, last = int(head.split()[1]), "connection: close" in head
        except (asyncio.IncompleteReadError, OSError, ValueError, IndexError):
            self.gone += 1
            self.close()
            return 0, b""
        if last:
            self.close()
        return status, answer

    async def closed(self) -> None:
        """Close the connection, and wait until it is closed."""
        if self._streams is not None:
            writer = self._streams[1]
            self.close()
            with suppress(OSError):
                await writer.wait_closed()

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def _read_body(reader: asyncio.StreamReader, head: str) -> bytes:
    """Return the body of the response with this lower-case head."""
    if "transfer-encoding: chunked" not in head:
        length = head.partition("content-length: ")[2].partition("\r\n")[0]
        return await reader.readexactly(int(length or 0))
    pieces = []
    while size := int(await reader.readline(), 16):
        pieces.append((await reader.readexactly(size + 2))[:-2])
    await reader.readline()
    return b"".join(pieces)
