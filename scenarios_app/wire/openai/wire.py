"""The OpenAI wire: chat completions, and all of `/v1/` that no other wire claims."""

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse
from scenarios_app.wire.base import Call, Endpoint, Wire, encode_json
from scenarios_app.wire.openai import completions, embeddings, models, moderations
from scenarios_app.wire.openai.chat_answer import ChunkEncoder, completion
from scenarios_app.wire.openai.chat_request import read_chat
from scenarios_app.wire.openai.dialect import OpenAIDialect, with_azure
from scenarios_app.wire.openai.sample import clients, sample
from scenarios_app.wire.samples import Asked, Sdk, Sent


def _render(request: CanonicalRequest, response: CanonicalResponse) -> bytes:
    return encode_json(completion(request.own, response))


class OpenAIChat(OpenAIDialect):
    """`POST /v1/chat/completions` as openai-python 3 and its siblings read and write it, and what
    is answered beside it."""

    name = "openai"
    title = "OpenAI chat"
    endpoints: tuple[Endpoint, ...] = with_azure(
        (
            Endpoint(
                "POST", "/v1/chat/completions", read_chat, render=_render, encode=ChunkEncoder
            ),
            completions.ENDPOINT,
            embeddings.ENDPOINT,
            moderations.ENDPOINT,
            *models.ENDPOINTS,
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


WIRE: Wire = OpenAIChat()
