"""The sync and the async Anthropic client, plain and beta, with the same methods."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import anthropic

T = TypeVar("T")

# Reading the machine's certificates for each client takes longer than most tests.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
# A minimal valid request.
HELLO: dict[str, Any] = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 1024,
    "messages": [{"role": "user", "content": "Hello"}],
}


@dataclass
class MessageStream:
    """The events of a stream, and the exception that ended it, if any.

    Plain and beta events have different classes with the same attributes.
    """

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
class HelperResult:
    """The events of the SDK's stream helper and its final message."""

    events: list[Any]
    final: Any


class AnthropicClient(Protocol):
    """A client that is created with `options` for each call.

    `stream` raises the error of a broken stream; `read_stream` returns it with the events.
    `raw` returns the HTTP response and the message parsed from it.
    """

    options: dict[str, Any]
    beta: bool

    def create(self, **params: Any) -> Any: ...
    def raw(self, **params: Any) -> tuple[Any, Any]: ...
    def stream(self, **params: Any) -> MessageStream: ...
    def read_stream(self, **params: Any) -> MessageStream: ...
    def stream_with_helper(self, **params: Any) -> HelperResult: ...
    def count(self, **params: Any) -> int: ...
    def models(self, **params: Any) -> Sequence[Any]: ...
    def model(self, name: str) -> Any: ...


class SyncAnthropicClient:
    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.beta = False

    def create(self, **params: Any) -> Any:
        with self._client() as client:
            return self._api(client).messages.create(**params)

    def raw(self, **params: Any) -> tuple[Any, Any]:
        with self._client() as client:
            response = self._api(client).messages.with_raw_response.create(**params)
            return response, response.parse()

    def stream(self, **params: Any) -> MessageStream:
        return _raise_stream_error(self.read_stream(**params))

    def read_stream(self, **params: Any) -> MessageStream:
        result = MessageStream()
        with self._client() as client:
            try:
                for event in self._api(client).messages.create(**params, stream=True):
                    result.events.append(event)
            except Exception as error:
                result.error = error
        return result

    def stream_with_helper(self, **params: Any) -> HelperResult:
        with self._client() as client, self._api(client).messages.stream(**params) as stream:
            return HelperResult(list(stream), stream.get_final_message())

    def count(self, **params: Any) -> int:
        with self._client() as client:
            tokens: int = self._api(client).messages.count_tokens(**params).input_tokens
        return tokens

    def models(self, **params: Any) -> Sequence[Any]:
        with self._client() as client:
            return list(self._api(client).models.list(**params))

    def model(self, name: str) -> Any:
        with self._client() as client:
            return self._api(client).models.retrieve(name)

    def _client(self) -> anthropic.Anthropic:
        return anthropic.Anthropic(
            **self.options, http_client=anthropic.DefaultHttpxClient(verify=NO_TLS)
        )

    def _api(self, client: anthropic.Anthropic) -> Any:
        return client.beta if self.beta else client


class AsyncAnthropicClient:
    """Run each call in a new event loop."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.beta = False

    def create(self, **params: Any) -> Any:
        return self._run(lambda client: client.messages.create(**params))

    def raw(self, **params: Any) -> tuple[Any, Any]:
        async def read(client: Any) -> tuple[Any, Any]:
            response = await client.messages.with_raw_response.create(**params)
            return response, await response.parse()

        return self._run(read)

    def stream(self, **params: Any) -> MessageStream:
        return _raise_stream_error(self.read_stream(**params))

    def read_stream(self, **params: Any) -> MessageStream:
        result = MessageStream()

        async def read(client: Any) -> None:
            try:
                async for event in await client.messages.create(**params, stream=True):
                    result.events.append(event)
            except Exception as error:
                result.error = error

        self._run(read)
        return result

    def stream_with_helper(self, **params: Any) -> HelperResult:
        async def read(client: Any) -> HelperResult:
            async with client.messages.stream(**params) as stream:
                events = [event async for event in stream]
                return HelperResult(events, await stream.get_final_message())

        return self._run(read)

    def count(self, **params: Any) -> int:
        async def read(client: Any) -> int:
            tokens: int = (await client.messages.count_tokens(**params)).input_tokens
            return tokens

        return self._run(read)

    def models(self, **params: Any) -> Sequence[Any]:
        async def read(client: Any) -> list[Any]:
            return [model async for model in client.models.list(**params)]

        return self._run(read)

    def model(self, name: str) -> Any:
        return self._run(lambda client: client.models.retrieve(name))

    def _run(self, work: Callable[[Any], Awaitable[T]]) -> T:
        async def run() -> T:
            transport = anthropic.DefaultAsyncHttpxClient(verify=NO_TLS)
            async with anthropic.AsyncAnthropic(**self.options, http_client=transport) as client:
                return await work(client.beta if self.beta else client)

        return asyncio.run(run())


def _raise_stream_error(result: MessageStream) -> MessageStream:
    """Return the stream, or raise the error that ended it."""
    if result.error is not None:
        raise result.error
    return result
