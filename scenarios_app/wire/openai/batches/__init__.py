"""OpenAI's batches: create from a file of requests, retrieve, list and cancel.

The requests of a batch are answered in order when it is created. Its status is validating in the
response to its creation, and final when it is next retrieved, with its output files. If it was
cancelled in between, it has no output.
"""

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.base import (
    ArchivedValues,
    ArchiveHooks,
    Call,
    ComputeContext,
    Endpoint,
    Params,
    make_resource_request,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.batches.batch import (
    PREFIX,
    Batch,
    Line,
    LineError,
    advance,
    batch_json,
    batch_writes,
    cancelled,
    read_lines,
    with_responses,
)
from scenarios_app.wire.openai.batches.files import FILES
from scenarios_app.wire.openai.fields import read_metadata, read_page, render_page, unsupported
from scenarios_app.wire.openai.shared import PROVIDER
from scenarios_app.wire.resources import ResourceFields, ResourceKind

# Every session has this example: the id in OpenAI's API description.
_EXAMPLE = "batch_id"
_SERVED = (
    "/v1/responses",
    "/v1/chat/completions",
    "/v1/embeddings",
    "/v1/completions",
    "/v1/moderations",
)
_WINDOW = "24h"

BATCHES = ResourceKind(
    provider=PROVIDER,
    path="/v1/batches",
    parameter="batch_id",
    prefix=PREFIX,
    examples={_EXAMPLE: Batch(_EXAMPLE, 0, 0, "/v1/responses", "input_file_id")},
    decode=msgspec.json.Decoder(Batch).decode,
    writes=batch_writes,
    read_fields=lambda call: ResourceFields(),
    read_page=read_page,
    to_json=lambda batch, own: batch_json(batch),
    render_page=lambda entries, own: render_page(map(Node, entries), own.page),
    not_found=lambda name: WireError(
        404, f"No batch found with id '{name}'.", param="batch_id", code="not_found"
    ),
)


class NewBatchFields(ResourceFields, frozen=True, kw_only=True):
    """A request to create a batch: its input file and endpoint; and, once loaded, the lines of the
    file with their errors."""

    call: Call
    input_file: str
    endpoint: str
    lines: tuple[Line, ...] = ()
    errors: tuple[LineError, ...] = ()


def _read_new(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    named, window = body.need("endpoint"), body.need("completion_window")
    if named.text() not in _SERVED:
        raise unsupported(named, ", ".join(map(repr, _SERVED)))
    if window.text() != _WINDOW:
        raise unsupported(window, repr(_WINDOW))
    input_file = body.need("input_file_id").text()
    own = NewBatchFields(call=call, input_file=input_file, endpoint=named.text())
    return make_resource_request(
        call, endpoint, own, provider=PROVIDER, metadata=read_metadata(body)
    )


def _resolve_new(request: CanonicalRequest, archived: ArchivedValues) -> CanonicalRequest:
    own: NewBatchFields = request.own
    file = FILES.find(own.input_file, archived)
    if file is None:
        raise FILES.not_found(own.input_file)
    lines, errors = read_lines(file.data, own.endpoint)
    return replace(request, own=replace(own, lines=tuple(lines), errors=tuple(errors)))


def _sub_requests(request: CanonicalRequest) -> tuple[Call, ...]:
    own: NewBatchFields = request.own
    if own.errors:
        return ()
    one = replace(own.call, path=own.endpoint, query={}, raw_query="")
    return tuple(replace(one, body=line.body) for line in own.lines)


def _new(request: CanonicalRequest, context: ComputeContext) -> Batch:
    own: NewBatchFields = request.own
    batch = Batch(
        f"{PREFIX}{context.request_id}",
        context.created,
        context.ordinal,
        own.endpoint,
        own.input_file,
        metadata=dict(request.metadata) or None,
        model=own.lines[0].model if own.lines else None,
        errors=own.errors,
    )
    return batch if own.errors else with_responses(batch, own.lines, context.sub_responses)


# The first matching pattern wins, so the longer ones come first.
ENDPOINTS: tuple[Endpoint, ...] = (
    BATCHES.one("POST", "/cancel", cancelled, bodiless=True),
    BATCHES.one("GET", change=advance),
    BATCHES.listing(),
    BATCHES.creation(
        _read_new,
        _new,
        hooks=ArchiveHooks(lambda request, archived: (request.own.input_file,), _resolve_new),
        sub_requests=_sub_requests,
    ),
)
