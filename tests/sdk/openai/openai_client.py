"""OpenAI's clients, plain and for Azure, sync and async, behind one face: a test says once what it
asks, as what it does with a client."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import openai

from tests.sdk.openai.openai_talk import NO_TLS

Work = Callable[[Any], Any]


@dataclass
class Read:
    """What a stream gave, and what it raised instead of ending."""

    items: list[Any] = field(default_factory=list)
    error: BaseException | None = None

    @property
    def types(self) -> list[str]:
        return [item.type for item in self.items]


class Client(Protocol):
    """`given` is what each client is made with. Work is what is asked of it: one answer for `ask`,
    a stream for `read`; `helped` is the stream helper of Responses, with its final response."""

    given: dict[str, Any]

    def ask(self, work: Work) -> Any: ...
    def read(self, work: Work) -> Read: ...
    def helped(self, **asked: Any) -> tuple[list[Any], Any]: ...


class SyncClient:
    def __init__(self, given: dict[str, Any], *, azure: bool = False) -> None:
        self.given = given
        self._make = openai.AzureOpenAI if azure else openai.OpenAI

    def ask(self, work: Work) -> Any:
        with self._client() as client:
            return work(client)

    def read(self, work: Work) -> Read:
        seen = Read()
        with self._client() as client:
            try:
                for item in work(client):
                    seen.items.append(item)
            except Exception as error:
                seen.error = error
        return seen

    def helped(self, **asked: Any) -> tuple[list[Any], Any]:
        with self._client() as client, client.responses.stream(**asked) as stream:
            return list(stream), stream.get_final_response()

    def _client(self) -> Any:
        return self._make(**self.given, http_client=openai.DefaultHttpx2Client(verify=NO_TLS))


class AsyncClient:
    """Each piece of work has an event loop of its own."""

    def __init__(self, given: dict[str, Any], *, azure: bool = False) -> None:
        self.given = given
        self._make = openai.AsyncAzureOpenAI if azure else openai.AsyncOpenAI

    def ask(self, work: Work) -> Any:
        async def ask(client: Any) -> Any:
            return await work(client)

        return self._run(ask)

    def read(self, work: Work) -> Read:
        seen = Read()

        async def read(client: Any) -> None:
            try:
                async for item in await work(client):
                    seen.items.append(item)
            except Exception as error:
                seen.error = error

        self._run(read)
        return seen

    def helped(self, **asked: Any) -> tuple[list[Any], Any]:
        async def read(client: Any) -> tuple[list[Any], Any]:
            async with client.responses.stream(**asked) as stream:
                events = [event async for event in stream]
                return events, await stream.get_final_response()

        helped: tuple[list[Any], Any] = self._run(read)
        return helped

    def _run(self, work: Work) -> Any:
        async def run() -> Any:
            transport = openai.DefaultAsyncHttpx2Client(verify=NO_TLS)
            async with self._make(**self.given, http_client=transport) as client:
                return await work(client)

        return asyncio.run(run())
