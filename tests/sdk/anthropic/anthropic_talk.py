"""The official Anthropic client, sync and async, plain and beta, behind one face."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import anthropic

T = TypeVar("T")

# Reading the machine's certificates for each client takes longer than most tests.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
# A request for tests in which any will do.
HELLO: dict[str, Any] = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 1024,
    "messages": [{"role": "user", "content": "Hello"}],
}


@dataclass
class Streamed:
    """The events of a stream, and what it raised instead of ending. Plain and beta events are of
    different classes that read alike."""

    events: list[Any] = field(default_factory=list)
    error: BaseException | None = None

    @property
    def text(self) -> str:
        deltas = [event.delta for event in self.events if event.type == "content_block_delta"]
        return "".join(delta.text for delta in deltas if delta.type == "text_delta")

    @property
    def kinds(self) -> list[str]:
        return [event.type for event in self.events]


@dataclass
class Helped:
    """What the stream helper told on the way, and the message that it put together."""

    events: list[Any]
    final: Any


class AnthropicTalk(Protocol):
    """One client; `given` is what it is made with. `stream` is a stream that ends as it should,
    `broken` one that may not; `raw` is an HTTP response and the message in it."""

    given: dict[str, Any]
    beta: bool

    def whole(self, **asked: Any) -> Any: ...
    def raw(self, **asked: Any) -> tuple[Any, Any]: ...
    def stream(self, **asked: Any) -> Streamed: ...
    def broken(self, **asked: Any) -> Streamed: ...
    def helped(self, **asked: Any) -> Helped: ...
    def count(self, **asked: Any) -> int: ...
    def models(self, **asked: Any) -> Sequence[Any]: ...
    def model(self, name: str) -> Any: ...


class SyncTalk:
    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.beta = False

    def whole(self, **asked: Any) -> Any:
        with self._client() as client:
            return self._of(client).messages.create(**asked)

    def raw(self, **asked: Any) -> tuple[Any, Any]:
        with self._client() as client:
            response = self._of(client).messages.with_raw_response.create(**asked)
            return response, response.parse()

    def stream(self, **asked: Any) -> Streamed:
        return _ended(self.broken(**asked))

    def broken(self, **asked: Any) -> Streamed:
        seen = Streamed()
        with self._client() as client:
            try:
                for event in self._of(client).messages.create(**asked, stream=True):
                    seen.events.append(event)
            except Exception as error:
                seen.error = error
        return seen

    def helped(self, **asked: Any) -> Helped:
        with self._client() as client, self._of(client).messages.stream(**asked) as stream:
            return Helped(list(stream), stream.get_final_message())

    def count(self, **asked: Any) -> int:
        with self._client() as client:
            tokens: int = self._of(client).messages.count_tokens(**asked).input_tokens
        return tokens

    def models(self, **asked: Any) -> Sequence[Any]:
        with self._client() as client:
            return list(self._of(client).models.list(**asked))

    def model(self, name: str) -> Any:
        with self._client() as client:
            return self._of(client).models.retrieve(name)

    def _client(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(
            **self.given, http_client=anthropic.DefaultHttpxClient(verify=NO_TLS)
        )

    def _of(self, client: anthropic.Anthropic) -> Any:
        return client.beta if self.beta else client


class AsyncTalk:
    """Each call has an event loop of its own."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.beta = False

    def whole(self, **asked: Any) -> Any:
        return self._run(lambda client: client.messages.create(**asked))

    def raw(self, **asked: Any) -> tuple[Any, Any]:
        async def read(client: Any) -> tuple[Any, Any]:
            response = await client.messages.with_raw_response.create(**asked)
            return response, await response.parse()

        return self._run(read)

    def stream(self, **asked: Any) -> Streamed:
        return _ended(self.broken(**asked))

    def broken(self, **asked: Any) -> Streamed:
        seen = Streamed()

        async def read(client: Any) -> None:
            try:
                async for event in await client.messages.create(**asked, stream=True):
                    seen.events.append(event)
            except Exception as error:
                seen.error = error

        self._run(read)
        return seen

    def helped(self, **asked: Any) -> Helped:
        async def read(client: Any) -> Helped:
            async with client.messages.stream(**asked) as stream:
                events = [event async for event in stream]
                return Helped(events, await stream.get_final_message())

        return self._run(read)

    def count(self, **asked: Any) -> int:
        async def read(client: Any) -> int:
            tokens: int = (await client.messages.count_tokens(**asked)).input_tokens
            return tokens

        return self._run(read)

    def models(self, **asked: Any) -> Sequence[Any]:
        async def read(client: Any) -> list[Any]:
            return [model async for model in client.models.list(**asked)]

        return self._run(read)

    def model(self, name: str) -> Any:
        return self._run(lambda client: client.models.retrieve(name))

    def _run(self, work: Callable[[Any], Awaitable[T]]) -> T:
        async def run() -> T:
            transport = anthropic.DefaultAsyncHttpxClient(verify=NO_TLS)
            async with anthropic.AsyncAnthropic(**self.given, http_client=transport) as client:
                return await work(client.beta if self.beta else client)

        return asyncio.run(run())


def _ended(seen: Streamed) -> Streamed:
    if seen.error is not None:
        raise seen.error
    return seen
