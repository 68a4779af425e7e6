"""The wire of OpenAI's Responses: `POST /v1/responses`, what it keeps of its answers, and the
conversations that these belong to."""

from collections.abc import Mapping

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Json, Usage
from scenarios_app.engine.errors import ErrorAnswer
from scenarios_app.engine.producing.usage import count_input
from scenarios_app.wire.base import (
    Call,
    Facts,
    KeepingWire,
    Kept,
    Route,
    StreamEncoder,
    encode_json,
    named_sse,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.openai.dialect import AZURE, OpenAIDialect, event_code, with_azure
from scenarios_app.wire.openai.responses.answer import response_body, usage_fields
from scenarios_app.wire.openai.responses.compaction import packed
from scenarios_app.wire.openai.responses.conversations import OPERATIONS as CONVERSING
from scenarios_app.wire.openai.responses.conversations import ROUTES as CONVERSATIONS
from scenarios_app.wire.openai.responses.conversations import (
    answer_conversation,
    kept_conversation,
    read_conversation,
)
from scenarios_app.wire.openai.responses.memory import (
    BEFORE,
    ITEMS,
    KeptData,
    kept_of,
    names_of,
    with_history,
)
from scenarios_app.wire.openai.responses.request import read_response
from scenarios_app.wire.openai.responses.stored import (
    ID,
    ROUTES,
    answer_stored,
    read_stored,
    with_record,
)
from scenarios_app.wire.openai.responses.stream import ResponseEncoder
from scenarios_app.wire.openai.sample import sample_response
from scenarios_app.wire.samples import Asked, Sdk, Sent

_PATH = "/v1/responses"
_CREATE = Route("POST", _PATH, "create_response")
_COUNT = Route("POST", f"{_PATH}/input_tokens", "count_input_tokens", "compute")
_COMPACT = Route("POST", f"{_PATH}/compact", "compact_response", "compute")
_STARTS = tuple(
    f"{start}{what}/"
    for start in ("/v1/", f"{AZURE}v1/", AZURE)
    for what in ("responses", "conversations")
)


class OpenAIResponses(OpenAIDialect):
    """Responses as openai-python 3 and its siblings read and write them."""

    name = "responses"
    title = "OpenAI Responses"
    routes: tuple[Route, ...] = with_azure((_CREATE, _COUNT, _COMPACT, *ROUTES, *CONVERSATIONS))
    sequential = True
    malformed_body = b'{"id":"resp_broken","object":"response","output":[{"type":"mess'
    malformed_event = named_sse(
        "response.output_text.delta", b'{"type":"response.output_text.delta","sequence_num'
    )

    def sample(self, asked: Asked) -> Sent:
        return sample_response(asked)

    def clients(self, origin: str) -> tuple[Sdk, ...]:
        return ()

    def claims(self, call: Call) -> bool:
        return f"{call.path}/".startswith(_STARTS)

    def parse(
        self, call: Call, route: Route, params: Mapping[str, str], body: Node
    ) -> CanonicalRequest:
        if route.operation in CONVERSING:
            return read_conversation(call, route, params, body)
        if ID in params:
            return read_stored(call, route, params)
        return read_response(call, route, body)

    def wanted(self, request: CanonicalRequest, kept: KeptData) -> tuple[str, ...]:
        if ID in request.extra:
            return (str(request.extra[ID]),)
        return tuple(names_of(request, kept))

    def told(self, request: CanonicalRequest, kept: KeptData) -> CanonicalRequest:
        if ID in request.extra:
            return with_record(request, kept)
        return with_history(request, kept)

    def keeps(
        self, request: CanonicalRequest, response: CanonicalResponse, stream: bytes
    ) -> tuple[Kept, ...]:
        return kept_of(request, response, stream)

    def leaves(
        self, route: Route, params: Mapping[str, str], request: CanonicalRequest, facts: Facts
    ) -> tuple[Kept, ...]:
        if route.operation in CONVERSING:
            return kept_conversation(route, request, facts)
        return (Kept(params[ID], None),) if route.method == "DELETE" else ()

    def compute(
        self, route: Route, params: Mapping[str, str], request: CanonicalRequest, facts: Facts
    ) -> bytes:
        if route.operation in CONVERSING:
            return answer_conversation(route, request, facts)
        if ID in params:
            return answer_stored(route, request)
        if route.operation == _COUNT.operation:
            tokens = count_input(request)
            return encode_json({"object": "response.input_tokens", "input_tokens": tokens})
        return encode_json(_compacted(request, facts))

    def render(self, request: CanonicalRequest, response: CanonicalResponse) -> bytes:
        return encode_json(response_body(request, response))

    def encoder(self, request: CanonicalRequest, response: CanonicalResponse) -> StreamEncoder:
        return ResponseEncoder(request, response)

    def stream_error(self, error: ErrorAnswer, *, sent: int) -> bytes:
        """In a stream an error is flat, and numbered as every event is."""
        fields = {
            "type": "error",
            "sequence_number": sent,
            "code": event_code(error),
            "message": error.message,
            "param": error.param,
        }
        return named_sse("error", encode_json(fields))


def _compacted(request: CanonicalRequest, facts: Facts) -> Json:
    """The whole conversation in one item, which the next request can begin with."""
    extra = Node(dict(request.extra))
    said = [item.value for key in (BEFORE, ITEMS) for item in extra.get(key).items()]
    item = packed(said, item_id=f"cmp_{facts.request_id}")
    return {
        "id": f"resp_{facts.request_id}",
        "object": "response.compaction",
        "created_at": facts.created,
        "output": [item],
        "usage": usage_fields(Usage(count_input(request), 1)),
    }


WIRE: KeepingWire = OpenAIResponses()
