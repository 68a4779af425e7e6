"""Anthropic's message batches: create, retrieve, list, cancel, delete, and read their results.

The requests of a batch are answered in order when it is created. It is in progress in the response
to its creation and has ended when it is next retrieved. If it was cancelled in between, all its
requests are reported as cancelled.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, ErrorAnswer
from scenarios_app.wire.anthropic.errors import error_envelope
from scenarios_app.wire.anthropic.models import read_page, render_page
from scenarios_app.wire.anthropic.request import MESSAGES, need
from scenarios_app.wire.anthropic.upstream import PROVIDER
from scenarios_app.wire.base import (
    ArchiveWrite,
    Call,
    ComputeContext,
    Endpoint,
    Params,
    SubResponse,
    encode_json,
    format_time,
    make_resource_request,
)
from scenarios_app.wire.body import Node
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.resources import Resource, ResourceFields, ResourceKind

PATH = f"{MESSAGES}/batches"

# Every session has this example: the id in Anthropic's API description, which generated clients
# and the SDK's own tests request.
_EXAMPLE = "message_batch_id"
_PREFIX = "msgbatch_"
_MAX_REQUESTS = 100_000
_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LIFETIME_SECONDS = 24 * 3600
_BODY_KEYS = {"succeeded": "message", "errored": "error"}


class BatchResult(msgspec.Struct, frozen=True):
    """The result of one request of a batch; `body` is its message or its error envelope."""

    custom_id: str
    kind: Literal["succeeded", "errored", "canceled"]
    body: msgspec.Raw


class MessageBatch(Resource, frozen=True):
    """A stored batch with its results, which are shown once it has ended; `cancelled` is the time
    of its cancellation in Unix seconds, if any."""

    status: Literal["in_progress", "canceling", "ended"]
    results: tuple[BatchResult, ...]
    cancelled: int | None = None


def _make_result(custom_id: str, answered: SubResponse) -> BatchResult:
    """Return the batch result for a response: a success if its status is 200. One without valid
    JSON becomes a server error."""
    try:
        body = msgspec.Raw(encode_json(msgspec.json.decode(answered.body)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        error = error_envelope(ErrorAnswer(500, "Internal server error"), request_id=None)
        return BatchResult(custom_id, "errored", msgspec.Raw(error))
    return BatchResult(custom_id, "succeeded" if answered.status == 200 else "errored", body)


def _end(batch: MessageBatch, now: int) -> MessageBatch:
    """Return the batch with status `ended`; `now` is unused."""
    return replace(batch, status="ended")


def _cancel(batch: MessageBatch, now: int) -> MessageBatch:
    """Return the batch with all requests cancelled; raise the 400 if it has ended."""
    if batch.status == "ended":
        raise WireError(400, f"Message batch '{batch.id}' has ended and cannot be canceled.")
    if batch.status == "canceling":
        return batch
    none = msgspec.Raw(b"null")
    results = tuple([BatchResult(each.custom_id, "canceled", none) for each in batch.results])
    return replace(batch, status="canceling", results=results, cancelled=now)


def _batch_json(batch: MessageBatch, results_url: str) -> dict[str, Any]:
    """Return a batch as the API shows it; the URL of its results is there once it has ended."""
    over = batch.status == "ended"
    counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
    for result in batch.results:
        counts[result.kind if over else "processing"] += 1
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": batch.status,
        "request_counts": counts,
        "ended_at": format_time(batch.cancelled or batch.created) if over else None,
        "created_at": format_time(batch.created),
        "expires_at": format_time(batch.created + _LIFETIME_SECONDS),
        "archived_at": None,
        "cancel_initiated_at": None if batch.cancelled is None else format_time(batch.cancelled),
        "results_url": results_url if over else None,
    }


class MessageBatchFields(ResourceFields, frozen=True, kw_only=True):
    """A request about batches: the client's base URL, and the calls of a new one by custom id."""

    origin: str
    calls: Mapping[str, Call] = {}


def _read_fields(call: Call, **more: Any) -> MessageBatchFields:
    """Return a request's fields: the client's base URL, empty without a Host header, and `more`."""
    host = call.headers.get("host")
    return MessageBatchFields(origin=f"{call.scheme}://{host}" if host else "", **more)


