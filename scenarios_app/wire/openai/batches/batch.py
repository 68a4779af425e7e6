"""A stored batch of OpenAI's: its input lines, its status and its JSON in the API."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.base import ArchiveWrite, SubResponse, encode_json
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.batches.files import PREFIX as FILE
from scenarios_app.wire.openai.batches.files import file_write, lines_file
from scenarios_app.wire.resources import Resource

PREFIX = "batch_"
_DAY = 86_400
_OK = range(200, 300)

Status: TypeAlias = Literal["validating", "failed", "completed", "cancelling", "cancelled"]
# The status of a batch at its next retrieval.
_NEXT: dict[Status, Status] = {"validating": "completed", "cancelling": "cancelled"}
# The limit of the real API.
MAX_LINES = 50_000


class Line(msgspec.Struct, frozen=True):
    """A request of a batch."""

    custom_id: str
    body: bytes
    model: str | None


class LineError(msgspec.Struct, frozen=True):
    """An error in a line of a batch's input file, or in the whole of it."""

    code: str
    message: str
    param: str | None = None
    line: int | None = None


def read_lines(data: bytes, url: str) -> tuple[list[Line], list[LineError]]:
    """Return the requests in a file for an endpoint, and its errors. If there are any, no request
    is made."""
    lines: list[Line] = []
    errors: list[LineError] = []
    seen: set[str] = set()
    for number, text in enumerate(data.splitlines(), start=1):
        if not text.strip():
            continue
        try:
            line = _line(read_body(text, Limits()), url)
            if line.custom_id in seen:
                raise WireError(
                    400,
                    f"The custom_id '{line.custom_id}' stands on an earlier line too.",
                    param="custom_id",
                    code="duplicate_custom_id",
                )
        except WireError as error:
            answer = error.answer
            errors.append(
                LineError(answer.code or "invalid_request", answer.message, answer.param, number)
            )
            continue
        seen.add(line.custom_id)
        lines.append(line)
    if not lines and not errors:
        errors.append(LineError("empty_file", "The input file has no lines."))
    if len(lines) > MAX_LINES:
        message = f"The input file has more than {MAX_LINES} lines."
        errors.append(LineError("too_many_tasks", message))
    return lines, errors


def _line(line: Node, url: str) -> Line:
    custom_id = line.need("custom_id").text()
    _check(line.need("method"), "POST", "invalid_method")
    _check(line.need("url"), url, "mismatched_endpoint")
    body = line.need("body")
    if body.get("stream").value:
        raise WireError(
            400, "Batches are not streamed.", param="body.stream", code="invalid_request"
        )
    return Line(custom_id, encode_json(body.value), _model(body))


def _check(node: Node, wanted: str, code: str) -> None:
    if node.value != wanted:
        message = f"'{node.place}' is {node.value!r}, but this batch takes '{wanted}' alone."
        raise WireError(400, message, param=node.place, code=code)


def _model(body: Node) -> str | None:
    name: Json = body.get("model").value
    return name if isinstance(name, str) else None


class Tokens(msgspec.Struct, frozen=True):
    """The token usage of all requests in a batch."""

    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0


class Batch(Resource, frozen=True):
    """A stored batch; `output` and `failed` are the lines of its two files."""

    endpoint: str
    input_file: str
    status: Status = "validating"
    metadata: dict[str, str] | None = None
    model: str | None = None
    errors: tuple[LineError, ...] = ()
    output: tuple[msgspec.Raw, ...] = ()
    failed: tuple[msgspec.Raw, ...] = ()
    tokens: Tokens = Tokens()
    cancelled: int | None = None

    @property
    def output_file(self) -> str:
        return f"{FILE}{self.id.removeprefix(PREFIX)}-output"

    @property
    def error_file(self) -> str:
        return f"{FILE}{self.id.removeprefix(PREFIX)}-error"


