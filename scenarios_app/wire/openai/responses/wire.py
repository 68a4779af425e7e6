"""The wire of OpenAI's Responses: `POST /v1/responses`, what it keeps of its answers, and the
conversations that these belong to."""

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, ErrorAnswer, Usage
from scenarios_app.engine.producing.usage import count_input
from scenarios_app.wire.base import Call, Endpoint, Facts, Wire, encode_json, named_sse
from scenarios_app.wire.openai.dialects.rows import OWNED, STARTS
from scenarios_app.wire.openai.responses import conversations, stored
from scenarios_app.wire.openai.responses.answer import response_body, usage_fields
from scenarios_app.wire.openai.responses.items import packed
from scenarios_app.wire.openai.responses.memory import ANSWERS, HISTORY
from scenarios_app.wire.openai.responses.request import ResponseFields, read_response
from scenarios_app.wire.openai.responses.stream import ResponseEncoder
from scenarios_app.wire.openai.sample import sample_response
from scenarios_app.wire.openai.shared import AZURE, OpenAIWire, event_code, forms, with_azure
from scenarios_app.wire.samples import Asked, Sdk, Sent

_PATH = "/v1/responses"
_STARTS = tuple(
    f"{start}{what}/"
    for start in ("/v1/", f"{AZURE}v1/", AZURE, *STARTS)
    for what in ("responses", "conversations")
)


def _render(request: CanonicalRequest, response: CanonicalResponse) -> bytes:
    return encode_json(response_body(request, response))


def _count(request: CanonicalRequest, facts: Facts) -> bytes:
    tokens = count_input(request)
    return encode_json({"object": "response.input_tokens", "input_tokens": tokens})


def _compact(request: CanonicalRequest, facts: Facts) -> bytes:
    """The whole conversation in one item, which the next request can begin with."""
    own: ResponseFields = request.own
    said = [item.value for item in (*own.before, *own.items)]
    item = packed(said, item_id=f"cmp_{facts.request_id}")
    return encode_json(
        {
            "id": f"resp_{facts.request_id}",
            "object": "response.compaction",
            "created_at": facts.created,
            "output": [item],
            "usage": usage_fields(Usage(count_input(request), 1)),
        }
    )


_ENDPOINTS = (
    Endpoint(
        "POST",
        _PATH,
        read_response,
        render=_render,
        encode=ResponseEncoder,
        archival=ANSWERS,
        alike=True,
    ),
    Endpoint("POST", f"{_PATH}/input_tokens", read_response, compute=_count, archival=HISTORY),
    Endpoint("POST", f"{_PATH}/compact", read_response, compute=_compact, archival=HISTORY),
    *stored.ENDPOINTS,
    *conversations.ENDPOINTS,
)


class OpenAIResponses(OpenAIWire):
    """Responses as openai-python 3 and its siblings read and write them."""

    name = "responses"
    title = "OpenAI Responses"
    endpoints: tuple[Endpoint, ...] = (*with_azure(_ENDPOINTS), *forms(_ENDPOINTS[:1], STARTS))
    prefixes = ("/v1/", AZURE, *OWNED)
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


WIRE: Wire = OpenAIResponses()
