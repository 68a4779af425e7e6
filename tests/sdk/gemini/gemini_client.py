"""The sync and the async google-genai client, with the same methods."""

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
# A minimal valid request.
HELLO: dict[str, Any] = {"model": "gemini-2.5-flash", "contents": "Hello"}


@dataclass
class GeminiStream:
    """The chunks of a stream, and the exception that ended it, if any."""

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
        """Return the finish reasons of all candidates that have one."""
        candidates = (c for chunk in self.chunks for c in chunk.candidates or ())
        return [c.finish_reason.value for c in candidates if c.finish_reason]


class GeminiClient(Protocol):
    """A client that is created with the HTTP options `options` for each call.

    `stream` raises the error of a broken stream; `read_stream` returns it with the chunks.
    `converse` sends messages through one chat and returns the response to each.
    """

    key: str
    options: dict[str, Any]

    def create(self, **params: Any) -> types.GenerateContentResponse: ...
    def stream(self, **params: Any) -> GeminiStream: ...
    def read_stream(self, **params: Any) -> GeminiStream: ...
    def ask(self, method: str, **params: Any) -> Any: ...
    def models(self, **params: Any) -> Sequence[types.Model]: ...
    def converse(self, *messages: Any, stream: bool, **params: Any) -> list[GeminiStream]: ...


class SyncGeminiClient:
    def __init__(self, key: str, options: dict[str, Any]) -> None:
        self.key = key
        self.options = options

    def create(self, **params: Any) -> types.GenerateContentResponse:
        answer: types.GenerateContentResponse = self.ask("generate_content", **params)
        return answer

    def stream(self, **params: Any) -> GeminiStream:
        return _raise_stream_error(self.read_stream(**params))

    def read_stream(self, **params: Any) -> GeminiStream:
        result = GeminiStream()
        with self._http() as http:
            try:
                for chunk in self._client(http).models.generate_content_stream(**params):
                    result.chunks.append(chunk)
            except Exception as error:
                result.error = error
        return result

    def ask(self, method: str, **params: Any) -> Any:
        with self._http() as http:
            return getattr(self._client(http).models, method)(**params)

    def models(self, **params: Any) -> Sequence[types.Model]:
        with self._http() as http:
            return list(self._client(http).models.list(**params))

    def converse(self, *messages: Any, stream: bool, **params: Any) -> list[GeminiStream]:
        with self._http() as http:
            chat = self._client(http).chats.create(**params)
            if stream:
                return [
                    GeminiStream(list(chat.send_message_stream(message))) for message in messages
                ]
            return [GeminiStream([chat.send_message(message)]) for message in messages]

    def _http(self) -> httpx2.Client:
        return httpx2.Client(verify=NO_TLS, trust_env=False)

    def _client(self, http: httpx2.Client) -> genai.Client:
        # Otherwise the SDK would create an async client and read the certificates.
        other = httpx2.AsyncClient(verify=NO_TLS)
        http_options = {"httpx_client": http, "httpx_async_client": other, **self.options}
        return genai.Client(api_key=self.key, http_options=types.HttpOptions(**http_options))


class AsyncGeminiClient:
    """Run each call in a new event loop."""

    def __init__(self, key: str, options: dict[str, Any]) -> None:
        self.key = key
        self.options = options

    def create(self, **params: Any) -> types.GenerateContentResponse:
        answer: types.GenerateContentResponse = self.ask("generate_content", **params)
        return answer

    def stream(self, **params: Any) -> GeminiStream:
        return _raise_stream_error(self.read_stream(**params))

    def read_stream(self, **params: Any) -> GeminiStream:
        result = GeminiStream()

        async def read(client: Any) -> None:
            try:
                async for chunk in await client.models.generate_content_stream(**params):
                    result.chunks.append(chunk)
            except Exception as error:
                result.error = error

        self._run(read)
        return result

    def ask(self, method: str, **params: Any) -> Any:
        return self._run(lambda client: getattr(client.models, method)(**params))

    def models(self, **params: Any) -> Sequence[types.Model]:
        async def read(client: Any) -> list[types.Model]:
            return [model async for model in await client.models.list(**params)]

        return self._run(read)

    def converse(self, *messages: Any, stream: bool, **params: Any) -> list[GeminiStream]:
        async def read(client: Any) -> list[GeminiStream]:
            chat = client.chats.create(**params)
            answers = []
            for message in messages:
                if stream:
                    chunks = [chunk async for chunk in await chat.send_message_stream(message)]
                else:
                    chunks = [await chat.send_message(message)]
                answers.append(GeminiStream(chunks))
            return answers

        return self._run(read)

    def _run(self, work: Callable[[Any], Awaitable[T]]) -> T:
        async def run() -> T:
            async with httpx2.AsyncClient(verify=NO_TLS, trust_env=False) as http:
                with httpx2.Client(verify=NO_TLS) as other:
                    http_options = {
                        "httpx_client": other,
                        "httpx_async_client": http,
                        **self.options,
                    }
                    genai_options = types.HttpOptions(**http_options)
                    return await work(
                        genai.Client(api_key=self.key, http_options=genai_options).aio
                    )

        return asyncio.run(run())


def _raise_stream_error(result: GeminiStream) -> GeminiStream:
    """Return the stream, or raise the error that ended it."""
    if result.error is not None:
        raise result.error
    return result
