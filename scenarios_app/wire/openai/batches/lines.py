"""The lines of a batch's input: each one a request, or what is wrong with it."""

from collections.abc import Iterator

import msgspec

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.base import encode_json
from scenarios_app.wire.body import Limits, Node, read_body
from scenarios_app.wire.errors import WireError

# As many as the real API takes.
MOST_LINES = 50_000


class Line(msgspec.Struct, frozen=True):
    """A request of a batch."""

    custom_id: str
    body: bytes
    model: str | None


class LineError(msgspec.Struct, frozen=True):
    """What is wrong with a line, or with all of the file."""

    code: str
    message: str
    param: str | None = None
    line: int | None = None


def read_lines(data: bytes, url: str) -> tuple[list[Line], list[LineError]]:
    """The requests in a file for an endpoint, and what is wrong with it. Where something is, none
    of the requests is made."""
    lines: list[Line] = []
    errors: list[LineError] = []
    seen: set[str] = set()
    for number, text in _numbered(data):
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
            said = error.answer
            errors.append(
                LineError(said.code or "invalid_request", said.message, said.param, number)
            )
            continue
        seen.add(line.custom_id)
        lines.append(line)
    if not lines and not errors:
        errors.append(LineError("empty_file", "The input file has no lines."))
    if len(lines) > MOST_LINES:
        message = f"The input file has more than {MOST_LINES} lines."
        errors.append(LineError("too_many_tasks", message))
    return lines, errors


def _numbered(data: bytes) -> Iterator[tuple[int, bytes]]:
    for number, text in enumerate(data.splitlines(), start=1):
        if text.strip():
            yield number, text


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
