"""The journal's table: rows go into it many at a time, and the oldest leave it."""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final
from uuid import UUID

import msgspec
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from mockllm_site.kit import rows
from scenarios_app.engine.journal_entry import COLUMNS, CleanEntry
from scenarios_app.journal.bodies import BodyPacker
from scenarios_app.models import BodyBlock, PastAnswers, ServedRequest

_ROWS: Final = ServedRequest._meta.db_table
_BLOCKS: Final = BodyBlock._meta.db_table
_PAST: Final = PastAnswers._meta.db_table
_LAST: Final = f"SELECT MAX(id) FROM {_ROWS}"
# One statement for all steps. The order avoids reading the whole index in SQLite, and deadlocks
# between two processes.
_KEEP_ANSWERS: Final = f"""
    INSERT INTO {_PAST} (scenario, step_key, count, last)
    SELECT scenario, step_key, COUNT(*), MAX(at) FROM {_ROWS}
    WHERE id <= %s AND scenario <> '' AND step_key <> ''
    GROUP BY step_key, scenario ORDER BY step_key, scenario
    ON CONFLICT (scenario, step_key)
    DO UPDATE SET count = {_PAST}.count + EXCLUDED.count, last = EXCLUDED.last
"""
_DELETE: Final = f"DELETE FROM {_ROWS} WHERE id <= %s"
# Waits for blocks that are being stored, and prevents new ones meanwhile.
_LOCK_BLOCKS: Final = f"LOCK TABLE {_BLOCKS} IN EXCLUSIVE MODE"
_BLOCK_SIZES: Final = f"SELECT id, LENGTH(data) FROM {_BLOCKS}"
_PARTS: Final = f"SELECT id, parts FROM {_ROWS} WHERE parts IS NOT NULL ORDER BY id DESC"
_DELETE_BLOCK: Final = f"DELETE FROM {_BLOCKS} WHERE id = %s"
_values_of: Final = attrgetter(*COLUMNS.values())
_encode = msgspec.json.Encoder().encode
_packer: Final = BodyPacker()


def insert(new_rows: Sequence[CleanEntry]) -> int:
    """Write rows, all or none, and return the bytes of their new blocks. Rows that an unconfirmed
    commit left are replaced."""
    try:
        size = _insert(new_rows)
        if size is None:
            _packer.forget()
            size = _insert(new_rows)
    except BaseException:
        _packer.forget()
        raise
    return size or 0


def _insert(new_rows: Sequence[CleanEntry]) -> int | None:
    """Write rows with their blocks and return the bytes of these; write nothing and return None if
    an older block is gone."""
    packed, blocks, ids = _packer.pack(new_rows)
    if not ids:
        _insert_rows(new_rows)
        return 0
    with transaction.atomic():
        older = ids - blocks.keys()
        stored = BodyBlock.objects.select_for_update(no_key=True).filter(pk__in=older)
        if len(stored.values_list("pk")) < len(older):
            return None
        rows.insert(BodyBlock, ("id", "data"), blocks.items())
        _insert_rows(packed)
    return sum(map(len, blocks.values()))


def _insert_rows(entries: Sequence[CleanEntry]) -> None:
    """Write entries whose long bodies are in blocks."""
    values = map(row_values, entries)
    rows.insert(ServedRequest, tuple(COLUMNS), values, unique=("uid",), json=_json)


def row_values(entry: CleanEntry) -> tuple[Any, ...]:
    """Return the values of an entry's row, in the order of COLUMNS."""
    uid, at, *others = _values_of(entry)
    return UUID(uid), datetime.fromtimestamp(at, UTC), *others


def trim(max_rows: int) -> None:
    """Delete all but the newest rows; the counts of answered steps stay."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_LAST)
        last = cursor.fetchone()[0]
        if last is not None:
            cursor.execute(_KEEP_ANSWERS, [last - max_rows])
            cursor.execute(_DELETE, [last - max_rows])


def trim_bytes(max_bytes: int) -> None:
    """Delete blocks without rows, and the oldest rows if the blocks of all take more bytes."""
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_LOCK_BLOCKS)
        cursor.execute(_BLOCK_SIZES)
        sizes: dict[int, int] = dict(cursor.fetchall())
        cursor.execute(_PARTS)
        in_use, bytes_in_use = set[int](), 0
        for row, parts in cursor.fetchall():
            blocks = {block for places in json.loads(parts).values() for block, _, _ in places}
            bytes_in_use += sum(sizes.get(block, 0) for block in blocks - in_use)
            if bytes_in_use > max_bytes:
                cursor.execute(_KEEP_ANSWERS, [row])
                cursor.execute(_DELETE, [row])
                break
            in_use |= blocks
        if unused := sizes.keys() - in_use:
            cursor.executemany(_DELETE_BLOCK, [(block,) for block in sorted(unused)])


def _json(value: Any, here: BaseDatabaseWrapper) -> str | None:
    """Return JSON as the field writes it, None for None; msgspec encodes flat objects faster."""
    if value is None:
        return None
    if value and isinstance(value, dict):
        # JSON can contain lone surrogates, which UTF-8 cannot encode.
        with suppress(UnicodeEncodeError):
            return _encode(value).decode()
    return rows.json_text(value, here)
