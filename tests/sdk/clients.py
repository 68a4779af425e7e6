"""One interface to the official clients of all providers, for tests that apply to each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.sdk.client_factories import (
    make_anthropic_client,
    make_gemini_client,
    make_ollama_client,
    make_openai_chat_client,
    make_openai_client,
)
from tests.support.live_server import Live

MODELS = {
    "openai": "gpt-4o",
    "responses": "gpt-4o",
    "anthropic": "claude-sonnet-5-5",
    "anthropic beta": "claude-sonnet-5-5",
    "gemini": "gemini-2.5-flash",
    "ollama": "llama3.2",
}
# Anthropic's beta client is tested only where it can differ.
PROVIDERS = [name for name in MODELS if name != "anthropic beta"]


@dataclass(frozen=True)
class StreamOutcome:
    """A stream: its text deltas, finish reasons or final events, all items, and its exception."""

    pieces: list[str]
    end_markers: list[str]
    items: list[Any]
    error: BaseException | None

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass(frozen=True)
class ProviderClient:
    """A provider's client, created with `options`.

    Each call takes the user's text and fields that replace those of the request body. `create`
    returns the text of a response; `read_stream` collects a stream that may break.
    """

    provider: str
    options: dict[str, Any]
    create: Callable[..., str]
    read_stream: Callable[..., StreamOutcome]

    @property
    def model(self) -> str:
        return MODELS[self.provider]

    def stream(self, text: str = "Hello", /, **body: Any) -> StreamOutcome:
        """Collect a stream; raise the error that ended it, if any."""
        outcome = self.read_stream(text, **body)
        if outcome.error is not None:
            raise outcome.error
        return outcome

    def collect_errors(self, text: str = "Hello", /, **body: Any) -> list[Exception]:
        """Return the errors of a request without a stream and of one with a stream."""
        errors: list[Exception] = []
        for send in (self.create, self.stream):
            with pytest.raises(Exception) as raised:
                send(text, **body)
            errors.append(raised.value)
        return errors

    def set_timeout(self, seconds: float) -> None:
        """Set the timeout of later requests."""
        self.options["timeout"] = round(seconds * 1000) if self.provider == "gemini" else seconds


def make_client(live: Live, provider: str, mode: str) -> ProviderClient:
    return {
        "openai": _openai,
        "responses": _responses,
        "anthropic": _anthropic,
        "anthropic beta": _anthropic,
        "gemini": _gemini,
        "ollama": _ollama,
    }[provider](live, provider, mode)


def user_messages(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def _openai(live: Live, provider: str, mode: str) -> ProviderClient:
    chat = make_openai_chat_client(live, mode)

    def build_request(text: str, body: Any) -> dict[str, Any]:
        return {"model": MODELS[provider], "messages": user_messages(text), "extra_body": body}

    def create(text: str = "Hello", /, **body: Any) -> str:
        return chat.create(**build_request(text, body)).choices[0].message.content or ""

    def read_stream(text: str = "Hello", /, **body: Any) -> StreamOutcome:
        result = chat.read_stream(**build_request(text, body))
        deltas = [choice.delta for chunk in result.chunks for choice in chunk.choices]
        pieces = [delta.content for delta in deltas if delta.content]
        return StreamOutcome(pieces, result.finish_reasons, result.chunks, result.error)

    return ProviderClient(provider, chat.options, create, read_stream)


def _responses(live: Live, provider: str, mode: str) -> ProviderClient:
    client = make_openai_client(live, mode)

    def build_request(text: str, body: Any) -> dict[str, Any]:
        return {"model": MODELS[provider], "input": text, "extra_body": body}

    def create(text: str = "Hello", /, **body: Any) -> str:
        answer = client.ask(lambda c: c.responses.create(**build_request(text, body)))
        return str(answer.output_text)

    def read_stream(text: str = "Hello", /, **body: Any) -> StreamOutcome:
        result = client.read(lambda c: c.responses.create(**build_request(text, body), stream=True))
        pieces = [e.delta for e in result.items if e.type == "response.output_text.delta"]
        last = ("response.completed", "response.incomplete", "response.failed")
        end_markers = [kind for kind in result.types if kind in last]
        return StreamOutcome(pieces, end_markers, result.items, result.error)

    return ProviderClient(provider, client.options, create, read_stream)


def _anthropic(live: Live, provider: str, mode: str) -> ProviderClient:
    claude = make_anthropic_client(live, mode, beta=provider == "anthropic beta")

    def build_request(text: str, body: Any) -> dict[str, Any]:
        limit = {"model": MODELS[provider], "max_tokens": 1024}
        return {**limit, "messages": user_messages(text), "extra_body": body}

    def create(text: str = "Hello", /, **body: Any) -> str:
        return str(claude.create(**build_request(text, body)).content[0].text)

    def read_stream(text: str = "Hello", /, **body: Any) -> StreamOutcome:
        result = claude.read_stream(**build_request(text, body))
        pieces = [
            event.delta.text for event in result.events if event.type == "content_block_delta"
        ]
        last = ("content_block_stop", "message_delta", "message_stop")
        end_markers = [kind for kind in result.kinds if kind in last]
        return StreamOutcome(pieces, end_markers, result.events, result.error)

    return ProviderClient(provider, claude.options, create, read_stream)


def _gemini(live: Live, provider: str, mode: str) -> ProviderClient:
    gemini = make_gemini_client(live, mode)

    def build_request(text: str, body: Any) -> dict[str, Any]:
        gemini.options["extra_body"] = body
        return {"model": MODELS[provider], "contents": text}

    def create(text: str = "Hello", /, **body: Any) -> str:
        return gemini.create(**build_request(text, body)).text or ""

    def read_stream(text: str = "Hello", /, **body: Any) -> StreamOutcome:
        result = gemini.read_stream(**build_request(text, body))
        pieces = [part.text or "" for part in result.parts]
        return StreamOutcome(pieces, result.finish_reasons, result.chunks, result.error)

    return ProviderClient(provider, gemini.options, create, read_stream)


def _ollama(live: Live, provider: str, mode: str) -> ProviderClient:
    llama = make_ollama_client(live, mode)

    def build_request(text: str) -> dict[str, Any]:
        return {"model": MODELS[provider], "messages": user_messages(text)}

    def create(text: str = "Hello", /) -> str:
        return llama.create(**build_request(text)).message.content or ""

    def read_stream(text: str = "Hello", /) -> StreamOutcome:
        result = llama.read_stream(**build_request(text))
        pieces = [message.content for message in result.messages if message.content]
        return StreamOutcome(pieces, result.done_reasons, result.lines, result.error)

    return ProviderClient(provider, llama.options, create, read_stream)
