"""What OpenAI answers about Responses that are stored: each whole or streamed again, its input, and
the end of it."""

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.base import (
    Archival,
    Call,
    Endpoint,
    Facts,
    Found,
    Params,
    Stored,
    about,
    encode_json,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.fields import Page, page_of, read_page, read_whole
from scenarios_app.wire.openai.responses.memory import record_of
from scenarios_app.wire.openai.responses.record import Record
from scenarios_app.wire.openai.shared import PROVIDER

ID = "response_id"

_ONE = f"/v1/responses/{{{ID}}}"


class StoredFields(msgspec.Struct, frozen=True):
    """Which response is asked for, from which event of its stream and which page of its input;
    and its record, once it is found."""

    name: str
    starting_after: int
    page: Page
    record: Record | None = None

    @property
    def found(self) -> Record:
        """The record; raises the 404 where there is none."""
        if self.record is None:
            message = f"Response with id '{self.name}' not found."
            raise WireError(404, message, code="response_not_found")
        return self.record


def _read(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """A request about one that is stored; what is asked of it stands in the query."""
    after = read_whole(Node(dict(call.query)), "starting_after", unless=-1)
    own = StoredFields(params[ID], after, read_page(call))
    return about(call, endpoint, own, provider=PROVIDER)


def _read_stream(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    request = _read(call, endpoint, params, body)
    return replace(request, stream=call.query.get("stream", "").lower() == "true")


def _references(request: CanonicalRequest, found: Found) -> tuple[str, ...]:
    own: StoredFields = request.own
    return (own.name,)


def _resolve(request: CanonicalRequest, found: Found) -> CanonicalRequest:
    own: StoredFields = request.own
    record = record_of(own.name, found)
    if record is None or not record.answered:
        return request
    return replace(request, own=replace(own, record=record))


def _forget(request: CanonicalRequest, facts: Facts) -> tuple[Stored, ...]:
    own: StoredFields = request.own
    return (Stored(own.name, None),)


def _list_input(request: CanonicalRequest, facts: Facts) -> bytes:
    own: StoredFields = request.own
    return encode_json(page_of(own.found.items, own.page))


def _cancel(request: CanonicalRequest, facts: Facts) -> bytes:
    own: StoredFields = request.own
    response = own.found.response
    if response.get("background").value is True:
        return encode_json(response.value)
    raise WireError(400, "Cannot cancel a synchronous response.")


def _delete(request: CanonicalRequest, facts: Facts) -> bytes:
    own: StoredFields = request.own
    assert own.found
    return encode_json({"id": own.name, "object": "response", "deleted": True})


def _retrieve(request: CanonicalRequest, facts: Facts) -> bytes:
    own: StoredFields = request.own
    record = own.found
    if not request.stream:
        return encode_json(record.response.value)
    if not record.events:
        raise WireError(
            400,
            "This response was not created with 'stream: true', so there is no stream of it.",
            param="stream",
        )
    events = record.events.split(b"\n\n")[own.starting_after + 1 : -1]
    return b"".join(event + b"\n\n" for event in events)


_FOUND = Archival(_references, _resolve)
_GIVEN_UP = Archival(_references, _resolve, after=_forget)

# The first pattern that fits a path has it, so the longer ones stand first.
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("GET", f"{_ONE}/input_items", _read, compute=_list_input, archival=_FOUND),
    Endpoint("POST", f"{_ONE}/cancel", _read, compute=_cancel, archival=_FOUND, bodiless=True),
    Endpoint("GET", _ONE, _read_stream, compute=_retrieve, archival=_FOUND),
    Endpoint("DELETE", _ONE, _read, compute=_delete, archival=_GIVEN_UP),
)
