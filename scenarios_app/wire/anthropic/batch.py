"""A stored message batch of Anthropic's and its JSON in the API."""

from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypeAlias

import msgspec

from scenarios_app.engine.canonical import ErrorAnswer
from scenarios_app.wire.anthropic.errors import error_envelope
from scenarios_app.wire.base import SubResponse, encode_json
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.resources import Resource

_LIFETIME = timedelta(hours=24)

BatchStatus: TypeAlias = Literal["in_progress", "canceling", "ended"]
ResultKind: TypeAlias = Literal["succeeded", "errored", "canceled"]


class BatchResult(msgspec.Struct, frozen=True):
    """The result of one request of a batch; `body` is its message or its error envelope."""

    custom_id: str
    kind: ResultKind
    body: msgspec.Raw

    @property
    def line(self) -> bytes:
        """Its line in the results file."""
        key = {"succeeded": "message", "errored": "error"}.get(self.kind)
        result: dict[str, Any] = {"type": self.kind}
        if key is not None:
            result[key] = self.body
        return encode_json({"custom_id": self.custom_id, "result": result}) + b"\n"


class MessageBatch(Resource, frozen=True):
    """A stored batch."""

    status: BatchStatus
    results: tuple[BatchResult, ...]
    cancelled: int | None = None


def result_of(custom_id: str, answered: SubResponse) -> BatchResult:
    """Return the batch result for a response; one without valid JSON becomes a server error."""
    try:
        body = msgspec.Raw(encode_json(msgspec.json.decode(answered.body)))
    except msgspec.DecodeError:
        error = ErrorAnswer(500, "Internal server error")
        return BatchResult(
            custom_id, "errored", msgspec.Raw(error_envelope(error, request_id=None))
        )
    return BatchResult(custom_id, "succeeded" if answered.status == 200 else "errored", body)


def ended(batch: MessageBatch, now: int) -> MessageBatch:
    """Return the batch with status `ended`."""
    return msgspec.structs.replace(batch, status="ended")


def cancelled(batch: MessageBatch, now: int) -> MessageBatch:
    """Return the batch with all requests cancelled; raise the 400 if it has ended."""
    if batch.status == "ended":
        raise WireError(400, f"Message batch '{batch.id}' has ended and cannot be canceled.")
    if batch.status == "canceling":
        return batch
    none = msgspec.Raw(b"null")
    results = tuple([BatchResult(each.custom_id, "canceled", none) for each in batch.results])
    return msgspec.structs.replace(batch, status="canceling", results=results, cancelled=now)


def batch_json(batch: MessageBatch, results_url: str) -> dict[str, Any]:
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
        "ended_at": _time(batch.cancelled or batch.created) if over else None,
        "created_at": _time(batch.created),
        "expires_at": _time(batch.created, _LIFETIME),
        "archived_at": None,
        "cancel_initiated_at": None if batch.cancelled is None else _time(batch.cancelled),
        "results_url": results_url if over else None,
    }


def _time(seconds: int, later: timedelta = timedelta(0)) -> str:
    at = datetime.fromtimestamp(seconds, UTC) + later
    return at.isoformat().replace("+00:00", "Z")
