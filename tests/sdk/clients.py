"""Each official client behind one face, for what is asked of all of them alike."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.sdk.talks import claude_of, gemini_of, ollama_of, openai_of, openais_whole_client
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
class Heard:
    """A stream: its pieces of text, what it says of its end, all that came of it, and what it
    raised instead of ending."""

    pieces: list[str]
    ends: list[str]
    items: list[Any]
    error: BaseException | None

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass(frozen=True)
class Client:
    """`given` is what it is made with. It is asked with a text, and with fields of a body that take
    the place of its own: `whole` is what it makes of an answer, `hear` of a stream that may break.
    """

    provider: str
    given: dict[str, Any]
    whole: Callable[..., str]
    hear: Callable[..., Heard]

    @property
    def model(self) -> str:
        return MODELS[self.provider]

    def stream(self, text: str = "Hello", /, **body: Any) -> Heard:
        """A stream that ends as it should."""
        heard = self.hear(text, **body)
        if heard.error is not None:
            raise heard.error
        return heard

    def refused(self, text: str = "Hello", /, **body: Any) -> list[Exception]:
        """What it raises instead of a whole answer, and instead of a stream."""
        errors: list[Exception] = []
        for ask in (self.whole, self.stream):
            with pytest.raises(Exception) as raised:
                ask(text, **body)
            errors.append(raised.value)
        return errors

    def wait(self, seconds: float) -> None:
        """For so long, and no longer, from now on."""
        self.given["timeout"] = round(seconds * 1000) if self.provider == "gemini" else seconds


def client_of(live: Live, provider: str, way: str) -> Client:
    return {
        "openai": _openai,
        "responses": _responses,
        "anthropic": _anthropic,
        "anthropic beta": _anthropic,
        "gemini": _gemini,
        "ollama": _ollama,
    }[provider](live, provider, way)


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def _openai(live: Live, provider: str, way: str) -> Client:
    chat = openai_of(live, way)

    def asked(text: str, body: Any) -> dict[str, Any]:
        return {"model": MODELS[provider], "messages": said(text), "extra_body": body}

    def whole(text: str = "Hello", /, **body: Any) -> str:
        return chat.whole(**asked(text, body)).choices[0].message.content or ""

    def hear(text: str = "Hello", /, **body: Any) -> Heard:
        seen = chat.broken(**asked(text, body))
        deltas = [choice.delta for chunk in seen.chunks for choice in chunk.choices]
        pieces = [delta.content for delta in deltas if delta.content]
        return Heard(pieces, seen.finish_reasons, seen.chunks, seen.error)

    return Client(provider, chat.given, whole, hear)


def _responses(live: Live, provider: str, way: str) -> Client:
    client = openais_whole_client(live, way)

    def asked(text: str, body: Any) -> dict[str, Any]:
        return {"model": MODELS[provider], "input": text, "extra_body": body}

    def whole(text: str = "Hello", /, **body: Any) -> str:
        answer = client.ask(lambda c: c.responses.create(**asked(text, body)))
        return str(answer.output_text)

    def hear(text: str = "Hello", /, **body: Any) -> Heard:
        seen = client.read(lambda c: c.responses.create(**asked(text, body), stream=True))
        pieces = [e.delta for e in seen.items if e.type == "response.output_text.delta"]
        last = ("response.completed", "response.incomplete", "response.failed")
        ends = [kind for kind in seen.types if kind in last]
        return Heard(pieces, ends, seen.items, seen.error)

    return Client(provider, client.given, whole, hear)


def _anthropic(live: Live, provider: str, way: str) -> Client:
    claude = claude_of(live, way, beta=provider == "anthropic beta")

    def asked(text: str, body: Any) -> dict[str, Any]:
        limit = {"model": MODELS[provider], "max_tokens": 1024}
        return {**limit, "messages": said(text), "extra_body": body}

    def whole(text: str = "Hello", /, **body: Any) -> str:
        return str(claude.whole(**asked(text, body)).content[0].text)

    def hear(text: str = "Hello", /, **body: Any) -> Heard:
        seen = claude.broken(**asked(text, body))
        pieces = [event.delta.text for event in seen.events if event.type == "content_block_delta"]
        last = ("content_block_stop", "message_delta", "message_stop")
        ends = [kind for kind in seen.kinds if kind in last]
        return Heard(pieces, ends, seen.events, seen.error)

    return Client(provider, claude.given, whole, hear)


def _gemini(live: Live, provider: str, way: str) -> Client:
    gemini = gemini_of(live, way)

    def asked(text: str, body: Any) -> dict[str, Any]:
        gemini.given["extra_body"] = body
        return {"model": MODELS[provider], "contents": text}

    def whole(text: str = "Hello", /, **body: Any) -> str:
        return gemini.whole(**asked(text, body)).text or ""

    def hear(text: str = "Hello", /, **body: Any) -> Heard:
        seen = gemini.broken(**asked(text, body))
        pieces = [part.text or "" for part in seen.parts]
        return Heard(pieces, seen.finish_reasons, seen.chunks, seen.error)

    return Client(provider, gemini.given, whole, hear)


def _ollama(live: Live, provider: str, way: str) -> Client:
    llama = ollama_of(live, way)

    def asked(text: str) -> dict[str, Any]:
        return {"model": MODELS[provider], "messages": said(text)}

    def whole(text: str = "Hello", /) -> str:
        return llama.whole(**asked(text)).message.content or ""

    def hear(text: str = "Hello", /) -> Heard:
        seen = llama.broken(**asked(text))
        pieces = [message.content for message in seen.messages if message.content]
        return Heard(pieces, seen.done_reasons, seen.lines, seen.error)

    return Client(provider, llama.given, whole, hear)