def _read_creation(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request to create a batch, with one call for each of its requests. The `params` of
    these are not checked here. Raises the 400 for a wrong or repeated `custom_id`."""
    calls: dict[str, Call] = {}
    for item in need(body, "requests").items():
        custom_id = need(item, "custom_id").text()
        if not _CUSTOM_ID.fullmatch(custom_id):
            pattern = f"String should match pattern '^{_CUSTOM_ID.pattern}$'"
            raise WireError(400, f"{item.place}.custom_id: {pattern}")
        if custom_id in calls:
            raise WireError(400, f"{item.place}.custom_id: '{custom_id}' is not unique")
        if len(calls) == _MAX_REQUESTS:
            raise WireError(400, f"requests: at most {_MAX_REQUESTS} requests make a batch")
        wanted = need(item, "params")
        if wanted.get("stream").value:
            raise WireError(400, f"{wanted.place}.stream: batches are not streamed")
        calls[custom_id] = replace(
            call, path=MESSAGES, query={}, raw_query="", body=encode_json(wanted.object())
        )
    if not calls:
        raise WireError(400, "requests: at least one request makes a batch")
    own = _read_fields(call, calls=calls)
    return make_resource_request(call, endpoint, own, provider=PROVIDER)


def _sub_requests(request: CanonicalRequest) -> tuple[Call, ...]:
    """Return the calls of a new batch's requests."""
    own: MessageBatchFields = request.own
    return tuple(own.calls.values())


def _make_batch(request: CanonicalRequest, context: ComputeContext) -> MessageBatch:
    """Return a new batch with the results of its requests."""
    own: MessageBatchFields = request.own
    results = tuple(map(_make_result, own.calls, context.sub_responses))
    id = f"{_PREFIX}{context.request_id}"
    return MessageBatch(id, context.created, context.ordinal, "in_progress", results)


def _render_results(batch: MessageBatch, own: object) -> bytes:
    """Return the results as JSON lines."""
    return b"".join(map(_result_line, batch.results))


def _result_line(result: BatchResult) -> bytes:
    """Return a result as a JSON line, with its message or error if it has one."""
    key = _BODY_KEYS.get(result.kind)
    outcome = {"type": result.kind, **({} if key is None else {key: result.body})}
    return encode_json({"custom_id": result.custom_id, "result": outcome}) + b"\n"


def _render_deletion(batch: MessageBatch, own: object) -> bytes:
    """Return the response to a deletion; raise the 400 if the batch, other than the example, has
    not ended."""
    if batch.status != "ended" and batch.id != _EXAMPLE:
        message = f"Message batch '{batch.id}' has not ended: cancel it before it is deleted."
        raise WireError(400, message)
    return encode_json({"id": batch.id, "type": "message_batch_deleted"})


_BATCHES = ResourceKind(
    provider=PROVIDER,
    path=PATH,
    parameter="message_batch_id",
    prefix=_PREFIX,
    examples={_EXAMPLE: MessageBatch(_EXAMPLE, 0, 0, "in_progress", ())},
    decode=msgspec.json.Decoder(MessageBatch).decode,
    writes=lambda batch: (ArchiveWrite(batch.id, encode_json(batch)),),
    read_fields=_read_fields,
    read_page=read_page,
    to_json=lambda batch, own: _batch_json(batch, f"{own.origin}{PATH}/{batch.id}/results"),
    render_page=lambda entries, own: render_page(reversed(entries), own.page),
    not_found=lambda name: WireError(404, f"Message batch '{name}' not found."),
)

# The first matching pattern wins, so the longer ones come first.
ENDPOINTS: tuple[Endpoint, ...] = (
    _BATCHES.resource_endpoint(
        "GET", "/results", _end, render=_render_results, media_type="application/x-jsonl"
    ),
    _BATCHES.resource_endpoint("POST", "/cancel", _cancel, bodiless=True),
    _BATCHES.resource_endpoint("GET", change=_end),
    _BATCHES.deletion_endpoint(_render_deletion),
    _BATCHES.listing_endpoint(),
    _BATCHES.creation_endpoint(_read_creation, _make_batch, sub_requests=_sub_requests),
)
