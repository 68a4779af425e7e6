"""OpenAI's batches: create from a file of requests, retrieve, list and cancel.

The requests of a batch are answered in order when it is created. Its status is validating in the
response to its creation, and final when it is next retrieved, with its output files. If it was
cancelled in between, it has no output.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, Usage
from scenarios_app.wire.base import (
    ArchivedValues,
    ArchiveHooks,
    ArchiveWrite,
    Call,
    ComputeContext,
    Endpoint,
    Params,
    SubResponse,
    encode_json,
    make_resource_request,
    to_raw_json,
)
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.decoded import get_nested
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.fields import read_metadata, read_page, render_page, unsupported
from scenarios_app.wire.openai.files import FILES, file_write, make_output_file
from scenarios_app.wire.openai.upstream import PROVIDER
from scenarios_app.wire.resources import Resource, ResourceFields, ResourceKind

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
PREFIX = "batch_"
_DAY_SECONDS = 86_400

Status: TypeAlias = Literal["validating", "failed", "completed", "cancelling", "cancelled"]
# The status of a batch at its next retrieval.
_NEXT: dict[Status, Status] = {"validating": "completed", "cancelling": "cancelled"}
_NO_USAGE = Usage(0, 0)
# The limit of the real API.
MAX_LINES = 50_000


class Line(msgspec.Struct, frozen=True):
    """A request of a batch, from one line of its input file."""

    custom_id: str
    body: bytes
    model: str | None


class LineError(msgspec.Struct, frozen=True):
    """An error in a line of a batch's input file; `line` is None for the whole file."""

    code: str
    message: str
    param: str | None = None
    line: int | None = None


def read_lines(data: bytes, url: str) -> tuple[list[Line], list[LineError]]:
    """Return the requests in a file, and errors, any of which fails the batch. All requests must be
    for the endpoint `url`; empty lines are skipped."""
    lines: dict[str, Line] = {}
    errors: list[LineError] = []
    for number, text in enumerate(data.splitlines(), start=1):
        if not text.strip():
            continue
        try:
            line = _read_line(read_body(text, Limits()), url)
            if line.custom_id in lines:
                raise WireError(
                    400,
                    f"The custom_id '{line.custom_id}' stands on an earlier line too.",
                    param="custom_id",
                    code="duplicate_custom_id",
                )
        except WireError as error:
            answer, code = error.answer, error.answer.code or "invalid_request"
            errors.append(LineError(code, answer.message, answer.param, number))
        else:
            lines[line.custom_id] = line
    if not lines and not errors:
        errors.append(LineError("empty_file", "The input file has no lines."))
    if len(lines) > MAX_LINES:
        message = f"The input file has more than {MAX_LINES} lines."
        errors.append(LineError("too_many_tasks", message))
    return list(lines.values()), errors


def _read_line(line: Node, url: str) -> Line:
    """Return the request of a line; raise the 400 if a batch of the endpoint `url` cannot have
    it."""
    custom_id = line.need("custom_id").text()
    _require_value(line.need("method"), "POST", "invalid_method")
    _require_value(line.need("url"), url, "mismatched_endpoint")
    body = line.need("body")
    if body.get("stream").value:
        raise WireError(
            400, "Batches are not streamed.", param="body.stream", code="invalid_request"
        )
    model = body.get("model").value
    return Line(custom_id, encode_json(body.value), model if isinstance(model, str) else None)


def _require_value(node: Node, wanted: str, code: str) -> None:
    """Raise the 400 with this code unless the value is the wanted one."""
    if node.value != wanted:
        message = f"'{node.place}' is {node.value!r}, but this batch takes '{wanted}' alone."
        raise WireError(400, message, param=node.place, code=code)


