"""Lists the endpoints whose answers become templates, with what the wires need not know of that."""

from collections.abc import Callable, Hashable
from functools import cache, partial
from hashlib import blake2b
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.serving.fast.openai_chat import read_plain_chat
from scenarios_app.wire.base import Call, Endpoint, Params, encode_json
from scenarios_app.wire.body import Limits, Node
from scenarios_app.wire.openai.chat_request import read_chat
from scenarios_app.wire.openai.dialects.dialect import Dialect
from scenarios_app.wire.openai.dialects.rows import OPENAI
from scenarios_app.wire.openai.responses.record import encode_items
from scenarios_app.wire.openai.responses.request import ResponseFields

PlainReader: TypeAlias = Callable[[Call, Endpoint, Params, Limits], CanonicalRequest | None]


class FastEndpoint(msgspec.Struct, frozen=True):
    """An endpoint whose answers become templates.

    `key` returns the part of a request that, beside its model, decides the bytes of the response,
    apart from ids, input tokens and time. `read` reads plain bodies as the endpoint does, but
    faster; it returns None for others. If responses are archived with a part of their request,
    `part` returns it for a response id, and `with_sample_part` returns a request with a part that
    no real one has.
    """

    key: Callable[[CanonicalRequest], Hashable]
    read: PlainReader | None = None
    part: Callable[[CanonicalRequest, str], bytes] | None = None
    with_sample_part: Callable[[CanonicalRequest], CanonicalRequest] | None = None


def find_fast_endpoint(endpoint: Endpoint) -> FastEndpoint | None:
    """Return the row of an endpoint; None if its answers become no templates."""
    read: Any = endpoint.read
    dialect = OPENAI
    if isinstance(read, partial):
        dialect, read = read.keywords.get("dialect", OPENAI), read.func
    return _chat(dialect) if read is read_chat else _ROWS.get(endpoint.canonical)


@cache
def _chat(dialect: Dialect) -> FastEndpoint | None:
    """Return the row of chat completions in a dialect."""
    if not dialect.id.endswith("{hex}"):
        # Only whole ids can be found in a response.
        return None
    return FastEndpoint(attrgetter("own"), partial(read_plain_chat, dialect=dialect))


def _key_of_response(request: CanonicalRequest) -> bytes:
    """Encode all request fields that a response repeats or that change its form, except input."""
    own: ResponseFields = request.own
    return encode_json(
        (
            {key: value for key, value in own.echoed.items() if key != "input"},
            *(request.metadata, request.temperature, request.top_p, request.tool_choice),
            *(own.conversation, own.obfuscated, own.top_logprobs, own.included),
        )
    )


def _with_sample_item(request: CanonicalRequest) -> CanonicalRequest:
    """Return the request with one input item that no other request has."""
    return replace(request, own=replace(request.own, items=(_SAMPLE_ITEM,)))


# Texts of an answer have their quotes escaped, so that none contains this item's JSON.
_SAMPLE_ITEM = Node({"type": "sample", "id": "\0"})


def _key_of_generation(request: CanonicalRequest) -> Hashable:
    """Return the key of a response that repeats the conversation as numbers: a digest of it, since
    keys remain in memory."""
    return request.own, request.reasoning, blake2b(encode_json(request.messages)).digest()


_ROWS = {
    "/v1/responses": FastEndpoint(
        _key_of_response,
        part=lambda request, response_id: encode_items(response_id, request.own.items),
        with_sample_part=_with_sample_item,
    ),
    "/v1/messages": FastEndpoint(attrgetter("own")),
    "/v1beta/models/{model}:generateContent": FastEndpoint(attrgetter("own")),
    "/api/chat": FastEndpoint(attrgetter("own", "reasoning")),
    "/api/generate": FastEndpoint(_key_of_generation),
}
"""By the path that steps name. Chat completions are not here, since they differ by dialect."""
