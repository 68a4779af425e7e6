"""OpenAI's batches: create from a file of requests, retrieve, list and cancel.

The requests of a batch are answered in order when it is created. Its status is validating in the
response to its creation, and final when it is next retrieved, with its output files. If it was
cancelled in between, it has no output.
"""

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.base import (
    ArchivedValues,
    ArchiveHooks,
    ArchiveWrite,
    Call,
    ComputeContext,
    Endpoint,
    Params,
    encode_json,
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
    find_batch,
    read_lines,
    with_responses,
)
from scenarios_app.wire.openai.batches.files import need_file
from scenarios_app.wire.openai.fields import (
    ListPage,
    read_metadata,
    read_page,
    render_page,
    unsupported,
)
from scenarios_app.wire.openai.shared import PROVIDER

PATH = "/v1/batches"

_ID = "batch_id"
_ONE = f"{PATH}/{{{_ID}}}"
_SERVED = (
    "/v1/responses",
    "/v1/chat/completions",
    "/v1/embeddings",
    "/v1/completions",
    "/v1/moderations",
)
_WINDOW = "24h"


class BatchFields(msgspec.Struct, frozen=True):
    """A request about batches: the input file and endpoint of a new one, the name of one, or a page
    of all; and, once loaded, the lines of the file with their errors, or the stored batches."""

    call: Call
    name: str = ""
    input_file: str = ""
    endpoint: str = ""
    page: ListPage | None = None
    lines: tuple[Line, ...] = ()
    errors: tuple[LineError, ...] = ()
    batches: tuple[Batch, ...] = ()

    @property
    def batch(self) -> Batch:
        """The named batch; raises the 404 if it is missing."""
        for batch in self.batches:
            return batch
        message = f"No batch found with id '{self.name}'."
        raise WireError(404, message, param="batch_id", code="not_found")


def _read(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    return make_resource_request(call, endpoint, BatchFields(call, params[_ID]), provider=PROVIDER)


def _read_list(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    own = BatchFields(call, page=read_page(call))
    return make_resource_request(call, endpoint, own, provider=PROVIDER)


def _read_new(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    named, window = body.need("endpoint"), body.need("completion_window")
    if named.text() not in _SERVED:
        raise unsupported(named, ", ".join(map(repr, _SERVED)))
    if window.text() != _WINDOW:
        raise unsupported(window, repr(_WINDOW))
    own = BatchFields(call, input_file=body.need("input_file_id").text(), endpoint=named.text())
    return make_resource_request(
        call, endpoint, own, provider=PROVIDER, metadata=read_metadata(body)
    )


def _references(request: CanonicalRequest, archived: ArchivedValues) -> tuple[str, ...]:
    own: BatchFields = request.own
    return tuple(filter(None, (own.name, own.input_file)))


def _resolve(request: CanonicalRequest, archived: ArchivedValues) -> CanonicalRequest:
    own: BatchFields = request.own
    names: Iterable[str] = (own.name,) if own.name else archived
    batches = tuple(batch for name in names if (batch := find_batch(name, archived)) is not None)
    return replace(request, own=replace(own, batches=batches))


def _resolve_new(request: CanonicalRequest, archived: ArchivedValues) -> CanonicalRequest:
    own: BatchFields = request.own
    lines, errors = read_lines(need_file(own.input_file, archived).data, own.endpoint)
    return replace(request, own=replace(own, lines=tuple(lines), errors=tuple(errors)))


def _sub_requests(request: CanonicalRequest) -> tuple[Call, ...]:
    own: BatchFields = request.own
    if own.errors:
        return ()
    one = replace(own.call, path=own.endpoint, query={}, raw_query="")
    return tuple(replace(one, body=line.body) for line in own.lines)


def _new(request: CanonicalRequest, context: ComputeContext) -> Batch:
    own: BatchFields = request.own
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


def _create(request: CanonicalRequest, context: ComputeContext) -> bytes:
    return encode_json(batch_json(_new(request, context)))


def _store_new(request: CanonicalRequest, context: ComputeContext) -> tuple[ArchiveWrite, ...]:
    return batch_writes(_new(request, context))


def _retrieve(request: CanonicalRequest, context: ComputeContext) -> bytes:
    own: BatchFields = request.own
    batch, _ = advance(own.batch)
    return encode_json(batch_json(batch))


def _store_advanced(request: CanonicalRequest, context: ComputeContext) -> tuple[ArchiveWrite, ...]:
    own: BatchFields = request.own
    _, stored = advance(own.batch)
    return stored


def _cancel(request: CanonicalRequest, context: ComputeContext) -> bytes:
    own: BatchFields = request.own
    return encode_json(batch_json(cancelled(own.batch, context.created)))


def _store_cancelled(
    request: CanonicalRequest, context: ComputeContext
) -> tuple[ArchiveWrite, ...]:
    own: BatchFields = request.own
    return batch_writes(cancelled(own.batch, context.created))


def _list(request: CanonicalRequest, context: ComputeContext) -> bytes:
    own: BatchFields = request.own
    assert own.page is not None
    in_order = sorted(own.batches, key=lambda batch: batch.ordinal)
    return encode_json(render_page([Node(batch_json(batch)) for batch in in_order], own.page))


_NEW = ArchiveHooks(_references, _resolve_new, record_computed=_store_new)
_LOAD_AND_ADVANCE = ArchiveHooks(_references, _resolve, record_computed=_store_advanced)
_CANCELLED = ArchiveHooks(_references, _resolve, record_computed=_store_cancelled)
_ALL = ArchiveHooks(_references, _resolve, prefix=PREFIX)

# The first matching pattern wins, so the longer ones come first.
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("POST", f"{_ONE}/cancel", _read, compute=_cancel, archival=_CANCELLED, bodiless=True),
    Endpoint("GET", _ONE, _read, compute=_retrieve, archival=_LOAD_AND_ADVANCE),
    Endpoint("GET", PATH, _read_list, compute=_list, archival=_ALL),
    Endpoint("POST", PATH, _read_new, compute=_create, sub_requests=_sub_requests, archival=_NEW),
)
