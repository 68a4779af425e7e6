"""Bodies are replaced by parts of blocks; no database is needed."""

import zlib
from typing import Any
from uuid import uuid4

import pytest

from scenarios_app.engine.journal_entry import CleanEntry, clean_entry
from scenarios_app.journal.bodies import (
    MAX_TEXT_CHARS,
    RESPONSES_BYTES,
    BodyPacker,
    new_block_id,
    split,
)
from scenarios_app.models import bodies
from tests.state.entries import entry
from tests.support.agent_traffic import agent_turns


def make_row(request: bytes = b"", response: bytes = b"") -> CleanEntry:
    return clean_entry(
        entry(request_body=request, response_body=(response,)), body_bytes=10_000_000
    )


def unpack_body(packed: CleanEntry, blocks: dict[int, bytes], kind: str = "request") -> bytes:
    texts = {block: bodies.decompress(data) for block, data in blocks.items()}
    assert packed.parts is not None
    return b"".join(texts[block][at : at + size] for block, at, size in packed.parts[kind])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"x" * 3_000,
        b'{"a": 1}',
        b'{"' * 1_000,
        b'{"a": "' + b"x" * 3_000 + b'"}, {"b": 1}{"',
        *agent_turns(turns=2),
    ],
    ids=range(7),
)
def test_pieces_together_are_the_body(body: bytes) -> None:
    assert b"".join(split(body)) == body


def test_growth_in_the_middle_leaves_most_pieces_equal() -> None:
    first, second = (set(split(body)) for body in agent_turns(turns=2))
    assert len(first - second) <= 2
    assert sum(map(len, second - first)) < 5_000


def test_turns_of_an_agent_store_only_new_pieces() -> None:
    packer, turns, stored_blocks = BodyPacker(), list(agent_turns()), dict[int, bytes]()
    new_sizes = []
    for body in turns:
        (packed_row,), blocks, ids = packer.pack([make_row(body)])
        stored_blocks |= blocks
        new_sizes.append(sum(map(len, blocks.values())))
        assert packed_row.request_body == ""
        assert unpack_body(packed_row, stored_blocks).decode() == body.decode()
        assert ids <= stored_blocks.keys()
    assert 80_000 < len(turns[0]) < len(turns[-1]) < 130_000
    assert max(new_sizes[1:]) < 3_000
    assert sum(new_sizes) < sum(map(len, turns)) / 20


def test_sessions_share_tools_and_instructions() -> None:
    packer = BodyPacker()
    _, first, _ = packer.pack([make_row(next(agent_turns(1)))])
    _, second, _ = packer.pack([make_row(next(agent_turns(2)))])
    (first_size,), (second_size,) = (map(len, blocks.values()) for blocks in (first, second))
    assert second_size < first_size / 10


def test_rows_of_one_batch_share_blocks() -> None:
    packed_rows, blocks, ids = BodyPacker().pack([make_row(body) for body in agent_turns(turns=3)])
    assert len(blocks) == 3
    assert ids == blocks.keys()
    unpacked_bodies = [unpack_body(packed_row, blocks) for packed_row in packed_rows]
    assert unpacked_bodies == list(agent_turns(turns=3))


def test_short_bodies_stay_in_their_row() -> None:
    rows = [make_row(b"x" * MAX_TEXT_CHARS, b"y" * MAX_TEXT_CHARS)]
    packed, blocks, ids = BodyPacker().pack(rows)
    assert (list(packed), blocks, ids) == (rows, {}, set())


def test_long_response_is_a_part_of_one_block() -> None:
    stream = b"".join(b'data: {"id": "%d"}\n\n' % number for number in range(5_000))
    (packed,), blocks, _ = BodyPacker().pack([make_row(b"{}", stream)])
    assert len(blocks) == 1
    assert (packed.request_body, packed.response_body) == ("{}", "")
    assert unpack_body(packed, blocks, "response") == stream


def test_responses_of_one_batch_share_blocks_of_limited_size() -> None:
    responses = [b"%d " % number * 10_000 for number in range(20)]
    packed_rows, blocks, ids = BodyPacker().pack(
        [make_row(b"{}", response) for response in responses]
    )
    assert [unpack_body(packed_row, blocks, "response") for packed_row in packed_rows] == responses
    assert ids == blocks.keys()
    sizes = [len(bodies.decompress(data)) for data in blocks.values()]
    assert sum(sizes) == sum(map(len, responses))
    assert 2 < len(blocks) < len(responses)
    assert max(sizes) < RESPONSES_BYTES + len(responses[-1])


def test_packer_that_forgets_stores_everything_again() -> None:
    packer, body = BodyPacker(), next(agent_turns())
    packer.pack([make_row(body)])
    packer.forget()
    (packed,), blocks, ids = packer.pack([make_row(body)])
    assert ids == blocks.keys()
    assert unpack_body(packed, blocks) == body


def test_packer_of_another_thread_knows_no_pieces() -> None:
    from concurrent.futures import ThreadPoolExecutor

    packer, rows = BodyPacker(), [make_row(next(agent_turns()))]
    packer.pack(rows)
    with ThreadPoolExecutor(1) as pool:
        _, blocks, ids = pool.submit(packer.pack, rows).result()
    assert ids == blocks.keys() != set()


def test_ids_of_blocks_differ_and_fit_a_column() -> None:
    ids = {new_block_id() for _ in range(20)}
    assert len(ids) == 20
    assert 0 < min(ids) <= max(ids) < 2**63


def test_text_is_compressed_by_zlib_without_zstd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "zstd", None)
    data = bodies.compress(b"text " * 1_000)
    assert zlib.decompress(data) == bodies.decompress(data) == b"text " * 1_000


class FakeZstd:
    """The two functions of the standard library's module that the product uses."""

    MAGIC = b"\x28\xb5\x2f\xfd"

    @classmethod
    def compress(cls, data: bytes, level: int) -> bytes:
        return cls.MAGIC + zlib.compress(data, level)

    @classmethod
    def decompress(cls, data: bytes) -> bytes:
        return zlib.decompress(data.removeprefix(cls.MAGIC))


@pytest.fixture(params=["installed", "same functions"])
def zstd(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the zstd module, or a fake with the same functions."""
    if request.param == "installed" and bodies.zstd is None:
        pytest.skip("neither Python 3.14 nor backports.zstd")
    if request.param != "installed":
        monkeypatch.setattr(bodies, "zstd", FakeZstd)
    return bodies.zstd


def test_text_is_compressed_by_zstd_if_installed(zstd: Any) -> None:
    data = bodies.compress(b"text " * 1_000)
    assert data.startswith(FakeZstd.MAGIC)
    assert bodies.decompress(data) == b"text " * 1_000


def test_zlib_blocks_are_readable_beside_zstd(zstd: Any) -> None:
    assert bodies.decompress(zlib.compress(b"before")) == b"before"


def test_zstd_block_without_zstd_is_an_error_with_the_package_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = FakeZstd.compress(str(uuid4()).encode(), 1)
    monkeypatch.setattr(bodies, "zstd", None)
    with pytest.raises(RuntimeError, match=r"install mockllm\[zstd\]"):
        bodies.decompress(data)
