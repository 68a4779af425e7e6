"""One of OpenAI's files: what is stored of it, and how its API tells of it."""

from collections.abc import Iterable

import msgspec

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.base import Found, Stored
from scenarios_app.wire.errors import WireError

PREFIX = "file-"
# The files that every session has, under the ids that OpenAI's API description gives as examples:
# what is generated from it, the SDKs' own tests among it, finds something there.
_EXAMPLES = ("file_id", "input_file_id")


class File(msgspec.Struct, frozen=True):
    """What is stored of a file. `ordinal` is the number of the request that made it."""

    id: str
    created: int
    ordinal: int
    name: str
    purpose: str
    data: bytes


_decode = msgspec.msgpack.Decoder(File).decode
_encode = msgspec.msgpack.Encoder().encode


def stored_file(file: File) -> Stored:
    """A file as a session stores it."""
    return Stored(file.id, _encode(file))


def file_of(name: str, found: Found) -> File | None:
    """The file of a name, an example too."""
    data = found.get(name)
    if data is not None:
        return _decode(data)
    return File(name, 0, 0, "example.jsonl", "batch", b"") if name in _EXAMPLES else None


def need_file(name: str, found: Found) -> File:
    """The file of a name; raises the 404 where there is none."""
    file = file_of(name, found)
    if file is None:
        raise WireError(404, f"No such File object: {name}", param="id", code="not_found")
    return file


def is_example(name: str) -> bool:
    """Whether nothing is stored of what has this name."""
    return name in _EXAMPLES


def told_of_file(file: File) -> dict[str, Json]:
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
    """A file that a batch came to, of one JSON value a line."""
    data = b"".join(bytes(line) + b"\n" for line in lines)
    return File(name, created, ordinal, f"{name}.jsonl", "batch_output", data)
