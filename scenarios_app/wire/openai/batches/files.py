"""OpenAI's files: upload as a multipart form, list, retrieve, read and delete."""

from collections.abc import Iterable
from io import BytesIO

import msgspec
from msgspec.structs import replace
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, FormParser, parse_options_header
from python_multipart.multipart import File as PartOfForm

from scenarios_app.engine.canonical import CanonicalRequest, Json
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
from scenarios_app.wire.openai.fields import ListPage, read_page, render_page, unsupported
from scenarios_app.wire.openai.shared import PROVIDER

PATH = "/v1/files"

_ID = "file_id"
_ONE = f"{PATH}/{{{_ID}}}"
_PURPOSES = (
    *("assistants", "batch", "evals", "fine-tune", "user_data", "vision"),
    *("batch_output", "fine-tune-results", "assistants_output"),
)
PREFIX = "file-"
# Every session has these examples: the ids in OpenAI's API description, which generated clients
# and the SDKs' own tests request.
_EXAMPLES = ("file_id", "input_file_id")
_FORM_TYPE = b"multipart/form-data"
_MAX_FIELDS = 100


class FilePart(msgspec.Struct, frozen=True):
    """An uploaded file."""

    name: str
    data: bytes


class MultipartForm(msgspec.Struct, frozen=True):
    """The fields and files of a form by name; the last of the same name wins."""

    fields: dict[str, str]
    files: dict[str, FilePart]


