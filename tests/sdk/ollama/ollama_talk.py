"""The official Ollama client, sync and async, behind one face: a test says what it asks once."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import ollama

T = TypeVar("T")

# Reading the machine's certificates for each client takes longer than most tests.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
# A request for tests in which any will do.
HELLO: dict[str, Any] = {
    "model": "llama3.2",
    "messages": [{"role": "user", "content": "Hello"}],
}
PROMPT: dict[str, Any] = {"model": "llama3.2", "prompt": "Hello"}


@dataclass
class Streamed:
    """The lines of a stream, and what it raised instead of ending. Those of chat and of generate
    are of different classes."""

    lines: list[Any] = field(default_factory=list)
    error: BaseException | None = None

    @property
    def messages(self) -> list[ollama.Message]:
        return [line.message for line in self.lines]

    @property
    def text(self) -> str:
        return "".join(message.content or "" for message in self.messages)

    @property
    def thinking(self) -> str:
        return "".join(message.thinking or "" for message in self.messages)

    @property
    def calls(self) -> list[tuple[str, Any]]:
        return [call for message in self.messages for call in calls_of(message)]

    @property
    def done_reasons(self) -> list[str]:
        return [line.done_reason for line in self.lines if line.done]


class OllamaTalk(Protocol):
    """One client; `given` is what it is made with. `stream` is a stream that ends as it should,
    `broken` one that may not; both are of chat unless told otherwise."""

    given: dict[str, Any]

    def whole(self, way: str = "chat", **asked: Any) -> Any: ...
    def stream(self, way: str = "chat", **asked: Any) -> Streamed: ...
    def broken(self, way: str = "chat", **asked: Any) -> Streamed: ...
    def ask(self, method: str, **asked: Any) -> Any: ...


class SyncTalk:
    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given

    def whole(self, way: str = "chat", **asked: Any) -> Any:
        return self.ask(way, **asked)

    def stream(self, way: str = "chat", **asked: Any) -> Streamed:
        return _ended(self.broken(way, **asked))

    def broken(self, way: str = "chat", **asked: Any) -> Streamed:
        seen = Streamed()
        with ollama.Client(**self.given, verify=NO_TLS) as client:
            try:
                for line in getattr(client, way)(**asked, stream=True):
                    seen.lines.append(line)
            except Exception as error:
                seen.error = error
        return seen

    def ask(self, method: str, **asked: Any) -> Any:
        with ollama.Client(**self.given, verify=NO_TLS) as client:
            return getattr(client, method)(**asked)


class AsyncTalk:
    """Each call has an event loop of its own."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given

    def whole(self, way: str = "chat", **asked: Any) -> Any:
        return self.ask(way, **asked)

    def stream(self, way: str = "chat", **asked: Any) -> Streamed:
        return _ended(self.broken(way, **asked))

    def broken(self, way: str = "chat", **asked: Any) -> Streamed:
        seen = Streamed()

        async def read(client: ollama.AsyncClient) -> None:
            try:
                async for line in await getattr(client, way)(**asked, stream=True):
                    seen.lines.append(line)
            except Exception as error:
                seen.error = error

        self._run(read)
        return seen

    def ask(self, method: str, **asked: Any) -> Any:
        return self._run(lambda client: getattr(client, method)(**asked))

    def _run(self, work: Callable[[ollama.AsyncClient], Awaitable[T]]) -> T:
        async def run() -> T:
            async with ollama.AsyncClient(**self.given, verify=NO_TLS) as client:
                return await work(client)

        return asyncio.run(run())


def calls_of(message: ollama.Message) -> list[tuple[str, Any]]:
    return [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]


def _ended(seen: Streamed) -> Streamed:
    if seen.error is not None:
        raise seen.error
    return seen
