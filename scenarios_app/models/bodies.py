"""Long bodies of the journal, in compressed blocks that rows share.

A body is a list of parts: the id of a block, and the start and size of a piece of its bytes.
"""

import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db import models

from mockllm_site.kit.bounded_dict import BoundedDict
from scenarios_app.engine.journal_entry import Part

zstd: Any
try:
    from compression import zstd  # type: ignore
except ImportError:
    try:
        from backports import zstd
    except ImportError:
        zstd = None

MAX_CACHED_BLOCK_BYTES: Final = 262_144
_FAST: Final = 1
_ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
# The turns of a conversation share most of their blocks.
_cache: Final = BoundedDict[int, bytes](128)


class BodyBlock(models.Model):
    """Compressed text. Blocks never change, and are deleted after the last row that needs them."""

    id = models.BigIntegerField(primary_key=True)
    data = models.BinaryField()

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.id)


def compress(text: bytes) -> bytes:
    """Return a text in the format of zstd if it is installed, else in that of zlib."""
    return bytes(zstd.compress(text, _FAST)) if zstd else zlib.compress(text, _FAST)


def decompress(data: bytes) -> bytes:
    """Return the text of a block; raises RuntimeError if zstd is missing for it."""
    if not data.startswith(_ZSTD_MAGIC):
        return zlib.decompress(data)
    if zstd is None:
        raise RuntimeError("A body in the journal is compressed by zstd: install mockllm[zstd].")
    return bytes(zstd.decompress(data))


def read_body(text: str, parts: Mapping[str, Sequence[Part]] | None, of: str) -> str:
    """Return the body `of` a row ("request" or "response"): its text, or that of its parts. If the
    row is deleted meanwhile, text of its blocks may be missing. Raises RuntimeError without a
    needed zstd."""
    places = parts.get(of) if parts else None
    if not places:
        return text
    ids = {block for block, _, _ in places}
    blocks = {block: data for block in ids if (data := _cache.get(block)) is not None}
    if missing := ids - blocks.keys():
        for row in BodyBlock.objects.filter(pk__in=missing):
            blocks[row.pk] = data = decompress(bytes(row.data))
            if len(data) <= MAX_CACHED_BLOCK_BYTES:
                _cache[row.pk] = data
    pieces = (blocks.get(block, b"")[start : start + size] for block, start, size in places)
    return b"".join(pieces).decode()
