"""Anthropic's message batches: create, retrieve, list, cancel, delete, and read their results.

The requests of a batch are answered in order when it is created. It is in progress in the response
to its creation and has ended when it is next retrieved. If it was cancelled in between, all its
requests are reported as cancelled.
"""

import re
from typing import Any

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.anthropic.batch import (
    MessageBatch,
    batch_json,
    cancelled,
    ended,
    read_batch,
    result_of,
)
from scenarios_app.wire.anthropic.models import CursorPage, read_page, render_page
from scenarios_app.wire.anthropic.request import MESSAGES, PROVIDER
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

PATH = f"{MESSAGES}/batches"

_ID = "message_batch_id"
_ONE = f"{PATH}/{{{_ID}}}"
# Every session has this example: the id in Anthropic's API description, which generated clients
# and the SDK's own tests request.
_EXAMPLE = "message_batch_id"
_PREFIX = "msgbatch_"
_MAX_REQUESTS = 100_000
_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class MessageBatchFields(msgspec.Struct, frozen=True):
    """A request about batches: the calls of a new one with their custom ids, the name of one, or a
    page of all; and the stored batches, once loaded."""

    origin: str
    name: str = ""
    calls: tuple[tuple[str, Call], ...] = ()
    page: CursorPage | None = None
    batches: tuple[MessageBatch, ...] = ()

    @property
    def batch(self) -> MessageBatch:
        """The named batch; raises the 404 if it is missing."""
        for batch in self.batches:
            return batch
        raise WireError(404, f"Message batch '{self.name}' not found.")


def _origin(call: Call) -> str:
    host = call.headers.get("host")
    return f"{call.scheme}://{host}" if host else ""


