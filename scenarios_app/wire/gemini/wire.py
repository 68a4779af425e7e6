"""The Gemini wire: answers whole and streamed, token counts, embeddings and the models list.

A stream is server-sent events or one JSON array, as the call's query says: two dialects that are
alike in everything else.
"""

import re
from functools import partial
from urllib.parse import unquote

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, ErrorAnswer
from scenarios_app.wire.base import (
    BodyComputer,
    BodyRenderer,
    Call,
    EncoderFactory,
    Endpoint,
    Headers,
    Params,
    RequestReader,
    StreamEncoder,
    Wire,
    encode_json,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini.answer import answer_of, is_blocked
from scenarios_app.wire.gemini.decode import DECODER
from scenarios_app.wire.gemini.errors import answer_headers, envelope
from scenarios_app.wire.gemini.manner import Manner
from scenarios_app.wire.gemini.models import (
    count_tokens,
    embedding,
    embeddings,
    get_model,
    list_models,
    read_embedding,
    read_embeddings,
    read_model,
)
from scenarios_app.wire.gemini.request import (
    PROVIDER,
    read_counted,
    read_generate,
    read_streamed,
)
from scenarios_app.wire.gemini.sample import MODELS, clients, sample
from scenarios_app.wire.gemini.stream import ARRAY, EVENTS, BlockedEncoder, Framing, GeminiEncoder
from scenarios_app.wire.samples import SampleCall, SampleRequest, SdkSetup
from scenarios_app.wire.upstream import Upstream

_MODELS = "/v1beta/models"
_OWN, _SHARED = ("/v1beta/", "/v1alpha/"), "/v1/"
_LISTS = tuple(f"{version}models" for version in (*_OWN, _SHARED))
_FOLDERS = (*_LISTS, *(f"{version}tunedModels" for version in (*_OWN, _SHARED)))
_UPLOADS = tuple(f"/upload{version}" for version in (*_OWN, _SHARED))
_OTHERS = ("anthropic-version", "authorization", "x-api-key")
_VERBS = (
    "generateContent",
    "streamGenerateContent",
    "countTokens",
    "embedContent",
    "batchEmbedContents",
)
_VERB = re.compile(rf"{_SHARED}(?:tunedM|m)odels/.*:(?:{'|'.join(_VERBS)})/?", re.DOTALL)
_STREAM = ":streamGenerateContent"


def _render(request: CanonicalRequest, response: CanonicalResponse) -> bytes:
    return encode_json(answer_of(response, request.own))


def _encode(
    framing: Framing, request: CanonicalRequest, response: CanonicalResponse
) -> StreamEncoder:
    if is_blocked(response):
        return BlockedEncoder(response, framing)
    return GeminiEncoder(response, framing, request.own)


def _cache_key(request: CanonicalRequest) -> Manner:
    manner: Manner = request.own
    return manner


def _without_codes(read: RequestReader) -> RequestReader:
    """This envelope names places, and has no codes for what is wrong there."""

    def read_it(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
        try:
            return read(call, endpoint, params, body)
        except WireError as error:
            answer = error.answer
            raise WireError(answer.status, answer.message, param=answer.param) from None

    return read_it


def _endpoints(framing: Framing) -> tuple[Endpoint, ...]:
    encode = partial(_encode, framing)
    return (
        *_verb("generateContent", read_generate, render=_render, encode=encode),
        *_verb(
            "streamGenerateContent",
            read_streamed,
            render=_render,
            encode=encode,
            named="generateContent",
        ),
        *_verb("countTokens", read_counted, compute=count_tokens),
        *_verb("embedContent", read_embedding, compute=embedding),
        *_verb("batchEmbedContents", read_embeddings, compute=embeddings),
        *(
            Endpoint("GET", f"{path}{one}", read, compute=compute, alias_of=f"{_MODELS}{one}")
            for read in (_without_codes(read_model),)
            for one, compute in (("", list_models), ("/{model}", get_model))
            for path in _LISTS
        ),
    )


def _verb(
    verb: str,
    read: RequestReader,
    *,
    render: BodyRenderer | None = None,
    encode: EncoderFactory | None = None,
    compute: BodyComputer | None = None,
    named: str | None = None,
) -> tuple[Endpoint, ...]:
    """What is asked of a model by a verb, wherever models stand; steps name it by one path, of the
    verb itself or of the one that it is `named` by."""
    read, alias = _without_codes(read), f"{_MODELS}/{{model}}:{named or verb}"
    return tuple(
        Endpoint(
            "POST",
            f"{folder}/{{model}}:{verb}",
            read,
            render=render,
            encode=encode,
            compute=compute,
            cache_key=_cache_key if render else None,
            decoder=DECODER if render else None,
            alias_of=alias,
        )
        for folder in _FOLDERS
    )


class Gemini:
    """Google's dialect, with its streams in one of their two framings."""

    name = "gemini"
    title = "Gemini"
    models = MODELS
    key_headers: tuple[str, ...] = ("x-goog-api-key",)
    provider = PROVIDER
    prefixes: tuple[str, ...] = (*_OWN, *_UPLOADS, _SHARED)
    tool_call_prefix = "call_"
    sequential = True
    signs_reasoning = True
    malformed_body = b'{"candidates":[{"content":{"parts":[{"te'
    upstream: Upstream | None = Upstream(
        PROVIDER,
        base_url="https://generativelanguage.googleapis.com",
        hosts=("generativelanguage.googleapis.com",),
        key_variables=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        base_url_variables=(("GOOGLE_GEMINI_BASE_URL", ""),),
        unset_variables=("GOOGLE_GENAI_USE_VERTEXAI",),
        key_header="x-goog-api-key",
    )

    def __init__(self, framing: Framing) -> None:
        self._framing = framing
        self.endpoints = _endpoints(framing)
        as_events = framing is EVENTS
        self.stream_type = "text/event-stream" if as_events else "application/json; charset=UTF-8"
        self.malformed_event = framing.later + self.malformed_body + framing.after

    def sample(self, asked: SampleRequest) -> SampleCall:
        return sample(asked)

    def clients(self, origin: str) -> tuple[SdkSetup, ...]:
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

    def check(self, call: Call) -> None:
        """Nothing more than a key is asked for."""

    def error(self, error: ErrorAnswer, *, request_id: str) -> bytes:
        return envelope(error)

    def stream_error(self, error: ErrorAnswer, *, sent: int) -> bytes:
        framing = self._framing
        lead = framing.later if sent else framing.first
        return lead + envelope(error) + framing.after + framing.last

    def headers(self, *, request_id: str, created: int, error: ErrorAnswer | None) -> Headers:
        return answer_headers(error)

    def _means_us(self, call: Call, path: str) -> bool:
        """Whether a path below /v1/ is Google's: a verb always is, the rest where the call
        brings Google's key and nobody else's."""
        alone = not any(header in call.headers for header in _OTHERS)
        return bool(_VERB.fullmatch(path)) or (alone and self.api_key(call) is not None)


WIRES: tuple[Wire, ...] = (Gemini(EVENTS), Gemini(ARRAY))
