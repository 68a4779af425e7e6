"""The Gemini wire: whole and streamed responses, token counts, embeddings and the models list.

Streams are server-sent events or one JSON array, by the call's query: two wires that differ only in
that.
"""

import re
from functools import partial
from typing import Any
from urllib.parse import unquote

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, ErrorAnswer
from scenarios_app.wire.base import (
    BodyComputer,
    Call,
    Endpoint,
    Params,
    RequestReader,
    StreamEncoder,
    Wire,
    encode_json,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini import models
from scenarios_app.wire.gemini.answer import is_blocked, render_response
from scenarios_app.wire.gemini.decode import DECODER
from scenarios_app.wire.gemini.errors import OWN_ERRORS, error_envelope
from scenarios_app.wire.gemini.request import read_count_tokens, read_generate
from scenarios_app.wire.gemini.sample import MODELS, sample, sdk_setups
from scenarios_app.wire.gemini.server_tools import HOSTED_TOOLS
from scenarios_app.wire.gemini.stream import ARRAY, EVENTS, BlockedEncoder, Framing, GeminiEncoder
from scenarios_app.wire.gemini.upstream import PROVIDER, UPSTREAM

_MODELS = "/v1beta/models"
_BETA_VERSIONS, _SHARED_VERSION = ("/v1beta/", "/v1alpha/"), "/v1/"
_VERSIONS = (*_BETA_VERSIONS, _SHARED_VERSION)
_MODEL_LISTS = tuple(f"{version}models" for version in _VERSIONS)
_MODEL_FOLDERS = (*_MODEL_LISTS, *(f"{version}tunedModels" for version in _VERSIONS))
_UPLOADS = tuple(f"/upload{version}" for version in _VERSIONS)
_OTHER_PROVIDERS_HEADERS = ("anthropic-version", "authorization", "x-api-key")
_COMPUTED: tuple[tuple[str, RequestReader, BodyComputer], ...] = (
    ("countTokens", read_count_tokens, models.count_tokens),
    ("embedContent", models.read_embedding, models.compute_embedding),
    ("batchEmbedContents", models.read_embeddings, models.compute_embeddings),
)
_VERBS = ("generateContent", "streamGenerateContent", *(verb for verb, _, _ in _COMPUTED))
_SHARED_VERB_PATH = re.compile(
    rf"{_SHARED_VERSION}(?:tunedM|m)odels/.*:(?:{'|'.join(_VERBS)})/?", re.DOTALL
)
_STREAM = ":streamGenerateContent"


def _make_encoder(
    framing: Framing, request: CanonicalRequest, response: CanonicalResponse
) -> StreamEncoder:
    """Return the encoder of a stream; a blocked prompt has a special one."""
    if is_blocked(response):
        return BlockedEncoder(response, framing)
    return GeminiEncoder(response, framing, request.own)


def _drop_error_codes(read: RequestReader) -> RequestReader:
    """Return a reader whose errors have no code: Google's envelope has none for fields."""

    def read_plain(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
        try:
            return read(call, endpoint, params, body)
        except WireError as error:
            answer = error.answer
            raise WireError(answer.status, answer.message, param=answer.param) from None

    return read_plain


def _make_endpoints(framing: Framing) -> tuple[Endpoint, ...]:
    """Return all endpoints, with streams in this framing."""
    answered: dict[str, Any] = {
        "named": "generateContent",
        "render": lambda request, response: encode_json(render_response(response, request.own)),
        "encode": partial(_make_encoder, framing),
        "decoder": DECODER,
        "sends": HOSTED_TOOLS | {"citations"},
    }
    streamed, read_model = partial(read_generate, stream=True), _drop_error_codes(models.read_model)
    return (
        *_verb_endpoints("generateContent", read_generate, **answered),
        *_verb_endpoints("streamGenerateContent", streamed, **answered),
        *(
            endpoint
            for verb, read, compute in _COMPUTED
            for endpoint in _verb_endpoints(verb, read, compute=compute)
        ),
        *(
            Endpoint(
                "GET", f"{path}{suffix}", read_model, compute=compute, alias_of=f"{_MODELS}{suffix}"
            )
            for suffix, compute in (("", models.list_models), ("/{model}", models.get_model))
            for path in _MODEL_LISTS
        ),
    )


def _verb_endpoints(
    verb: str, read: RequestReader, *, named: str = "", **options: Any
) -> tuple[Endpoint, ...]:
    """Return the endpoints of a verb, one for each path of models and tuned models. Steps name them
    by one path, that of the verb or of `named`."""
    read, alias = _drop_error_codes(read), f"{_MODELS}/{{model}}:{named or verb}"
    return tuple(
        Endpoint("POST", f"{folder}/{{model}}:{verb}", read, alias_of=alias, **options)
        for folder in _MODEL_FOLDERS
    )


class Gemini(Wire):
    """Google's API, with one of the two stream framings."""

    name = "gemini"
    title = "Gemini"
    models = MODELS
    key_headers = ("x-goog-api-key",)
    provider = PROVIDER
    prefixes = (*_BETA_VERSIONS, *_UPLOADS, _SHARED_VERSION)
    tool_call_prefix = "call_"
    sequential = True
    signs_reasoning = True
    malformed_body = b'{"candidates":[{"content":{"parts":[{"te'
    own_errors = OWN_ERRORS
    upstream = UPSTREAM
    sample = staticmethod(sample)
    sdk_setups = staticmethod(sdk_setups)

    def __init__(self, framing: Framing) -> None:
        self._framing = framing
        self.endpoints = _make_endpoints(framing)
        as_events = framing is EVENTS
        self.stream_type = "text/event-stream" if as_events else "application/json; charset=UTF-8"
        self.malformed_event = framing.later + self.malformed_body + framing.after

    def claims(self, call: Call) -> bool:
        """Return whether a call is for Google, and for a stream, whether it is in this framing."""
        path = unquote(call.path)
        if f"{path}/".startswith(_SHARED_VERSION) and not self._is_for_gemini(call, path):
            return False
        asks_array = path.endswith(_STREAM) and call.query.get("alt") != "sse"
        return asks_array == (self._framing is ARRAY)

    def api_key(self, call: Call) -> str | None:
        header = call.headers.get("x-goog-api-key", "").strip()
        return header or call.query.get("key", "").strip() or None

    def authorise(self, call: Call) -> None:
        """Raise a 403 without an API key; any key is accepted."""
        if self.api_key(call) is None:
            raise WireError(
                403,
                "Method doesn't allow unregistered callers (callers without established identity). "
                "Please use API Key or other form of API consumer identity to call this API.",
            )

    def error(self, error: ErrorAnswer, *, request_id: str) -> bytes:
        return error_envelope(error)

    def stream_error(self, error: ErrorAnswer, *, events_sent: int) -> bytes:
        framing = self._framing
        lead = framing.later if events_sent else framing.first
        return lead + error_envelope(error) + framing.after + framing.last

    def _is_for_gemini(self, call: Call, path: str) -> bool:
        """Return whether a path below /v1/ is Google's: it has a verb of Google's, or the call has
        a key for Google and none for another provider."""
        alone = not any(header in call.headers for header in _OTHER_PROVIDERS_HEADERS)
        return bool(_SHARED_VERB_PATH.fullmatch(path)) or (alone and self.api_key(call) is not None)


WIRES: tuple[Wire, ...] = (Gemini(EVENTS), Gemini(ARRAY))