def _read(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    return make_resource_request(
        call, endpoint, MessageBatchFields(_origin(call), params[_ID]), provider=PROVIDER
    )


def _read_list(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    own = MessageBatchFields(_origin(call), page=read_page(call))
    return make_resource_request(call, endpoint, own, provider=PROVIDER)


def _read_new(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Turn each request into a call. Its params are checked when the call is answered."""
    calls: dict[str, Call] = {}
    for item in body.need("requests").items():
        custom_id = _custom_id(item.need("custom_id"))
        if custom_id in calls:
            raise WireError(400, f"{item.place}.custom_id: '{custom_id}' is not unique")
        if len(calls) == _MAX_REQUESTS:
            raise WireError(400, f"requests: at most {_MAX_REQUESTS} requests make a batch")
        wanted = item.need("params")
        if wanted.get("stream").value:
            raise WireError(400, f"{wanted.place}.stream: batches are not streamed")
        calls[custom_id] = replace(
            call, path=MESSAGES, query={}, raw_query="", body=encode_json(wanted.object())
        )
    if not calls:
        raise WireError(400, "requests: at least one request makes a batch")
    own = MessageBatchFields(_origin(call), calls=tuple(calls.items()))
    return make_resource_request(call, endpoint, own, provider=PROVIDER)


def _custom_id(node: Node) -> str:
    text = node.text()
    if not _CUSTOM_ID.fullmatch(text):
        raise WireError(400, f"{node.place}: String should match pattern '^{_CUSTOM_ID.pattern}$'")
    return text


def _sub_requests(request: CanonicalRequest) -> tuple[Call, ...]:
    own: MessageBatchFields = request.own
    return tuple(call for _, call in own.calls)


def _references(request: CanonicalRequest, archived: ArchivedValues) -> tuple[str, ...]:
    own: MessageBatchFields = request.own
    return (own.name,) if own.name else ()


def _resolve(request: CanonicalRequest, archived: ArchivedValues) -> CanonicalRequest:
    """Return the request with the stored batches."""
    own: MessageBatchFields = request.own
    wanted = {own.name: archived.get(own.name)} if own.name else archived
    batches = [read_batch(data) for data in wanted.values() if data is not None]
    if not batches and own.name == _EXAMPLE:
        batches = [MessageBatch(_EXAMPLE, 0, 0, "in_progress", ())]
    return _with_batches(request, *batches)


def _resolve_ended(request: CanonicalRequest, archived: ArchivedValues) -> CanonicalRequest:
    resolved = _resolve(request, archived)
    return _with_batches(resolved, *map(ended, resolved.own.batches))


def _with_batches(request: CanonicalRequest, *batches: MessageBatch) -> CanonicalRequest:
    return replace(request, own=replace(request.own, batches=batches))


def _new(request: CanonicalRequest, context: ComputeContext) -> MessageBatch:
    own: MessageBatchFields = request.own
    names = [custom_id for custom_id, _ in own.calls]
    results = tuple(map(result_of, names, context.sub_responses))
    return MessageBatch(
        f"{_PREFIX}{context.request_id}", context.created, context.ordinal, "in_progress", results
    )


def _create(request: CanonicalRequest, context: ComputeContext) -> bytes:
    return encode_json(_to_json(_new(request, context), request.own))


def _retrieve(request: CanonicalRequest, context: ComputeContext) -> bytes:
    own: MessageBatchFields = request.own
    return encode_json(_to_json(own.batch, own))


def _list(request: CanonicalRequest, context: ComputeContext) -> bytes:
    own: MessageBatchFields = request.own
    assert own.page is not None
    latest_first = sorted(own.batches, key=lambda batch: -batch.ordinal)
    entries = {batch.id: _to_json(batch, own) for batch in latest_first}
    return encode_json(render_page(entries, own.page))


def _results(request: CanonicalRequest, context: ComputeContext) -> bytes:
    own: MessageBatchFields = request.own
    return b"".join(result.line for result in own.batch.results)


def _cancel(request: CanonicalRequest, context: ComputeContext) -> bytes:
    own: MessageBatchFields = request.own
    return encode_json(_to_json(cancelled(own.batch, context.created), own))


def _delete(request: CanonicalRequest, context: ComputeContext) -> bytes:
    own: MessageBatchFields = request.own
    if own.batch.status != "ended" and own.name != _EXAMPLE:
        message = f"Message batch '{own.name}' has not ended: cancel it before it is deleted."
        raise WireError(400, message)
    return encode_json({"id": own.name, "type": "message_batch_deleted"})


def _to_json(batch: MessageBatch, own: MessageBatchFields) -> dict[str, Any]:
    return batch_json(batch, f"{own.origin}{PATH}/{batch.id}/results")


def _store_new(request: CanonicalRequest, context: ComputeContext) -> tuple[ArchiveWrite, ...]:
    return _batch_writes(_new(request, context))


def _store_ended(request: CanonicalRequest, context: ComputeContext) -> tuple[ArchiveWrite, ...]:
    own: MessageBatchFields = request.own
    return _batch_writes(own.batch)


def _store_cancelled(
    request: CanonicalRequest, context: ComputeContext
) -> tuple[ArchiveWrite, ...]:
    own: MessageBatchFields = request.own
    return _batch_writes(cancelled(own.batch, context.created))


def _store_deletion(request: CanonicalRequest, context: ComputeContext) -> tuple[ArchiveWrite, ...]:
    own: MessageBatchFields = request.own
    return (ArchiveWrite(own.name, None),)


def _batch_writes(batch: MessageBatch) -> tuple[ArchiveWrite, ...]:
    """Return the write of a batch; none for the example."""
    return () if batch.id == _EXAMPLE else (ArchiveWrite(batch.id, encode_json(batch)),)


_LOAD_ENDED = ArchiveHooks(_references, _resolve_ended, record_computed=_store_ended)
_NEW = ArchiveHooks(_references, lambda request, found: request, record_computed=_store_new)
_ALL = ArchiveHooks(_references, _resolve, prefix=_PREFIX)
_CANCELLED = ArchiveHooks(_references, _resolve, record_computed=_store_cancelled)
_DELETED = ArchiveHooks(_references, _resolve, record_computed=_store_deletion)

# The first matching pattern wins, so the longer ones come first.
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET",
        f"{_ONE}/results",
        _read,
        compute=_results,
        archival=_LOAD_ENDED,
        media_type="application/x-jsonl",
    ),
    Endpoint("POST", f"{_ONE}/cancel", _read, compute=_cancel, archival=_CANCELLED, bodiless=True),
    Endpoint("GET", _ONE, _read, compute=_retrieve, archival=_LOAD_ENDED),
    Endpoint("DELETE", _ONE, _read, compute=_delete, archival=_DELETED),
    Endpoint("GET", PATH, _read_list, compute=_list, archival=_ALL),
    Endpoint("POST", PATH, _read_new, compute=_create, sub_requests=_sub_requests, archival=_NEW),
)
