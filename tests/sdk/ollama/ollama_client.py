"""The sync and the async Ollama client, with the same methods."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import ollama

T = TypeVar("T")

# Reading the machine's certificates for each client takes longer than most tests.
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
# A minimal valid request.
HELLO: dict[str, Any] = {
    "model": "llama3.2",
    "messages": [{"role": "user", "content": "Hello"}],
}
PROMPT: dict[str, Any] = {"model": "llama3.2", "prompt": "Hello"}


@dataclass
class OllamaStream:
    """The lines of a stream, and the exception that ended it, if any.

    Lines of chat and of generate have different classes.
    """

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


class OllamaClient(Protocol):
    """A client that is created with `options` for each call.

    `stream` raises the error of a broken stream; `read_stream` returns it with the lines.
    Both call the SDK's `chat` unless another method is passed.
    """

    options: dict[str, Any]

    def create(self, method: str = "chat", **params: Any) -> Any: ...
    def stream(self, method: str = "chat", **params: Any) -> OllamaStream: ...
    def read_stream(self, method: str = "chat", **params: Any) -> OllamaStream: ...
    def ask(self, method: str, **params: Any) -> Any: ...


class SyncOllamaClient:
    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def create(self, method: str = "chat", **params: Any) -> Any:
        return self.ask(method, **params)

    def stream(self, method: str = "chat", **params: Any) -> OllamaStream:
        return _raise_stream_error(self.read_stream(method, **params))

    def read_stream(self, method: str = "chat", **params: Any) -> OllamaStream:
        result = OllamaStream()
        with ollama.Client(**self.options, verify=NO_TLS) as client:
            try:
                for line in getattr(client, method)(**params, stream=True):
                    result.lines.append(line)
            except Exception as error:
                result.error = error
        return result

    def ask(self, method: str, **params: Any) -> Any:
        with ollama.Client(**self.options, verify=NO_TLS) as client:
            return getattr(client, method)(**params)


class AsyncOllamaClient:
    """Run each call in a new event loop."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    def create(self, method: str = "chat", **params: Any) -> Any:
        return self.ask(method, **params)

    def stream(self, method: str = "chat", **params: Any) -> OllamaStream:
        return _raise_stream_error(self.read_stream(method, **params))

    def read_stream(self, method: str = "chat", **params: Any) -> OllamaStream:
        result = OllamaStream()

        async def read(client: ollama.AsyncClient) -> None:
            try:
                async for line in await getattr(client, method)(**params, stream=True):
                    result.lines.append(line)
            except Exception as error:
                result.error = error

        self._run(read)
        return result

    def ask(self, method: str, **params: Any) -> Any:
        return self._run(lambda client: getattr(client, method)(**params))

    def _run(self, work: Callable[[ollama.AsyncClient], Awaitable[T]]) -> T:
        async def run() -> T:
            async with ollama.AsyncClient(**self.options, verify=NO_TLS) as client:
                return await work(client)

        return asyncio.run(run())


def calls_of(message: ollama.Message) -> list[tuple[str, Any]]:
    """Return the names and arguments of a message's tool calls."""
    return [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]


def _raise_stream_error(result: OllamaStream) -> OllamaStream:
    """Return the stream, or raise the error that ended it."""
    if result.error is not None:
        raise result.error
    return result