class Batch(Resource, frozen=True):
    """A stored batch; `output` and `failed` are the lines of its two files, `usage` is that of all
    its requests, `cancelled` the time of its cancellation in Unix seconds."""

    endpoint: str
    input_file_id: str = msgspec.field(name="input_file")
    status: Status = "validating"
    metadata: dict[str, str] | None = None
    model: str | None = None
    errors: tuple[LineError, ...] = ()
    output: tuple[msgspec.Raw, ...] = ()
    failed: tuple[msgspec.Raw, ...] = ()
    usage: Usage = _NO_USAGE
    cancelled: int | None = None

    @property
    def output_file_id(self) -> str:
        """The id of the file of `output`, which is written only if it has lines."""
        return f"{FILES.prefix}{self.id.removeprefix(PREFIX)}-output"

    @property
    def error_file_id(self) -> str:
        """The id of the file of `failed`, which is written only if it has lines."""
        return f"{FILES.prefix}{self.id.removeprefix(PREFIX)}-error"


def with_responses(batch: Batch, lines: Sequence[Line], answers: Iterable[SubResponse]) -> Batch:
    """Return the batch with the responses to its lines and the sum of their usage. Those that are
    no success or no JSON go to `failed`."""
    output: list[msgspec.Raw] = []
    failed: list[msgspec.Raw] = []
    usage = batch.usage
    for number, (line, answer) in enumerate(zip(lines, answers, strict=True), start=1):
        request_id = f"{batch.id.removeprefix(PREFIX)}-{number}"
        ids: dict[str, Any] = {"id": f"batch_req_{request_id}", "custom_id": line.custom_id}
        try:
            body = msgspec.json.decode(answer.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            error = {"code": "server_error", "message": "The request ended without an answer."}
            failed.append(to_raw_json({**ids, "response": None, "error": error}))
            continue
        response = {"status_code": answer.status, "request_id": f"req_{request_id}", "body": body}
        fine = 200 <= answer.status < 300
        line_json = to_raw_json({**ids, "response": response, "error": None})
        (output if fine else failed).append(line_json)
        usage = _add_usage(usage, body) if fine else usage
    return replace(batch, output=tuple(output), failed=tuple(failed), usage=usage)


def batch_writes(batch: Batch) -> tuple[ArchiveWrite, ...]:
    """Return the writes of a batch: itself, and its output files once it is completed."""
    results = ((batch.output_file_id, batch.output), (batch.error_file_id, batch.failed))
    files = [
        file_write(make_output_file(name, batch.created, batch.ordinal, lines))
        for name, lines in results
        if lines and batch.status == "completed"
    ]
    return (ArchiveWrite(batch.id, encode_json(batch)), *files)


def advance(batch: Batch, now: int) -> Batch:
    """Return the batch with its status at its next retrieval; `now` is unused."""
    status: Status = "failed" if batch.errors else _NEXT.get(batch.status, batch.status)
    return replace(batch, status=status)


def cancel(batch: Batch, now: int) -> Batch:
    """Return the batch in status cancelling, without results; raise the 409 if it is completed,
    failed or cancelled. `now` is in Unix seconds."""
    if batch.status == "cancelling":
        return batch
    if batch.status != "validating":
        raise WireError(409, f"Cannot cancel a batch with status '{batch.status}'.")
    return replace(batch, status="cancelling", output=(), failed=(), usage=_NO_USAGE, cancelled=now)


def batch_json(batch: Batch) -> dict[str, Any]:
    """Return a batch as the API shows it."""
    over = batch.status == "completed"
    begun = batch.created if over else None
    errors = {"object": "list", "data": batch.errors} if batch.status == "failed" else None
    usage = {
        "input_tokens": batch.usage.input_tokens,
        "input_tokens_details": {"cached_tokens": batch.usage.cached_tokens},
        "output_tokens": batch.usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": batch.usage.reasoning_tokens},
        "total_tokens": batch.usage.total_tokens,
    }
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": batch.endpoint,
        "model": batch.model,
        "errors": errors,
        "input_file_id": batch.input_file_id,
        "completion_window": _WINDOW,
        "status": batch.status,
        "output_file_id": batch.output_file_id if over and batch.output else None,
        "error_file_id": batch.error_file_id if over and batch.failed else None,
        "created_at": batch.created,
        "in_progress_at": begun,
        "expires_at": batch.created + _DAY_SECONDS,
        "finalizing_at": begun,
        "completed_at": begun,
        "failed_at": batch.created if batch.status == "failed" else None,
        "expired_at": None,
        "cancelling_at": batch.cancelled,
        "cancelled_at": batch.cancelled if batch.status == "cancelled" else None,
        "request_counts": {
            "total": len(batch.output) + len(batch.failed) if over else 0,
            "completed": len(batch.output) if over else 0,
            "failed": len(batch.failed) if over else 0,
        },
        "usage": usage if over else None,
        "metadata": batch.metadata,
    }


