"""Replaces long bodies of rows by parts of blocks, so that text that comes again is stored once.

A request is split at the beginnings of its JSON objects: if a conversation grows in the middle of
it, all other pieces stay equal. The new pieces of one request become one block. Responses are not
split, since all of their events have new ids: several share a block.
"""

import os
import time
import zlib
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from threading import local
from typing import Final

from msgspec.structs import replace

from mockllm_site.kit.bounded_dict import BoundedDict
from scenarios_app.engine.journal_entry import CleanEntry, Part
from scenarios_app.models.bodies import compress

# Writing a shorter body takes less time than compressing it.
MAX_TEXT_CHARS: Final = 8_192
# Each known piece takes about 250 bytes of memory.
MAX_PIECES: Final = 65_536
# Maximum text of responses in a block, all of which is unpacked to read one.
RESPONSES_BYTES: Final = 131_072
# Longer pieces are stored alone. Of the others, one in 16 (by checksum) ends a series.
LONG_PIECE_BYTES: Final = 1_024
_ENDS_MASK: Final = 15


class BodyPacker(local):
    """Packs the rows of one thread; remembers the latest pieces that it has packed."""

    def __init__(self) -> None:
        self._places = BoundedDict[bytes, Part](MAX_PIECES)

    def forget(self) -> None:
        """Forget all pieces, because the last packed rows were not stored or were deleted."""
        self._places.clear()

    def pack(
        self, rows: Sequence[CleanEntry]
    ) -> tuple[Sequence[CleanEntry], dict[int, bytes], set[int]]:
        """Return the rows without long bodies, the blocks to store with them, and the ids of all
        blocks that they refer to."""
        blocks: dict[int, bytes] = {}
        ids: set[int] = set()
        packed, responses = list(rows), _Block()
        for at, row in enumerate(rows):
            parts: dict[str, Sequence[Part]] = {}
            if len(row.request_body) > MAX_TEXT_CHARS:
                parts["request"] = self._place_request(row.request_body.encode(), blocks)
                row = replace(row, request_body="")
            if len(row.response_body) > MAX_TEXT_CHARS:
                if responses.size >= RESPONSES_BYTES:
                    responses.store(blocks)
                    responses = _Block()
                parts["response"] = [responses.add(row.response_body.encode())]
                row = replace(row, response_body="")
            if parts:
                packed[at] = replace(row, parts=parts)
                ids.update(block for places in parts.values() for block, _, _ in places)
        responses.store(blocks)
        return packed, blocks, ids

    def _place_request(self, body: bytes, blocks: dict[int, bytes]) -> list[Part]:
        """Return the parts of a request, after adding the block of its new pieces."""
        places, parts, new = self._places, list[Part](), _Block()
        block = end = -1
        for piece in split(body):
            digest = blake2b(piece, digest_size=16).digest()
            place = places.get(digest)
            if place is None:
                places[digest] = place = new.add(piece)
            else:
                places.move_to_end(digest)
            if place[0] == block and place[1] == end:
                parts[-1] = block, parts[-1][1], parts[-1][2] + place[2]
            else:
                parts.append(place)
            block, end = place[0], place[1] + place[2]
        new.store(blocks)
        return parts


class _Block:
    """A block that is not compressed yet."""

    def __init__(self) -> None:
        self.id, self.size, self.texts = new_block_id(), 0, list[bytes]()

    def add(self, text: bytes) -> Part:
        """Add a text; return its place in the block."""
        part = self.id, self.size, len(text)
        self.texts.append(text)
        self.size += len(text)
        return part

    def store(self, blocks: dict[int, bytes]) -> None:
        """Add the compressed block to `blocks`."""
        if self.texts:
            blocks[self.id] = compress(b"".join(self.texts))


def split(body: bytes) -> Iterator[bytes]:
    """Yield the pieces of a request's body: long ones each, and short ones joined."""
    start = end = 0
    for text in body.split(b'{"'):
        size = len(text) + 2
        if size > LONG_PIECE_BYTES and end > start:
            yield body[start:end]
            start = end
        end += size
        if size > LONG_PIECE_BYTES or not zlib.crc32(text) & _ENDS_MASK:
            yield body[start:end]
            start = end
    if start < len(body):
        yield body[start:]


def new_block_id() -> int:
    """Return milliseconds since 1970, then 21 random bits. Rows with an id that exists are refused,
    and written again one by one."""
    return (time.time_ns() // 1_000_000 << 21) | int.from_bytes(os.urandom(3)) >> 3
