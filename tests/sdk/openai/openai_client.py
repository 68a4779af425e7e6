"""OpenAI's sync and async clients, plain and for Azure, with the same methods.

A test passes a function of the SDK's client, such as `lambda c: c.models.list()`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import openai

from tests.sdk.openai.openai_chat_client import NO_TLS

Work = Callable[[Any], Any]


@dataclass
class StreamItems:
    """The items of a stream, and the exception that ended it, if any."""

    items: list[Any] = field(default_factory=list)
    error: BaseException | None = None

    @property
    def types(self) -> list[str]:
        return [item.type for item in self.items]


class OpenAIClient(Protocol):
    """A client that is created with `options` for each call.

    `ask` returns the result of its function; `read` collects the stream that it returns.
    `stream_with_helper` returns the events of the Responses stream helper and the final response.
    """

    options: dict[str, Any]

    def ask(self, work: Work) -> Any: ...
    def read(self, work: Work) -> StreamItems: ...
    def stream_with_helper(self, **params: Any) -> tuple[list[Any], Any]: ...


class SyncOpenAIClient:
    def __init__(self, options: dict[str, Any], *, azure: bool = False) -> None:
        self.options = options
        self._make = openai.AzureOpenAI if azure else openai.OpenAI

    def ask(self, work: Work) -> Any:
        with self._client() as client:
            return work(client)

    def read(self, work: Work) -> StreamItems:
        result = StreamItems()
        with self._client() as client:
            try:
                for item in work(client):
                    result.items.append(item)
            except Exception as error:
                result.error = error
        return result

    def stream_with_helper(self, **params: Any) -> tuple[list[Any], Any]:
        with self._client() as client, client.responses.stream(**params) as stream:
            return list(stream), stream.get_final_response()

    def _client(self) -> Any:
        return self._make(**self.options, http_client=openai.DefaultHttpx2Client(verify=NO_TLS))


class AsyncOpenAIClient:
    """Run each call in a new event loop."""

    def __init__(self, options: dict[str, Any], *, azure: bool = False) -> None:
        self.options = options
        self._make = openai.AsyncAzureOpenAI if azure else openai.AsyncOpenAI

    def ask(self, work: Work) -> Any:
        async def ask(client: Any) -> Any:
            return await work(client)

        return self._run(ask)

    def read(self, work: Work) -> StreamItems:
        result = StreamItems()

        async def read(client: Any) -> None:
            try:
                async for item in await work(client):
                    result.items.append(item)
            except Exception as error:
                result.error = error

        self._run(read)
        return result

    def stream_with_helper(self, **params: Any) -> tuple[list[Any], Any]:
        async def read(client: Any) -> tuple[list[Any], Any]:
            async with client.responses.stream(**params) as stream:
                events = [event async for event in stream]
                return events, await stream.get_final_response()

        events_and_response: tuple[list[Any], Any] = self._run(read)
        return events_and_response

    def _run(self, work: Work) -> Any:
        async def run() -> Any:
            transport = openai.DefaultAsyncHttpx2Client(verify=NO_TLS)
            async with self._make(**self.options, http_client=transport) as client:
                return await work(client)

        return asyncio.run(run())