def read_form(call: Call) -> MultipartForm:
    """Return the form that a call sends; raise the 400 if its body is no form.

    Files stay in memory: the body is there already, and its size is limited.
    """
    kind, options = parse_options_header(call.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if kind != _FORM_TYPE or not boundary:
        raise WireError(400, "The body has to be multipart/form-data, with a boundary.")
    form = MultipartForm({}, {})

    def take_field(part: Field) -> None:
        form.fields[_text(part.field_name)] = _text(part.value)

    def take_file(part: PartOfForm) -> None:
        held = part.file_object
        assert isinstance(held, BytesIO)
        form.files[_text(part.field_name)] = FilePart(_text(part.file_name), held.getvalue())

    config = {"MAX_MEMORY_FILE_SIZE": len(call.body) + 1, "MAX_FIELDS": _MAX_FIELDS}
    try:
        parser = FormParser(kind.decode(), take_field, take_file, boundary=boundary, config=config)
        parser.write(call.body)
        parser.finalize()
    except FormParserError as error:
        raise WireError(400, f"The body is no form: {error}.") from None
    return form


def _text(data: bytes | None) -> str:
    return (data or b"").decode(errors="replace")


class File(msgspec.Struct, frozen=True):
    """A stored file. `ordinal` is the number of the creating request in its session."""

    id: str
    created: int
    ordinal: int
    name: str
    purpose: str
    data: bytes


_decode = msgspec.msgpack.Decoder(File).decode
_encode = msgspec.msgpack.Encoder().encode


def file_write(file: File) -> ArchiveWrite:
    """Return the write of a file."""
    return ArchiveWrite(file.id, _encode(file))


def find_file(name: str, archived: ArchivedValues) -> File | None:
    """Return the file of a name, an example too, or None."""
    data = archived.get(name)
    if data is not None:
        return _decode(data)
    return File(name, 0, 0, "example.jsonl", "batch", b"") if name in _EXAMPLES else None


def need_file(name: str, archived: ArchivedValues) -> File:
    """Return the file of a name; raise the 404 if it is missing."""
    file = find_file(name, archived)
    if file is None:
        raise WireError(404, f"No such File object: {name}", param="id", code="not_found")
    return file


def is_example(name: str) -> bool:
    """Return whether the name is that of an example, which is not stored."""
    return name in _EXAMPLES


def file_json(file: File) -> dict[str, Json]:
    """A file as its API tells of it."""
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


def lines_file(name: str, created: int, ordinal: int, lines: Iterable[msgspec.Raw]) -> File:
    """Return an output file of a batch, with one JSON value per line."""
    data = b"".join(bytes(line) + b"\n" for line in lines)
    return File(name, created, ordinal, f"{name}.jsonl", "batch_output", data)


class FileFields(msgspec.Struct, frozen=True):
    """A file to store, the name of one, or a page of all with a purpose; and the stored files, once
    loaded."""

    name: str = ""
    uploaded: FilePart | None = None
    purpose: str = ""
    page: ListPage | None = None
    files: tuple[File, ...] = ()

    @property
    def file(self) -> File:
        """The named file; raises the 404 if it is missing."""
        for file in self.files:
            return file
        raise WireError(404, f"No such File object: {self.name}", param="id", code="not_found")


def _read(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    return make_resource_request(call, endpoint, FileFields(params[_ID]), provider=PROVIDER)


def _read_list(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    own = FileFields(purpose=call.query.get("purpose", ""), page=read_page(call))
    return make_resource_request(call, endpoint, own, provider=PROVIDER)


def _read_new(call: Call, endpoint: Endpoint, params: Params, body: Node) -> CanonicalRequest:
    form = read_form(call)
    fields = Node(dict(form.fields))
    purpose = fields.need("purpose")
    if purpose.text() not in _PURPOSES:
        raise unsupported(purpose, ", ".join(map(repr, _PURPOSES)))
    if (uploaded := form.files.get("file")) is None:
        fields.need("file")
    own = FileFields(uploaded=uploaded, purpose=purpose.text())
    return make_resource_request(call, endpoint, own, provider=PROVIDER)


def _references(request: CanonicalRequest, archived: ArchivedValues) -> tuple[str, ...]:
    own: FileFields = request.own
    return (own.name,) if own.name else ()


def _resolve(request: CanonicalRequest, archived: ArchivedValues) -> CanonicalRequest:
    own: FileFields = request.own
    names: Iterable[str] = (own.name,) if own.name else archived
    files = tuple(file for name in names if (file := find_file(name, archived)) is not None)
    return replace(request, own=replace(own, files=files))


def _new(request: CanonicalRequest, context: ComputeContext) -> File:
    own: FileFields = request.own
    assert own.uploaded is not None
    name, data = own.uploaded.name or "upload", own.uploaded.data
    return File(
        f"{PREFIX}{context.request_id}", context.created, context.ordinal, name, own.purpose, data
    )


def _create(request: CanonicalRequest, context: ComputeContext) -> bytes:
    return encode_json(file_json(_new(request, context)))


def _store(request: CanonicalRequest, context: ComputeContext) -> tuple[ArchiveWrite, ...]:
    return (file_write(_new(request, context)),)


def _retrieve(request: CanonicalRequest, context: ComputeContext) -> bytes:
    own: FileFields = request.own
    return encode_json(file_json(own.file))


def _content(request: CanonicalRequest, context: ComputeContext) -> bytes:
    own: FileFields = request.own
    return own.file.data


def _list(request: CanonicalRequest, context: ComputeContext) -> bytes:
    own: FileFields = request.own
    assert own.page is not None
    wanted = [file for file in own.files if own.purpose in ("", file.purpose)]
    in_order = sorted(wanted, key=lambda file: file.ordinal)
    return encode_json(render_page([Node(file_json(file)) for file in in_order], own.page))


def _delete(request: CanonicalRequest, context: ComputeContext) -> bytes:
    own: FileFields = request.own
    return encode_json({"id": own.file.id, "object": "file", "deleted": True})


def _delete_file(request: CanonicalRequest, context: ComputeContext) -> tuple[ArchiveWrite, ...]:
    own: FileFields = request.own
    return () if is_example(own.name) else (ArchiveWrite(own.name, None),)


_NEW = ArchiveHooks(_references, _resolve, record_computed=_store)
_LOAD = ArchiveHooks(_references, _resolve)
_ALL = ArchiveHooks(_references, _resolve, prefix=PREFIX)
_LOAD_AND_DELETE = ArchiveHooks(_references, _resolve, record_computed=_delete_file)

# The first matching pattern wins, so the longer ones come first.
ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        "GET",
        f"{_ONE}/content",
        _read,
        compute=_content,
        archival=_LOAD,
        media_type="application/octet-stream",
    ),
    Endpoint("GET", _ONE, _read, compute=_retrieve, archival=_LOAD),
    Endpoint("DELETE", _ONE, _read, compute=_delete, archival=_LOAD_AND_DELETE),
    Endpoint("GET", PATH, _read_list, compute=_list, archival=_ALL),
    Endpoint("POST", PATH, _read_new, compute=_create, archival=_NEW, bodiless=True),
)
