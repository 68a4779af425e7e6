"""The OpenAI wire: chat completions, and every path below `/v1/` that no other wire claims."""

from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, ErrorAnswer
from scenarios_app.wire.base import (
    Call,
    Endpoint,
    Headers,
    Params,
    Wire,
    encode_json,
    encode_line,
    sse,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.openai import batches, completions, files, models, moderations
from scenarios_app.wire.openai.chat_answer import render_completion
from scenarios_app.wire.openai.chat_decode import DECODER
from scenarios_app.wire.openai.chat_request import read_chat
from scenarios_app.wire.openai.chat_stream import ChunkEncoder
from scenarios_app.wire.openai.dialects.dialect import Dialect
from scenarios_app.wire.openai.dialects.rows import DIALECTS, OLLAMA, OPENAI
from scenarios_app.wire.openai.sample import sample_chat_call, sdk_setups
from scenarios_app.wire.openai.shared import (
    DEPLOYMENT,
    OpenAIWire,
    is_at_ollama_port,
    with_prefixes,
)
from scenarios_app.wire.openai.upstream import PROVIDER
from scenarios_app.wire.samples import SampleCall, SampleRequest, SdkSetup
from scenarios_app.wire.upstream import DIALECT_HEADER

_ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/chat/completions",
        read_chat,
        render=lambda request, response: encode_json(render_completion(request.own, response)),
        encode=ChunkEncoder,
        decoder=DECODER,
        custom_tools=True,
        sends=frozenset({"citations"}),
    ),
    completions.ENDPOINT,
    models.ENDPOINT,
    moderations.ENDPOINT,
    *models.ENDPOINTS,
)
# No other dialect has files and batches.
_OPENAI_ENDPOINTS = (*_ENDPOINTS, *files.ENDPOINTS, *batches.ENDPOINTS)


class OpenAIChat(OpenAIWire):
    """Chat completions and the endpoints beside them, of OpenAI or in another dialect."""

    malformed_body = b'{"id":"chatcmpl-broken","object":"chat.completion","choices":[{"index":0,'
    malformed_event = b'data: {"id":"chatcmpl-broken","object":"chat.completion.chunk","choi\n\n'

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        own = dialect is OPENAI
        self.name = dialect.name if own else f"openai-{dialect.name}"
        self.title = dialect.title
        self.provider = dialect.provider
        self.models = dialect.models
        self.prefixes = (dialect.owned_prefix,)
        self.upstream = dialect.upstream
        self.own_errors = dialect.own_errors
        self.tool_call_prefix = dialect.call_prefix
        others = (_in_dialect(endpoint, dialect) for endpoint in _ENDPOINTS)
        self.endpoints = (
            _OPENAI_ENDPOINTS if own else tuple(with_prefixes(others, dialect.path_prefixes))
        )

    def sample(self, request: SampleRequest) -> SampleCall:
        sent = sample_chat_call(request)
        start = next(start for start in self.dialect.path_prefixes if DEPLOYMENT not in start)
        named = {DIALECT_HEADER: self.dialect.name} if self.dialect is OLLAMA else {}
        return SampleCall(sent.path.replace("/v1/", start, 1), {**sent.headers, **named}, sent.body)

    def sdk_setups(self, origin: str) -> tuple[SdkSetup, ...]:
        """Return the setups of OpenAI's SDKs; none for other dialects."""
        return sdk_setups(origin) if self.dialect is OPENAI else ()

    def claims(self, call: Call) -> bool:
        """Return True, in Ollama's dialect only for a call to its port."""
        return self.dialect is not OLLAMA or is_at_ollama_port(call)

    def error(self, error: ErrorAnswer, *, request_id: str) -> bytes:
        return encode_json(self.dialect.error(error))

    def stream_error(self, error: ErrorAnswer, *, events_sent: int) -> bytes:
        return sse(encode_line(self.dialect.error(error)))

    def headers(self, *, request_id: str, created: int, error: ErrorAnswer | None) -> Headers:
        return self.dialect.headers(request_id, error)


def _in_dialect(endpoint: Endpoint, dialect: Dialect) -> Endpoint:
    """Return a copy of OpenAI's endpoint whose requests name the dialect's provider; if it is that
    of chat, in the dialect."""
    if endpoint.read is read_chat:
        return replace(endpoint, read=partial(read_chat, dialect=dialect))
    if dialect.provider == PROVIDER:
        return endpoint

    def read_for_provider(
        call: Call, copy: Endpoint, params: Params, body: Node
    ) -> CanonicalRequest:
        """Return the request that OpenAI's endpoint reads, for the dialect's provider."""
        request = endpoint.read(call, copy, params, body)
        return replace(request, provider=dialect.provider, also=(PROVIDER,))

    return replace(endpoint, read=read_for_provider)


WIRE = OpenAIChat(OPENAI)
WIRES_BY_DIALECT: Mapping[str, OpenAIChat] = {
    name: WIRE if dialect is OPENAI else OpenAIChat(dialect) for name, dialect in DIALECTS.items()
}
"""The wires of all dialects by the names that a request's header may have."""
WIRES: tuple[Wire, ...] = tuple(reversed(tuple(WIRES_BY_DIALECT.values())))
