"""What OpenAI answers about Responses that are kept: each whole or streamed again, its input, and
the end of it."""

from collections.abc import Mapping
from dataclasses import replace

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.wire.base import Call, Route, encode_json
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.dialect import PROVIDER
from scenarios_app.wire.openai.pages import page_of, read_page, read_whole
from scenarios_app.wire.openai.responses.memory import KeptData, found

ID = "response_id"

_ONE = f"/v1/responses/{{{ID}}}"

# The first pattern that fits a path has it, so the longer ones stand first.
ROUTES: tuple[Route, ...] = (
    Route("GET", f"{_ONE}/input_items", "list_input", "compute"),
    Route("POST", f"{_ONE}/cancel", "cancel_response", "compute", bodiless=True),
    Route("GET", _ONE, "retrieve_response", "compute"),
    Route("DELETE", _ONE, "delete_response", "compute"),
)


def read_stored(call: Call, route: Route, params: Mapping[str, str]) -> CanonicalRequest:
    """A request about one that is kept; what is asked of it stands in the query."""
    extra: dict[str, Json] = {
        ID: params[ID],
        "starting_after": read_whole(Node(dict(call.query)), "starting_after", unless=-1),
        **read_page(call),
    }
    stream = call.query.get("stream", "").lower() == "true"
    return CanonicalRequest(
        provider=PROVIDER,
        path=call.path,
        route=route.canonical,
        model="",
        stream=stream and route.operation == "retrieve_response",
        headers=call.headers,
        extra=extra,
    )


def with_record(request: CanonicalRequest, kept: KeptData) -> CanonicalRequest:
    """The request with what is kept under the id that it names, if anything is."""
    record = found(str(request.extra[ID]), kept)
    if record is None or not record.answered:
        return request
    held: dict[str, Json] = {
        "response": record.response.value,
        "items": [item.value for item in record.items],
        "events": record.events.decode(),
    }
    return replace(request, extra={**request.extra, **held})


def answer_stored(route: Route, request: CanonicalRequest) -> bytes:
    """The answer of one of `ROUTES`."""
    extra = Node(dict(request.extra))
    response = extra.maybe("response")
    if response is None:
        message = f"Response with id '{request.extra[ID]}' not found."
        raise WireError(404, message, code="response_not_found")
    match route.operation:
        case "list_input":
            return encode_json(page_of(extra.get("items").items(), extra))
        case "cancel_response":
            if response.get("background").value is True:
                return encode_json(response.value)
            raise WireError(400, "Cannot cancel a synchronous response.")
        case "delete_response":
            name = request.extra[ID]
            return encode_json({"id": name, "object": "response", "deleted": True})
        case _:
            return _events(extra) if request.stream else encode_json(response.value)


def _events(extra: Node) -> bytes:
    """The stream again, from the event after the one that is named."""
    events = extra.get("events").text().encode()
    if not events:
        raise WireError(
            400,
            "This response was not created with 'stream: true', so there is no stream of it.",
            param="stream",
        )
    first = extra.get("starting_after").integer() + 1
    return b"".join(event + b"\n\n" for event in events.split(b"\n\n")[first:-1])
