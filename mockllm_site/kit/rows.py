"""Reads and writes rows with one SQL statement, many times faster than through the ORM."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from json import JSONEncoder
from typing import Any, TypeAlias, TypeVar, cast
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import DateTimeField, Field, ForeignKey, Model, UUIDField

from mockllm_site.kit.fields import JsonField

Adapt: TypeAlias = Callable[[Any, BaseDatabaseWrapper], Any]
M = TypeVar("M", bound=Model)

_encode = JSONEncoder(allow_nan=False).encode


def insert(
    model: type[Model],
    columns: tuple[str, ...],
    rows: Iterable[Sequence[Any]],
    *,
    unique: tuple[str, ...] = (),
    json: Adapt | None = None,
) -> None:
    """Insert rows into a model's table, all or none; `columns` are attribute names. A row updates
    an existing one with equal `unique` columns. `json` encodes JSON columns."""
    name = connection.ops.quote_name
    names, adapters = _columns(model, columns, json or json_text)
    places = ", ".join(["%s"] * len(names))
    into = f"{name(model._meta.db_table)} ({', '.join(map(name, names))}) VALUES ({places})"
    if unique:
        keys, _ = _columns(model, unique)
        changed = (
            f"{name(column)} = EXCLUDED.{name(column)}" for column in names if column not in keys
        )
        into += f" ON CONFLICT ({', '.join(map(name, keys))}) DO UPDATE SET {', '.join(changed)}"
    db = _connection()
    adapted = [_adapt_row(row, adapters, db) for row in rows]
    with transaction.atomic(savepoint=False), connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {into}", adapted)


def update(model: type[Model], where: Mapping[str, Any], values: Mapping[str, Any]) -> int:
    """Set `values` in the rows whose columns equal `where`, and return the number of rows."""
    name = connection.ops.quote_name
    columns, new_values = _equalities(model, values)
    conditions, arguments = _equalities(model, where)
    to = f"{name(model._meta.db_table)} SET {', '.join(columns)}"
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {to} WHERE {' AND '.join(conditions)}", [*new_values, *arguments])
        return cursor.rowcount


def maximum(model: type[Model], column: str, where: Mapping[str, Any]) -> int | None:
    """Return the maximum of a column in rows whose columns equal `where`; None without rows."""
    name = connection.ops.quote_name
    conditions, arguments = _equalities(model, where)
    of = f"MAX({name(column)}) FROM {name(model._meta.db_table)}"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {of} WHERE {' AND '.join(conditions)}", arguments)
        return cast("int | None", cursor.fetchone()[0])


def find(model: type[M], where: Mapping[str, Any]) -> M | None:
    """Return one row whose columns equal `where`, as a model instance; None if there is none."""
    db, columns = _connection(), _all_columns(model)
    name, (names, _) = db.ops.quote_name, _columns(model, columns)
    conditions, arguments = _equalities(model, where)
    of = f"{', '.join(map(name, names))} FROM {name(model._meta.db_table)}"
    with db.cursor() as cursor:
        cursor.execute(f"SELECT {of} WHERE {' AND '.join(conditions)} LIMIT 1", arguments)
        row = cursor.fetchone()
    if row is None:
        return None
    values = list(row)
    for place, field in enumerate(model._meta.concrete_fields):
        column = field.get_col(model._meta.db_table)
        for convert in (*db.ops.get_db_converters(column), *column.get_db_converters(db)):
            values[place] = convert(values[place], column, db)
    return model.from_db(db.alias, columns, values)


def add(row: Model) -> None:
    """Insert a model instance, whose primary key must be set; no signals are sent."""
    columns = _all_columns(type(row))
    insert(type(row), columns, [[getattr(row, column) for column in columns]])
    row._state.adding, row._state.db = False, connection.alias


def _equalities(model: type[Model], values: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
    """Return `column = %s` conditions and their adapted values."""
    names, adapters = _columns(model, tuple(values))
    columns = [f"{connection.ops.quote_name(name)} = %s" for name in names]
    return columns, _adapt_row(tuple(values.values()), adapters, _connection())


@cache
def _all_columns(model: type[Model]) -> tuple[str, ...]:
    return tuple(field.attname for field in model._meta.concrete_fields)


def json_text(value: Any, db: BaseDatabaseWrapper) -> str:
    """Return the JSON of a dict or list, `[]` for None; an encoder is slower for empty values."""
    return _encode(value) if value else "{}" if isinstance(value, dict) else "[]"


@cache
def _columns(
    model: type[Model], columns: tuple[str, ...], json: Adapt = json_text
) -> tuple[tuple[str, ...], tuple[tuple[int, Adapt], ...]]:
    """Return the column names, and the positions and adapters of values that need one."""
    fields = tuple(cast("Field[Any, Any]", model._meta.get_field(column)) for column in columns)
    adapters = [
        (place, adapt) for place, field in enumerate(fields) if (adapt := _adapter(field, json))
    ]
    return tuple(str(field.column) for field in fields), tuple(adapters)


def _adapter(field: "Field[Any, Any]", json: Adapt) -> Adapt | None:
    """Return the function that adapts values of this field for the database, or None."""
    match field:
        case ForeignKey():
            return _adapter(field.target_field, json)
        case JsonField():
            return json
        case UUIDField():
            return _adapt_uuid
        case DateTimeField():
            return _adapt_datetime
        case _:
            return None


def _connection() -> BaseDatabaseWrapper:
    """Return this thread's connection itself: Django's proxy looks it up at each use."""
    return connections[DEFAULT_DB_ALIAS]


def _adapt_row(
    row: Sequence[Any], adapters: Iterable[tuple[int, Adapt]], db: BaseDatabaseWrapper
) -> list[Any]:
    """Return the values of a row as this database takes them."""
    values = list(row)
    for place, adapt in adapters:
        values[place] = adapt(values[place], db)
    return values


def _adapt_uuid(value: UUID | None, db: BaseDatabaseWrapper) -> UUID | str | None:
    if value is None or db.features.has_native_uuid_field:
        return value
    return value.hex


def _adapt_datetime(value: datetime | None, db: BaseDatabaseWrapper) -> Any:
    """Return a time as the database's driver takes it."""
    if db.vendor == "sqlite" and value is not None and value.tzinfo is db.timezone:
        # What SQLite's backend returns, without its lookups of settings and zones.
        return str(value.replace(tzinfo=None))
    return db.ops.adapt_datetimefield_value(value)
