"""How each provider is asked, by requests that are right, and rows of those that are not."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

RESPONSES, COMPLETIONS = "/v1/responses", "/v1/completions"
CHAT, MESSAGES, COUNT = "/v1/chat/completions", "/v1/messages", "/v1/messages/count_tokens"
GENERATE = "/v1beta/models/m:generateContent"
LOCAL = "/api/chat"
OPENAI = {"Authorization": "Bearer k", "Content-Type": "application/json"}
ANTHROPIC = {
    "x-api-key": "k",
    "anthropic-version": "2023-06-01",
    "Content-Type": "application/json",
}
GEMINI = {"x-goog-api-key": "k", "Content-Type": "application/json"}
OLLAMA = {"Content-Type": "application/json"}
VALID: dict[str, Any] = {
    "model": "m",
    "max_tokens": 9,
    "messages": [{"role": "user", "content": "Hello"}],
}
GOOD = json.dumps(VALID).encode()
MB = 1_000_000


@dataclass(frozen=True)
class Row:
    """`provider`: whose envelope an error has to have. `django`: what the view's answer is instead,
    since Django looks at hosts and the door in front of it does not."""

    name: str
    data: bytes
    status: int
    provider: str = "openai"
    bare: bool = False
    half_close: bool = False
    django: int | None = None


@dataclass(frozen=True)
class Spoken:
    """One provider's way to be asked: for no stream, with `turns` that say something in JSON and
    a limit of 9 tokens. `empty` is the status that nothing at all deserves."""

    provider: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = '{"model":"m","max_tokens":9,"messages":[%s]}'
    turn: str = '{"role":"user","content":%s}'
    empty: int = 400

    def saying(self, content: str, *, times: int = 1) -> bytes:
        return (self.body % ",".join([self.turn % content] * times)).encode()


WAYS = (
    Spoken("openai", CHAT, OPENAI),
    Spoken(
        "openai",
        RESPONSES,
        OPENAI,
        body='{"model":"m","max_output_tokens":9,"input":[%s]}',
        empty=200,
    ),
    Spoken(
        "openai",
        COMPLETIONS,
        OPENAI,
        body='{"model":"m","max_tokens":9,"prompt":[%s]}',
        turn="%s",
    ),
    Spoken("anthropic", MESSAGES, ANTHROPIC),
    Spoken("anthropic", COUNT, ANTHROPIC),
    *(
        Spoken(
            "gemini",
            path,
            GEMINI,
            body='{"generationConfig":{"maxOutputTokens":9},"contents":[%s]}',
            turn='{"role":"user","parts":[{"text":%s}]}',
        )
        for path in (GENERATE, "/v1/models/m:countTokens?key=k")
    ),
    Spoken(
        "ollama",
        LOCAL,
        OLLAMA,
        body='{"model":"m","stream":false,"options":{"num_predict":9},"messages":[%s]}',
    ),
)


def way_to(path: str) -> Spoken:
    return next(way for way in WAYS if way.path == path)
