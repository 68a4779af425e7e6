"""The OpenAI wire: chat completions, and the computed answers about models beside them."""

from collections.abc import Mapping

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse
from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.wire import openai_extras
from scenarios_app.wire.base import Call, Facts, Headers, Route, StreamEncoder, Wire, encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai_answer import completion
from scenarios_app.wire.openai_errors import answer_headers, error_body, error_event
from scenarios_app.wire.openai_request import read_chat, read_plain
from scenarios_app.wire.openai_stream import ChunkEncoder

_BEARER = "bearer "


class OpenAIChat:
    """`POST /v1/chat/completions` as openai-python 3 and its siblings read and write it."""

    provider = "openai"
    prefixes: tuple[str, ...] = ("/v1/",)
    routes: tuple[Route, ...] = (
        Route("POST", "/v1/chat/completions", "create_completion"),
        *openai_extras.ROUTES,
    )
    tool_call_prefix = "call_"
    sequential = False
    signs_reasoning = False
    stream_type = "text/event-stream; charset=utf-8"
    malformed_body = b'{"id":"chatcmpl-broken","object":"chat.completion","choices":[{"index":0,'
    malformed_event = b'data: {"id":"chatcmpl-broken","object":"chat.completion.chunk","choi\n\n'

    def claims(self, call: Call) -> bool:
        return True

    def api_key(self, call: Call) -> str | None:
        sent = call.headers.get("authorization", "")
        if sent[: len(_BEARER)].lower() != _BEARER:
            return None
        return sent[len(_BEARER) :].strip() or None

    def authorise(self, call: Call) -> None:
        if self.api_key(call) is None:
            raise WireError(
                401, "No API key was sent: it belongs in the header 'Authorization: Bearer KEY'."
            )

    def check(self, call: Call, route: Route) -> None:
        """Nothing more than a key is asked for."""

    def parse(
        self, call: Call, route: Route, params: Mapping[str, str], body: Node
    ) -> CanonicalRequest:
        if route.kind == "generate":
            return read_chat(call, route, body)
        return read_plain(call, route, params, body)

    def compute(
        self, route: Route, params: Mapping[str, str], request: CanonicalRequest, facts: Facts
    ) -> bytes:
        return openai_extras.compute(route, params, request, facts)

    def render(self, request: CanonicalRequest, response: CanonicalResponse) -> bytes:
        return encode_json(completion(request, response))

    def encoder(self, request: CanonicalRequest, response: CanonicalResponse) -> StreamEncoder:
        return ChunkEncoder(request, response)

    def error(self, error: ErrorAnswer, *, request_id: str) -> bytes:
        return error_body(error)

    def stream_error(self, error: ErrorAnswer, *, sent: int) -> bytes:
        return error_event(error)

    def headers(self, *, request_id: str, created: int, error: ErrorAnswer | None) -> Headers:
        return answer_headers(request_id, error)


WIRE: Wire = OpenAIChat()
