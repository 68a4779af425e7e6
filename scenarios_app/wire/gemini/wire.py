"""The Gemini wire: answers whole and streamed, token counts, embeddings and the models list.

A stream is server-sent events or one JSON array, as the call's query says: two dialects that are
alike in everything else.
"""

import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import unquote

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse
from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.wire.base import Call, Facts, Headers, Route, StreamEncoder, Wire, encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini.answer import answer_of, is_blocked
from scenarios_app.wire.gemini.errors import answer_headers, envelope
from scenarios_app.wire.gemini.models import compute, read_plain
from scenarios_app.wire.gemini.request import PROVIDER, read_counted, read_generate
from scenarios_app.wire.gemini.sample import clients, sample
from scenarios_app.wire.gemini.shipped import MODELS
from scenarios_app.wire.gemini.stream import ARRAY, EVENTS, BlockedEncoder, Framing, GeminiEncoder
from scenarios_app.wire.samples import Asked, Sdk, Sent

Kind = Literal["generate", "compute"]

_MODELS = "/v1beta/models"
# Verb, operation, kind, and the verb by which steps name it.
_VERBS: tuple[tuple[str, str, Kind, str], ...] = (
    ("generateContent", "generate", "generate", "generateContent"),
    ("streamGenerateContent", "stream", "generate", "generateContent"),
    ("countTokens", "count_tokens", "compute", "countTokens"),
    ("embedContent", "embed", "compute", "embedContent"),
    ("batchEmbedContents", "batch_embed", "compute", "batchEmbedContents"),
)
_OWN, _SHARED = ("/v1beta/", "/v1alpha/"), "/v1/"
_LISTS = tuple(f"{version}models" for version in (*_OWN, _SHARED))
_FOLDERS = (*_LISTS, *(f"{version}tunedModels" for version in (*_OWN, _SHARED)))
_UPLOADS = tuple(f"/upload{version}" for version in (*_OWN, _SHARED))
_OTHERS = ("anthropic-version", "authorization", "x-api-key")
_VERB = re.compile(
    rf"{_SHARED}(?:tunedM|m)odels/.*:(?:{'|'.join(verb for verb, *_ in _VERBS)})/?", re.DOTALL
)
_STREAM = ":streamGenerateContent"


class Gemini:
    """Google's dialect, with its streams in one of their two framings."""

    name = "gemini"
    title = "Gemini"
    models = MODELS
    key_headers: tuple[str, ...] = ("x-goog-api-key",)
    provider = PROVIDER
    prefixes: tuple[str, ...] = (*_OWN, *_UPLOADS, _SHARED)
    routes: tuple[Route, ...] = (
        *(
            Route(
                "POST",
                f"{folder}/{{model}}:{verb}",
                operation,
                kind,
                alias_of=f"{_MODELS}/{{model}}:{named}",
            )
            for verb, operation, kind, named in _VERBS
            for folder in _FOLDERS
        ),
        *(Route("GET", path, "list_models", "compute", alias_of=_MODELS) for path in _LISTS),
        *(
            Route("GET", path + "/{model}", "get_model", "compute", alias_of=_MODELS + "/{model}")
            for path in _LISTS
        ),
    )
    tool_call_prefix = "call_"
    sequential = True
    signs_reasoning = True
    malformed_body = b'{"candidates":[{"content":{"parts":[{"te'

    def __init__(self, framing: Framing) -> None:
        self._framing = framing
        as_events = framing is EVENTS
        self.stream_type = "text/event-stream" if as_events else "application/json; charset=UTF-8"
        self.malformed_event = framing.later + self.malformed_body + framing.after

    def sample(self, asked: Asked) -> Sent:
        return sample(asked)

    def clients(self, origin: str) -> tuple[Sdk, ...]:
        return clients(origin)

    def claims(self, call: Call) -> bool:
        path = unquote(call.path)
        if f"{path}/".startswith(_SHARED) and not self._means_us(call, path):
            return False
        asks_array = path.endswith(_STREAM) and call.query.get("alt") != "sse"
        return asks_array == (self._framing is ARRAY)

    def api_key(self, call: Call) -> str | None:
        header = call.headers.get("x-goog-api-key", "").strip()
        return header or call.query.get("key", "").strip() or None

    def authorise(self, call: Call) -> None:
        if self.api_key(call) is None:
            raise WireError(
                403,
                "Method doesn't allow unregistered callers (callers without established identity). "
                "Please use API Key or other form of API consumer identity to call this API.",
            )

    def check(self, call: Call, route: Route) -> None:
        """Nothing more than a key is asked for."""

    def parse(
        self, call: Call, route: Route, params: Mapping[str, str], body: Node
    ) -> CanonicalRequest:
        read = read_plain
        if route.kind == "generate":
            read = read_generate
        elif route.operation == "count_tokens":
            read = read_counted
        try:
            return read(call, route, params, body)
        except WireError as error:
            # This envelope names places, and has no codes for what is wrong there.
            answer = error.answer
            raise WireError(answer.status, answer.message, param=answer.param) from None

    def compute(
        self, route: Route, params: Mapping[str, str], request: CanonicalRequest, facts: Facts
    ) -> bytes:
        return compute(route, request, facts)

    def render(self, request: CanonicalRequest, response: CanonicalResponse) -> bytes:
        return encode_json(answer_of(response))

    def encoder(self, request: CanonicalRequest, response: CanonicalResponse) -> StreamEncoder:
        made = BlockedEncoder if is_blocked(response) else GeminiEncoder
        return made(response, self._framing)

    def error(self, error: ErrorAnswer, *, request_id: str) -> bytes:
        return envelope(error)

    def stream_error(self, error: ErrorAnswer, *, sent: int) -> bytes:
        framing = self._framing
        lead = framing.later if sent else framing.first
        return lead + envelope(error) + framing.after + framing.last

    def headers(self, *, request_id: str, created: int, error: ErrorAnswer | None) -> Headers:
        return answer_headers(error)

    def _means_us(self, call: Call, path: str) -> bool:
        """Whether a path below /v1/ is Google's: a verb is whoever calls it, the rest is for who
        brings Google's key and nobody else's."""
        alone = not any(header in call.headers for header in _OTHERS)
        return bool(_VERB.fullmatch(path)) or (alone and self.api_key(call) is not None)


WIRES: tuple[Wire, ...] = (Gemini(EVENTS), Gemini(ARRAY))
