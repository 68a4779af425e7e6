"""Stored answers contain no API key of their request."""

import pytest

from scenarios_app.engine.memory import MemoryState
from scenarios_app.serving.archive import store
from scenarios_app.wire.base import ArchiveWrite
from scenarios_app.wire.openai.files import File, decode_file, file_write

SECRET = "sk-proj-0123456789abcdef"
DATA = b"\x00\xff one\r\n" + SECRET.encode() + b"\ntwo"


async def archived_data(write: ArchiveWrite, *secrets: str) -> bytes:
    state = MemoryState()
    await store([write], "s", archive=state, secrets=secrets)
    data = await state.recall_response("s", write.name)
    assert data is not None
    return data


@pytest.mark.parametrize("secrets", [(), ("sk-another-0123456789",)])
async def test_uploaded_file_without_the_key_is_stored_unchanged(
    secrets: tuple[str, ...],
) -> None:
    file = File("file-1", 7, 1, "in.jsonl", "batch", DATA)
    assert decode_file(await archived_data(file_write(file), *secrets)) == file


async def test_key_in_an_uploaded_file_is_masked_and_other_bytes_stay() -> None:
    file = File("file-1", 7, 1, f"{SECRET}.jsonl", "batch", DATA)
    file_read = decode_file(await archived_data(file_write(file), SECRET))
    assert SECRET.encode() not in file_read.data and SECRET not in file_read.name
    assert file_read.data.startswith(b"\x00\xff one\r\n") and file_read.data.endswith(b"cdef\ntwo")


async def test_key_in_a_stored_response_is_masked() -> None:
    data = await archived_data(ArchiveWrite("resp_1", f'"a {SECRET} b"'.encode()), SECRET)
    assert SECRET.encode() not in data