def with_responses(batch: Batch, lines: Sequence[Line], answers: Iterable[SubResponse]) -> Batch:
    """Return the batch with the responses to its requests."""
    output: list[msgspec.Raw] = []
    failed: list[msgspec.Raw] = []
    tokens = Tokens()
    for number, (line, answer) in enumerate(zip(lines, answers, strict=True), start=1):
        request_id = f"{batch.id.removeprefix(PREFIX)}-{number}"
        ids: dict[str, Any] = {"id": f"batch_req_{request_id}", "custom_id": line.custom_id}
        try:
            body = msgspec.json.decode(answer.body)
        except msgspec.DecodeError:
            error = {"code": "server_error", "message": "The request ended without an answer."}
            failed.append(msgspec.Raw(encode_json({**ids, "response": None, "error": error})))
            continue
        response = {"status_code": answer.status, "request_id": f"req_{request_id}", "body": body}
        fine = answer.status in _OK
        line_json = msgspec.Raw(encode_json({**ids, "response": response, "error": None}))
        (output if fine else failed).append(line_json)
        tokens = _add_usage(tokens, body) if fine else tokens
    return msgspec.structs.replace(batch, output=tuple(output), failed=tuple(failed), tokens=tokens)


def batch_writes(batch: Batch) -> tuple[ArchiveWrite, ...]:
    """Return the writes of a batch: itself, and its output files once it is completed."""
    files = [
        file_write(lines_file(name, batch.created, batch.ordinal, lines))
        for name, lines in ((batch.output_file, batch.output), (batch.error_file, batch.failed))
        if lines and batch.status == "completed"
    ]
    return (ArchiveWrite(batch.id, encode_json(batch)), *files)


def advance(batch: Batch, now: int) -> Batch:
    """Return the batch at its next retrieval."""
    status: Status = "failed" if batch.errors else _NEXT.get(batch.status, batch.status)
    return msgspec.structs.replace(batch, status=status)


def cancelled(batch: Batch, now: int) -> Batch:
    """Return the cancelled batch without results; raise the 409 if it is over."""
    if batch.status == "cancelling":
        return batch
    if batch.status != "validating":
        raise WireError(409, f"Cannot cancel a batch with status '{batch.status}'.")
    return msgspec.structs.replace(
        batch, status="cancelling", output=(), failed=(), tokens=Tokens(), cancelled=now
    )


def batch_json(batch: Batch) -> dict[str, Any]:
    """Return a batch as the API shows it."""
    over = batch.status == "completed"
    begun = batch.created if over else None
    errors = {"object": "list", "data": batch.errors} if batch.status == "failed" else None
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": batch.endpoint,
        "model": batch.model,
        "errors": errors,
        "input_file_id": batch.input_file,
        "completion_window": "24h",
        "status": batch.status,
        "output_file_id": batch.output_file if over and batch.output else None,
        "error_file_id": batch.error_file if over and batch.failed else None,
        "created_at": batch.created,
        "in_progress_at": begun,
        "expires_at": batch.created + _DAY,
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
        "usage": _usage(batch.tokens) if over else None,
        "metadata": batch.metadata,
    }


def _add_usage(tokens: Tokens, body: Any) -> Tokens:
    """Return the tokens plus a response's usage, in the form of chat or of Responses."""
    usage = body.get("usage") or {}
    prompt, completion = _details(usage, "prompt", "input"), _details(usage, "completion", "output")
    return Tokens(
        tokens.input + prompt[0],
        tokens.output + completion[0],
        tokens.cached + prompt[1].get("cached_tokens", 0),
        tokens.reasoning + completion[1].get("reasoning_tokens", 0),
    )


def _details(usage: dict[str, Any], *names: str) -> tuple[int, dict[str, int]]:
    for name in names:
        if f"{name}_tokens" in usage:
            return usage[f"{name}_tokens"], usage.get(f"{name}_tokens_details") or {}
    return 0, {}


def _usage(tokens: Tokens) -> dict[str, Any]:
    return {
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.input + tokens.output,
    }
