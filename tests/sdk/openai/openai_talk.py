"""The official OpenAI client, sync and async, behind one face: a test says what it asks once."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import openai
from openai.types import Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ParsedChatCompletion

T = TypeVar("T")

# Reading the machine's certificates for each client takes longer than most tests.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
# A request for tests in which any will do.
HELLO: dict[str, Any] = {
    "model": "gpt-4o",
    "messages": [{"role": "user", "content": "Hello"}],
}


@dataclass
class Streamed:
    """The chunks of a stream, and what it raised instead of ending."""

    chunks: list[ChatCompletionChunk] = field(default_factory=list)
    error: BaseException | None = None

    @property
    def text(self) -> str:
        deltas = [choice.delta for chunk in self.chunks for choice in chunk.choices]
        return "".join(delta.content or "" for delta in deltas)

    @property
    def finish_reasons(self) -> list[str]:
        choices = [choice for chunk in self.chunks for choice in chunk.choices]
        return [choice.finish_reason for choice in choices if choice.finish_reason]


@dataclass
class Helped:
    """What the stream helper told on the way, and what it put together."""

    events: list[Any]
    final: ParsedChatCompletion[Any]


class OpenAITalk(Protocol):
    """One client; `given` is what it is made with. `stream` is a stream that ends as it should,
    `broken` one that may not."""

    given: dict[str, Any]

    def whole(self, **asked: Any) -> ChatCompletion: ...
    def parsed(self, **asked: Any) -> ParsedChatCompletion[Any]: ...
    def raw(self, **asked: Any) -> Any: ...
    def stream(self, **asked: Any) -> Streamed: ...
    def broken(self, **asked: Any) -> Streamed: ...
    def helped(self, **asked: Any) -> Helped: ...
    def models(self) -> Sequence[Model]: ...
    def model(self, name: str) -> Model: ...


class SyncTalk:
    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given

    def whole(self, **asked: Any) -> ChatCompletion:
        with self._client() as client:
            answer: ChatCompletion = client.chat.completions.create(**asked)
        return answer

    def parsed(self, **asked: Any) -> ParsedChatCompletion[Any]:
        with self._client() as client:
            return client.chat.completions.parse(**asked)

    def raw(self, **asked: Any) -> Any:
        with self._client() as client:
            return client.chat.completions.with_raw_response.create(**asked)

    def stream(self, **asked: Any) -> Streamed:
        return _ended(self.broken(**asked))

    def broken(self, **asked: Any) -> Streamed:
        seen = Streamed()
        with self._client() as client:
            try:
                for chunk in client.chat.completions.create(**asked, stream=True):
                    seen.chunks.append(chunk)
            except Exception as error:
                seen.error = error
        return seen

    def helped(self, **asked: Any) -> Helped:
        with self._client() as client, client.chat.completions.stream(**asked) as stream:
            return Helped(list(stream), stream.get_final_completion())

    def models(self) -> Sequence[Model]:
        with self._client() as client:
            return list(client.models.list())

    def model(self, name: str) -> Model:
        with self._client() as client:
            return client.models.retrieve(name)

    def _client(self) -> openai.OpenAI:
        return openai.OpenAI(**self.given, http_client=openai.DefaultHttpx2Client(verify=NO_TLS))


class AsyncTalk:
    """Each call has an event loop of its own."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given

    def whole(self, **asked: Any) -> ChatCompletion:
        return self._run(lambda client: client.chat.completions.create(**asked))

    def parsed(self, **asked: Any) -> ParsedChatCompletion[Any]:
        return self._run(lambda client: client.chat.completions.parse(**asked))

    def raw(self, **asked: Any) -> Any:
        return self._run(lambda client: client.chat.completions.with_raw_response.create(**asked))

    def stream(self, **asked: Any) -> Streamed:
        return _ended(self.broken(**asked))

    def broken(self, **asked: Any) -> Streamed:
        seen = Streamed()

        async def read(client: openai.AsyncOpenAI) -> None:
            async for chunk in await client.chat.completions.create(**asked, stream=True):
                seen.chunks.append(chunk)

        self._run(lambda client: _noting(read(client), seen))
        return seen

    def helped(self, **asked: Any) -> Helped:
        async def read(client: openai.AsyncOpenAI) -> Helped:
            async with client.chat.completions.stream(**asked) as stream:
                events = [event async for event in stream]
                return Helped(events, await stream.get_final_completion())

        return self._run(read)

    def models(self) -> Sequence[Model]:
        async def read(client: openai.AsyncOpenAI) -> list[Model]:
            return [model async for model in client.models.list()]

        return self._run(read)

    def model(self, name: str) -> Model:
        return self._run(lambda client: client.models.retrieve(name))

    def _run(self, work: Callable[[openai.AsyncOpenAI], Awaitable[T]]) -> T:
        async def run() -> T:
            transport = openai.DefaultAsyncHttpx2Client(verify=NO_TLS)
            async with openai.AsyncOpenAI(**self.given, http_client=transport) as client:
                return await work(client)

        return asyncio.run(run())


def _ended(seen: Streamed) -> Streamed:
    if seen.error is not None:
        raise seen.error
    return seen


async def _noting(work: Awaitable[None], seen: Streamed) -> None:
    try:
        await work
    except Exception as error:
        seen.error = error
