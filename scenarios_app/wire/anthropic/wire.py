"""The Anthropic wire: messages, token counts and the models list."""

from collections.abc import Mapping

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse
from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.engine.producing.usage import count_input
from scenarios_app.wire.anthropic.answer import message_of
from scenarios_app.wire.anthropic.errors import answer_headers, envelope
from scenarios_app.wire.anthropic.models import model_info, models_page, read_page
from scenarios_app.wire.anthropic.request import PROVIDER, continued_thread, read_request
from scenarios_app.wire.anthropic.sample import clients, sample
from scenarios_app.wire.anthropic.shipped import MODELS
from scenarios_app.wire.anthropic.stream import AnthropicEncoder
from scenarios_app.wire.base import Call, Facts, Headers, Route, Wire, encode_json, named_sse
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.samples import Asked, Sdk, Sent

_MESSAGES = "/v1/messages"


class AnthropicMessages:
    """Anthropic's dialect. Beta calls take the same routes with a query nobody reads."""

    name = "anthropic"
    title = "Anthropic"
    models = MODELS
    key_headers: tuple[str, ...] = ("x-api-key", "authorization")
    provider = PROVIDER
    prefixes: tuple[str, ...] = ("/v1/",)
    routes: tuple[Route, ...] = (
        Route("POST", _MESSAGES, "messages"),
        Route("POST", f"{_MESSAGES}/count_tokens", "count_tokens", "compute"),
        Route("GET", "/v1/models", "models", "compute"),
        Route("GET", "/v1/models/{model}", "model", "compute"),
    )
    tool_call_prefix = "toolu_"
    sequential = True
    signs_reasoning = True
    stream_type = "text/event-stream; charset=utf-8"
    malformed_body = b'{"id":"msg_0","type":"message","role":"assistant","content":[{"type":"te'
    malformed_event = named_sse(
        "content_block_delta", b'{"type":"content_block_delta","index":0,"delta":{"type":"te'
    )

    def sample(self, asked: Asked) -> Sent:
        return sample(asked)

    def clients(self, origin: str) -> tuple[Sdk, ...]:
        return clients(origin)

    def claims(self, call: Call) -> bool:
        path = call.path
        return (
            path == _MESSAGES
            or path.startswith(f"{_MESSAGES}/")
            or "anthropic-version" in call.headers
        )

    def api_key(self, call: Call) -> str | None:
        scheme, _, token = call.headers.get("authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else ""
        return call.headers.get("x-api-key", "").strip() or bearer or None

    def authorise(self, call: Call) -> None:
        if self.api_key(call) is None:
            raise WireError(401, "x-api-key header is required")

    def check(self, call: Call, route: Route) -> None:
        if not call.headers.get("anthropic-version", "").strip():
            raise WireError(400, "anthropic-version: header is required")

    def parse(
        self, call: Call, route: Route, params: Mapping[str, str], body: Node
    ) -> CanonicalRequest:
        if route.method == "GET":
            return CanonicalRequest(
                provider=PROVIDER,
                path=call.path,
                route=route.pattern,
                model=params.get("model", ""),
                headers=call.headers,
                extra=read_page(call) if route.operation == "models" else {},
            )
        try:
            if (held := continued_thread(body)) is None:
                return read_request(call, route, body)
        except WireError as error:
            # The place is in the text: this envelope has no field for it.
            raise WireError(error.answer.status, error.answer.message) from None
        # The official client knows this code: it sends all of the conversation instead.
        raise WireError(
            404,
            f"thread.previous_message_id: no conversation is held under '{held}'",
            code="thread_not_found",
        )

    def compute(
        self, route: Route, params: Mapping[str, str], request: CanonicalRequest, facts: Facts
    ) -> bytes:
        match route.operation:
            case "count_tokens":
                return encode_json({"input_tokens": count_input(request)})
            case "model":
                return encode_json(model_info(request.model))
            case _:
                return encode_json(models_page(list(facts.models), request.extra))

    def render(self, request: CanonicalRequest, response: CanonicalResponse) -> bytes:
        return encode_json(message_of(response))

    def encoder(self, request: CanonicalRequest, response: CanonicalResponse) -> AnthropicEncoder:
        return AnthropicEncoder(response)

    def error(self, error: ErrorAnswer, *, request_id: str) -> bytes:
        return envelope(error, request_id=request_id)

    def stream_error(self, error: ErrorAnswer, *, sent: int) -> bytes:
        return named_sse("error", envelope(error, request_id=None))

    def headers(self, *, request_id: str, created: int, error: ErrorAnswer | None) -> Headers:
        return answer_headers(request_id=request_id, created=created, error=error)


WIRE: Wire = AnthropicMessages()
