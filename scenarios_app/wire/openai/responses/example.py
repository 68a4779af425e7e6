"""The response and the item that every session has, under the ids that OpenAI's API description
gives as its examples: what is generated from it, the SDKs' own tests among it, finds something
there."""

from functools import cache

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    CanonicalResponse,
    Choice,
    Json,
    Usage,
)
from scenarios_app.engine.parts import Finish, PartDelta, PartEnd, PartStart, StreamEvent, TextPart
from scenarios_app.wire.body import Node
from scenarios_app.wire.openai.responses.answer import response_body
from scenarios_app.wire.openai.responses.record import write_record
from scenarios_app.wire.openai.responses.request import ResponseFields
from scenarios_app.wire.openai.responses.stream import ResponseEncoder
from scenarios_app.wire.openai.shared import PROVIDER

IDS = ("resp_677efb5139a88190b512bc3fef8e535d", "resp_123", "response_id")

_QUESTION = "Is anything kept under this id?"
_ANSWER = "Only this: it is an example of OpenAI's API description."
_CREATED = 1_735_689_600

ITEM: Json = {
    "id": "msg_abc",
    "type": "message",
    "status": "completed",
    "role": "user",
    "content": [{"type": "input_text", "text": _QUESTION}],
}


@cache
def example(name: str) -> bytes:
    """Its record: of an answer in the background, which can be cancelled and streamed again."""
    path = "/v1/responses"
    request = CanonicalRequest(
        PROVIDER, path, path, "gpt-4o", stream=True, own=ResponseFields({"background": True})
    )
    part = TextPart(_ANSWER)
    response = CanonicalResponse(
        id=name.removeprefix("resp_"),
        created=_CREATED,
        model=request.model,
        choices=(Choice((part,), "stop"),),
        usage=Usage(input_tokens=8, output_tokens=15),
        metadata={"id": name},
    )
    encoder = ResponseEncoder(request, response)
    events: tuple[StreamEvent, ...] = (
        PartStart(0, 0, part),
        PartDelta(0, 0, part, _ANSWER),
        PartEnd(0, 0, part),
        Finish(0, "stop"),
    )
    stream = [encoder.opening(), *map(encoder.event, events), encoder.closing()]
    asked = Node({"role": "user", "content": _QUESTION})
    return write_record(
        response.id,
        response_body(request, response),
        items=(asked,),
        previous=None,
        stream=b"".join(stream),
    )
