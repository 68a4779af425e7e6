"""The official google-genai client, sync and async, behind one face."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import httpx2
from google import genai
from google.genai import types

T = TypeVar("T")

# Reading the machine's certificates for each client takes longer than most tests.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
# A request for tests in which any will do.
HELLO: dict[str, Any] = {"model": "gemini-2.5-flash", "contents": "Hello"}


@dataclass
class Streamed:
    """The chunks of a stream, and what it raised instead of ending."""

    chunks: list[types.GenerateContentResponse] = field(default_factory=list)
    error: BaseException | None = None

    @property
    def parts(self) -> list[types.Part]:
        return [part for chunk in self.chunks for part in chunk.parts or ()]

    @property
    def text(self) -> str:
        return "".join(part.text or "" for part in self.parts if not part.thought)

    @property
    def thinking(self) -> str:
        return "".join(part.text or "" for part in self.parts if part.thought)

    @property
    def finish_reasons(self) -> list[str]:
        """The reasons of all candidates, where they finished."""
        candidates = (c for chunk in self.chunks for c in chunk.candidates or ())
        return [c.finish_reason.value for c in candidates if c.finish_reason]


class GeminiTalk(Protocol):
    """One client; `given` are the options it is made with. `stream` is a stream that ends as it
    should, `broken` one that may not; `converse` sends messages through a chat, one after another,
    and gives what each was answered."""

    key: str
    given: dict[str, Any]

    def whole(self, **asked: Any) -> types.GenerateContentResponse: ...
    def stream(self, **asked: Any) -> Streamed: ...
    def broken(self, **asked: Any) -> Streamed: ...
    def ask(self, method: str, **asked: Any) -> Any: ...
    def models(self, **asked: Any) -> Sequence[types.Model]: ...
    def converse(self, *messages: Any, stream: bool, **asked: Any) -> list[Streamed]: ...


class SyncTalk:
    def __init__(self, key: str, given: dict[str, Any]) -> None:
        self.key = key
        self.given = given

    def whole(self, **asked: Any) -> types.GenerateContentResponse:
        answer: types.GenerateContentResponse = self.ask("generate_content", **asked)
        return answer

    def stream(self, **asked: Any) -> Streamed:
        return _ended(self.broken(**asked))

    def broken(self, **asked: Any) -> Streamed:
        seen = Streamed()
        with self._http() as http:
            try:
                for chunk in self._client(http).models.generate_content_stream(**asked):
                    seen.chunks.append(chunk)
            except Exception as error:
                seen.error = error
        return seen

    def ask(self, method: str, **asked: Any) -> Any:
        with self._http() as http:
            return getattr(self._client(http).models, method)(**asked)

    def models(self, **asked: Any) -> Sequence[types.Model]:
        with self._http() as http:
            return list(self._client(http).models.list(**asked))

    def converse(self, *messages: Any, stream: bool, **asked: Any) -> list[Streamed]:
        with self._http() as http:
            chat = self._client(http).chats.create(**asked)
            if stream:
                return [Streamed(list(chat.send_message_stream(said))) for said in messages]
            return [Streamed([chat.send_message(said)]) for said in messages]

    def _http(self) -> httpx2.Client:
        return httpx2.Client(verify=NO_TLS, trust_env=False)

    def _client(self, http: httpx2.Client) -> genai.Client:
        # Otherwise the SDK would create an async client and read the certificates.
        other = httpx2.AsyncClient(verify=NO_TLS)
        options = {"httpx_client": http, "httpx_async_client": other, **self.given}
        return genai.Client(api_key=self.key, http_options=types.HttpOptions(**options))


class AsyncTalk:
    """Each call has an event loop of its own."""

    def __init__(self, key: str, given: dict[str, Any]) -> None:
        self.key = key
        self.given = given

    def whole(self, **asked: Any) -> types.GenerateContentResponse:
        answer: types.GenerateContentResponse = self.ask("generate_content", **asked)
        return answer

    def stream(self, **asked: Any) -> Streamed:
        return _ended(self.broken(**asked))

    def broken(self, **asked: Any) -> Streamed:
        seen = Streamed()

        async def read(client: Any) -> None:
            try:
                async for chunk in await client.models.generate_content_stream(**asked):
                    seen.chunks.append(chunk)
            except Exception as error:
                seen.error = error

        self._run(read)
        return seen

    def ask(self, method: str, **asked: Any) -> Any:
        return self._run(lambda client: getattr(client.models, method)(**asked))

    def models(self, **asked: Any) -> Sequence[types.Model]:
        async def read(client: Any) -> list[types.Model]:
            return [model async for model in await client.models.list(**asked)]

        return self._run(read)

    def converse(self, *messages: Any, stream: bool, **asked: Any) -> list[Streamed]:
        async def read(client: Any) -> list[Streamed]:
            chat = client.chats.create(**asked)
            answers = []
            for said in messages:
                if stream:
                    chunks = [chunk async for chunk in await chat.send_message_stream(said)]
                else:
                    chunks = [await chat.send_message(said)]
                answers.append(Streamed(chunks))
            return answers

        return self._run(read)

    def _run(self, work: Callable[[Any], Awaitable[T]]) -> T:
        async def run() -> T:
            async with httpx2.AsyncClient(verify=NO_TLS, trust_env=False) as http:
                with httpx2.Client(verify=NO_TLS) as other:
                    options = {"httpx_client": other, "httpx_async_client": http, **self.given}
                    made = types.HttpOptions(**options)
                    return await work(genai.Client(api_key=self.key, http_options=made).aio)

        return asyncio.run(run())


def _ended(seen: Streamed) -> Streamed:
    if seen.error is not None:
        raise seen.error
    return seen
