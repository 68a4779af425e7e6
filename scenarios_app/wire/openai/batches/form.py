"""Reads a form with a file in it, as `multipart/form-data` has it."""

from io import BytesIO

import msgspec
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, FormParser, parse_options_header

from scenarios_app.wire.base import Call
from scenarios_app.wire.errors import WireError

_KIND = b"multipart/form-data"
_MOST_FIELDS = 100


class FilePart(msgspec.Struct, frozen=True):
    """A file that was uploaded."""

    name: str
    data: bytes


class Form(msgspec.Struct, frozen=True):
    """The fields of a form, and its files, by their names. Of those alike the last one counts."""

    fields: dict[str, str]
    files: dict[str, FilePart]


def read_form(call: Call) -> Form:
    """The form that a call sends; raises the 400 where it sends none. All of it stays in memory:
    the body of a call is there, and no larger than bodies may be."""
    kind, options = parse_options_header(call.headers.get("content-type", ""))
    boundary = options.get(b"boundary")
    if kind != _KIND or not boundary:
        raise WireError(400, "The body has to be multipart/form-data, with a boundary.")
    form = Form({}, {})

    def take_field(part: Field) -> None:
        form.fields[_text(part.field_name)] = _text(part.value)

    def take_file(part: File) -> None:
        held = part.file_object
        assert isinstance(held, BytesIO)
        form.files[_text(part.field_name)] = FilePart(_text(part.file_name), held.getvalue())

    config = {"MAX_MEMORY_FILE_SIZE": len(call.body) + 1, "MAX_FIELDS": _MOST_FIELDS}
    try:
        parser = FormParser(kind.decode(), take_field, take_file, boundary=boundary, config=config)
        parser.write(call.body)
        parser.finalize()
    except FormParserError as error:
        raise WireError(400, f"The body is no form: {error}.") from None
    return form


def _text(data: bytes | None) -> str:
    return (data or b"").decode(errors="replace")
