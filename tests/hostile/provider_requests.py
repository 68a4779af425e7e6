"""Valid requests of each provider, and the row type of the corpus of invalid ones."""

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
    """A request of the corpus with its expected status.

    An error must have the envelope of `provider`. `bare` responses come from the HTTP server
    itself.
    """

    name: str
    data: bytes
    status: int
    provider: str = "openai"
    bare: bool = False
    half_close: bool = False


@dataclass(frozen=True)
class ProviderEndpoint:
    """An endpoint of a provider with a template of its request body.

    Requests ask for no stream and at most 9 tokens. `turn` is the template of one message, whose
    content is JSON. `empty` is the expected status of the body `{}`.
    """

    provider: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = '{"model":"m","max_tokens":9,"messages":[%s]}'
    turn: str = '{"role":"user","content":%s}'
    empty: int = 400

    def request_body(self, content: str, *, times: int = 1) -> bytes:
        return (self.body % ",".join([self.turn % content] * times)).encode()


ENDPOINTS = (
    ProviderEndpoint("openai", CHAT, OPENAI),
    ProviderEndpoint(
        "openai",
        RESPONSES,
        OPENAI,
        body='{"model":"m","max_output_tokens":9,"input":[%s]}',
        empty=200,
    ),
    ProviderEndpoint(
        "openai",
        COMPLETIONS,
        OPENAI,
        body='{"model":"m","max_tokens":9,"prompt":[%s]}',
        turn="%s",
    ),
    ProviderEndpoint("anthropic", MESSAGES, ANTHROPIC),
    ProviderEndpoint("anthropic", COUNT, ANTHROPIC),
    *(
        ProviderEndpoint(
            "gemini",
            path,
            GEMINI,
            body='{"generationConfig":{"maxOutputTokens":9},"contents":[%s]}',
            turn='{"role":"user","parts":[{"text":%s}]}',
        )
        for path in (GENERATE, "/v1/models/m:countTokens?key=k")
    ),
    ProviderEndpoint(
        "ollama",
        LOCAL,
        OLLAMA,
        body='{"model":"m","stream":false,"options":{"num_predict":9},"messages":[%s]}',
    ),
)


def find_endpoint(path: str) -> ProviderEndpoint:
    return next(endpoint for endpoint in ENDPOINTS if endpoint.path == path)
