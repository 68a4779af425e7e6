"""Chat completions through the sync and the async OpenAI client, with the same methods."""

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
# A minimal valid request.
HELLO: dict[str, Any] = {
    "model": "gpt-4o",
    "messages": [{"role": "user", "content": "Hello"}],
}


@dataclass
class ChatStream:
    """The chunks of a stream, and the exception that ended it, if any."""

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
class HelperResult:
    """The events of the SDK's stream helper and its final completion."""

    events: list[Any]
    final: ParsedChatCompletion[Any]


class OpenAIChatClient(Protocol):
    """A client that is created with `options` for each call.

    `stream` raises the error of a broken stream; `read_stream` returns it with the chunks.
    """

    options: dict[str, Any]

    def create(self, **params: Any) -> ChatCompletion: ...
    def parse(self, **params: Any) -> ParsedChatCompletion[Any]: ...
    def raw(self, **params: Any) -> Any: ...
    def stream(self, **params: Any) -> ChatStream: ...
    def read_stream(self, **params: Any) -> ChatStream: ...
    def stream_with_helper(self, **params: Any) -> HelperResult: ...
    def models(self) -> Sequence[Model]: ...
    def model(self, name: str) -> Model: ...


class SyncChatClient:
    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def create(self, **params: Any) -> ChatCompletion:
        with self._client() as client:
            answer: ChatCompletion = client.chat.completions.create(**params)
        return answer

    def parse(self, **params: Any) -> ParsedChatCompletion[Any]:
        with self._client() as client:
            return client.chat.completions.parse(**params)

    def raw(self, **params: Any) -> Any:
        with self._client() as client:
            return client.chat.completions.with_raw_response.create(**params)

    def stream(self, **params: Any) -> ChatStream:
        return _raise_stream_error(self.read_stream(**params))

    def read_stream(self, **params: Any) -> ChatStream:
        result = ChatStream()
        with self._client() as client:
            try:
                for chunk in client.chat.completions.create(**params, stream=True):
                    result.chunks.append(chunk)
            except Exception as error:
                result.error = error
        return result

    def stream_with_helper(self, **params: Any) -> HelperResult:
        with self._client() as client, client.chat.completions.stream(**params) as stream:
            return HelperResult(list(stream), stream.get_final_completion())

    def models(self) -> Sequence[Model]:
        with self._client() as client:
            return list(client.models.list())

    def model(self, name: str) -> Model:
        with self._client() as client:
            return client.models.retrieve(name)

    def _client(self) -> openai.OpenAI:
        return openai.OpenAI(**self.options, http_client=openai.DefaultHttpx2Client(verify=NO_TLS))


class AsyncChatClient:
    """Run each call in a new event loop."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def create(self, **params: Any) -> ChatCompletion:
        return self._run(lambda client: client.chat.completions.create(**params))

    def parse(self, **params: Any) -> ParsedChatCompletion[Any]:
        return self._run(lambda client: client.chat.completions.parse(**params))

    def raw(self, **params: Any) -> Any:
        return self._run(lambda client: client.chat.completions.with_raw_response.create(**params))

    def stream(self, **params: Any) -> ChatStream:
        return _raise_stream_error(self.read_stream(**params))

    def read_stream(self, **params: Any) -> ChatStream:
        result = ChatStream()

        async def read(client: openai.AsyncOpenAI) -> None:
            async for chunk in await client.chat.completions.create(**params, stream=True):
                result.chunks.append(chunk)

        self._run(lambda client: _record_error(read(client), result))
        return result

    def stream_with_helper(self, **params: Any) -> HelperResult:
        async def read(client: openai.AsyncOpenAI) -> HelperResult:
            async with client.chat.completions.stream(**params) as stream:
                events = [event async for event in stream]
                return HelperResult(events, await stream.get_final_completion())

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
            async with openai.AsyncOpenAI(**self.options, http_client=transport) as client:
                return await work(client)

        return asyncio.run(run())


def _raise_stream_error(result: ChatStream) -> ChatStream:
    """Return the stream, or raise the error that ended it."""
    if result.error is not None:
        raise result.error
    return result


async def _record_error(work: Awaitable[None], result: ChatStream) -> None:
    try:
        await work
    except Exception as error:
        result.error = error
