"""OpenAI's files: upload as a multipart form, list, retrieve, read and delete."""

from collections.abc import Iterable
from io import BytesIO
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from scenarios_app.engine.canonical import CanonicalRequest, Json
from scenarios_app.wire.base import (
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
from scenarios_app.wire.openai.fields import read_page, render_deletion, render_page, unsupported
from scenarios_app.wire.openai.upstream import PROVIDER
from scenarios_app.wire.resources import Resource, ResourceFields, ResourceKind

if TYPE_CHECKING:
    from python_multipart.multipart import Field
    from python_multipart.multipart import File as PartOfForm

_PURPOSES = (
    *("assistants", "batch", "evals", "fine-tune", "user_data", "vision"),
    *("batch_output", "fine-tune-results", "assistants_output"),
)
# Every session has these examples: the ids in OpenAI's API description, which generated clients
# and the SDKs' own tests request.
_EXAMPLES = ("file_id", "input_file_id")
_FORM_TYPE = b"multipart/form-data"
_MAX_FIELDS = 100
_MAX_PAGE_FILES = 10_000


class FilePart(msgspec.Struct, frozen=True):
    """An uploaded file."""

    name: str
    data: bytes


class MultipartForm(msgspec.Struct, frozen=True):
    """The fields and files of a form by name; the last of the same name wins."""

    fields: dict[str, str]
    files: dict[str, FilePart]


def read_form(call: Call) -> MultipartForm:
    """Return the form that a call sends; raise the 400 if its body is no form. Files stay in
    memory: the body is there already, and its size is limited."""
    # Imported with the first form.
    from python_multipart.exceptions import FormParserError
    from python_multipart.multipart import FormParser, parse_options_header

    kind, options = parse_options_header(call.headers.get("content-type", "").encode())
    boundary = options.get(b"boundary")
    if kind != _FORM_TYPE or not boundary:
        raise WireError(400, "The body has to be multipart/form-data, with a boundary.")
    form = MultipartForm({}, {})

    def add_field(part: "Field") -> None:
        form.fields[_decode_text(part.field_name)] = _decode_text(part.value)

    def add_file(part: "PartOfForm") -> None:
        held = part.file_object
        assert isinstance(held, BytesIO)
        form.files[_decode_text(part.field_name)] = FilePart(
            _decode_text(part.file_name), held.getvalue()
        )

    config = {"MAX_MEMORY_FILE_SIZE": len(call.body) + 1, "MAX_FIELDS": _MAX_FIELDS}
    try:
        parser = FormParser(kind.decode(), add_field, add_file, boundary=boundary, config=config)
        parser.write(call.body)
        parser.finalize()
    except FormParserError as error:
        raise WireError(400, f"The body is no form: {error}.") from None
    return form


def _decode_text(data: bytes | None) -> str:
    """Return bytes as text; None is ""."""
    return (data or b"").decode(errors="replace")


class File(Resource, frozen=True):
    """A stored file."""

    name: str
    purpose: str
    data: bytes


class FileFields(ResourceFields, frozen=True, kw_only=True):
    """A request about files: one to store, or the purpose of those to list."""

    uploaded: FilePart | None = None
    purpose: str = ""


def file_write(file: File) -> ArchiveWrite:
    """Return the write of a file: a line of JSON without its data, then its data. No length is
    stored, so that secrets in the data can be masked."""
    about = replace(file, data=b"")
    return ArchiveWrite(file.id, encode_json(about) + b"\n" + file.data)


def decode_file(stored: bytes) -> File:
    """Return the file that `file_write` stored as these bytes."""
    about, _, data = stored.partition(b"\n")
    return replace(_decode(about), data=data)


_decode = msgspec.json.Decoder(File).decode


def _to_json(file: File, own: object) -> dict[str, Json]:
    return {
        "id": file.id,
        "object": "file",
        "bytes": len(file.data),
        "created_at": file.created,
        "expires_at": None,
        "filename": file.name,
        "purpose": file.purpose,
        "status": "processed",
        "status_details": None,
    }


def _render_page(entries: list[dict[str, Any]], own: FileFields) -> Json:
    """Return the requested page of the files with the requested purpose."""
    listed = [Node(entry) for entry in entries if own.purpose in ("", entry["purpose"])]
    return render_page(listed, own.page)


FILES = ResourceKind(
    provider=PROVIDER,
    path="/v1/files",
    parameter="file_id",
    prefix="file-",
    examples={name: File(name, 0, 0, "example.jsonl", "batch", b"") for name in _EXAMPLES},
    decode=decode_file,
    writes=lambda file: (file_write(file),),
    read_fields=lambda call: FileFields(purpose=call.query.get("purpose", "")),
    read_page=lambda call: read_page(call, default=_MAX_PAGE_FILES, maximum=_MAX_PAGE_FILES),
    to_json=_to_json,
    render_page=_render_page,
    not_found=lambda name: WireError(
        404, f"No such File object: {name}", param="id", code="not_found"
    ),
)


def make_output_file(name: str, created: int, ordinal: int, lines: Iterable[msgspec.Raw]) -> File:
    """Return an output file of a batch, with one JSON value per line."""
    data = b"".join(bytes(line) + b"\n" for line in lines)
    return File(name, created, ordinal, f"{name}.jsonl", "batch_output", data)


def _read_upload(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    """Return a request to store a file; raise the 400 for an unknown purpose, without a file, and
    for a part `file` without a filename."""
    form = read_form(call)
    fields = Node(dict(form.fields))
    purpose = fields.need("purpose")
    if purpose.text() not in _PURPOSES:
        raise unsupported(purpose, ", ".join(map(repr, _PURPOSES)))
    if (uploaded := form.files.get("file")) is None:
        raise fields.need("file").wrong("a part with a filename")
    own = FileFields(uploaded=uploaded, purpose=purpose.text())
    return make_resource_request(call, endpoint, own, provider=PROVIDER)


def _make_file(request: CanonicalRequest, context: ComputeContext) -> File:
    own: FileFields = request.own
    assert own.uploaded is not None
    name, data = own.uploaded.name or "upload", own.uploaded.data
    file_id = f"{FILES.prefix}{context.request_id}"
    return File(file_id, context.created, context.ordinal, name, own.purpose, data)


# The first matching pattern wins, so the longer ones come first.
ENDPOINTS: tuple[Endpoint, ...] = (
    FILES.resource_endpoint(
        "GET",
        "/content",
        render=lambda file, own: file.data,
        media_type="application/octet-stream",
    ),
    FILES.resource_endpoint("GET"),
    FILES.deletion_endpoint(lambda file, own: render_deletion(file.id, "file")),
    FILES.listing_endpoint(),
    FILES.creation_endpoint(_read_upload, _make_file, bodiless=True),
)