def _add_usage(total: Usage, body: Any) -> Usage:
    """Return the total plus a response's usage, which is in the form of Responses or of chat."""
    inputs, outputs = ("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")
    return Usage(
        total.input_tokens + _count_tokens(body, inputs),
        total.output_tokens + _count_tokens(body, outputs),
        total.reasoning_tokens + _count_tokens(body, outputs, "reasoning_tokens"),
        total.cached_tokens + _count_tokens(body, inputs, "cached_tokens"),
    )


def _count_tokens(body: Any, names: Iterable[str], detail: str = "") -> int:
    """Return the first integer at these names in a response's usage, or at `detail` in their
    details; 0 if there is none."""
    paths = [(f"{name}_details", detail) if detail else (name,) for name in names]
    counts = (get_nested(body, "usage", *path) for path in paths)
    return next((count for count in counts if isinstance(count, int)), 0)


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
    input_file_id: str
    endpoint: str
    lines: tuple[Line, ...] = ()
    errors: tuple[LineError, ...] = ()


def _read_creation(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request for a new batch; raise a 400 for another endpoint or window."""
    named, window = body.need("endpoint"), body.need("completion_window")
    if named.text() not in _SERVED:
        raise unsupported(named, ", ".join(map(repr, _SERVED)))
    if window.text() != _WINDOW:
        raise unsupported(window, repr(_WINDOW))
    input_file_id = body.need("input_file_id").text()
    own = NewBatchFields(call=call, input_file_id=input_file_id, endpoint=named.text())
    return make_resource_request(
        call, endpoint, own, provider=PROVIDER, metadata=read_metadata(body)
    )


def _load_lines(request: CanonicalRequest, archived: ArchivedValues) -> CanonicalRequest:
    """Return the request with the lines of its input file; raise a 404 if there is no such file."""
    own: NewBatchFields = request.own
    file = FILES.find(own.input_file_id, archived)
    if file is None:
        raise FILES.not_found(own.input_file_id)
    lines, errors = read_lines(file.data, own.endpoint)
    return replace(request, own=replace(own, lines=tuple(lines), errors=tuple(errors)))


def _sub_requests(request: CanonicalRequest) -> tuple[Call, ...]:
    """Return a call for each line of the batch, or none if a line has an error."""
    own: NewBatchFields = request.own
    if own.errors:
        return ()
    one = replace(own.call, path=own.endpoint, query={}, raw_query="")
    return tuple(replace(one, body=line.body) for line in own.lines)


def _make_batch(request: CanonicalRequest, context: ComputeContext) -> Batch:
    """Return a new batch: failed if lines are invalid, else with the responses to its requests."""
    own: NewBatchFields = request.own
    batch = Batch(
        f"{PREFIX}{context.request_id}",
        context.created,
        context.ordinal,
        own.endpoint,
        own.input_file_id,
        metadata=dict(request.metadata) or None,
        model=own.lines[0].model if own.lines else None,
        errors=own.errors,
    )
    return batch if own.errors else with_responses(batch, own.lines, context.sub_responses)


# The first matching pattern wins, so the longer ones come first.
ENDPOINTS: tuple[Endpoint, ...] = (
    BATCHES.resource_endpoint("POST", "/cancel", cancel, bodiless=True),
    BATCHES.resource_endpoint("GET", change=advance),
    BATCHES.listing_endpoint(),
    BATCHES.creation_endpoint(
        _read_creation,
        _make_batch,
        hooks=ArchiveHooks(lambda request, archived: (request.own.input_file_id,), _load_lines),
        sub_requests=_sub_requests,
    ),
)
