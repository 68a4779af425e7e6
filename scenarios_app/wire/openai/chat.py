"""The OpenAI wire: chat completions, and the computed answers that need no model beside them."""

from collections.abc import Mapping

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse
from scenarios_app.wire.base import Call, Facts, Route, StreamEncoder, Wire, encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.openai import completions as openai_completions
from scenarios_app.wire.openai import models as openai_extras
from scenarios_app.wire.openai.chat_answer import ChunkEncoder, completion
from scenarios_app.wire.openai.chat_request import read_chat
from scenarios_app.wire.openai.dialect import OpenAIDialect, with_azure
from scenarios_app.wire.openai.sample import clients, sample
from scenarios_app.wire.samples import Asked, Sdk, Sent


class OpenAIChat(OpenAIDialect):
    """`POST /v1/chat/completions` as openai-python 3 and its siblings read and write it, and all
    of `/v1/` that no other wire claims."""

    name = "openai"
    title = "OpenAI chat"
    routes: tuple[Route, ...] = with_azure(
        (
            Route("POST", "/v1/chat/completions", "create_completion"),
            openai_completions.ROUTE,
            *openai_extras.ROUTES,
        )
    )
    malformed_body = b'{"id":"chatcmpl-broken","object":"chat.completion","choices":[{"index":0,'
    malformed_event = b'data: {"id":"chatcmpl-broken","object":"chat.completion.chunk","choi\n\n'

    def sample(self, asked: Asked) -> Sent:
        return sample(asked)

    def clients(self, origin: str) -> tuple[Sdk, ...]:
        return clients(origin)

    def claims(self, call: Call) -> bool:
        return True

    def parse(
        self, call: Call, route: Route, params: Mapping[str, str], body: Node
    ) -> CanonicalRequest:
        if route.kind == "compute":
            return openai_extras.read_extra(call, route, params, body)
        if route.operation == openai_completions.ROUTE.operation:
            return openai_completions.read_completion(call, route, params, body)
        return read_chat(call, route, params, body)

    def compute(
        self, route: Route, params: Mapping[str, str], request: CanonicalRequest, facts: Facts
    ) -> bytes:
        return openai_extras.compute(route, params, request, facts)

    def render(self, request: CanonicalRequest, response: CanonicalResponse) -> bytes:
        if request.route == openai_completions.ROUTE.pattern:
            return encode_json(openai_completions.text_completion(request, response))
        return encode_json(completion(request, response))

    def encoder(self, request: CanonicalRequest, response: CanonicalResponse) -> StreamEncoder:
        if request.route == openai_completions.ROUTE.pattern:
            return openai_completions.CompletionEncoder(request, response)
        return ChunkEncoder(request, response)


WIRE: Wire = OpenAIChat()
