"""The journal's table: rows go into it many at a time, and the oldest leave it."""

import json
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, cast

from django.db import connection, transaction
from django.db.models import Count, F, Field, Max, QuerySet

from scenarios_app.journal.entry import Row
from scenarios_app.models import PastAnswers, ServedRequest

_encode = json.JSONEncoder(allow_nan=False).encode


def insert(rows: Sequence[Row]) -> None:
    """Write rows, all or none, in one statement of the database's own: models in between take
    many times as long as the database does."""
    name = connection.ops.quote_name
    columns = ", ".join(map(name, Row._fields))
    places = ", ".join(["%s"] * len(Row._fields))
    table = name(ServedRequest._meta.db_table)
    adapted = _adapted(rows)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", adapted)


def trim(most: int) -> None:
    """Delete the oldest rows but for so many. How often steps answered in them stays."""
    last = ServedRequest.objects.aggregate(last=Max("pk"))["last"]
    if last is None:
        return
    old = ServedRequest.objects.filter(pk__lte=last - most)
    with transaction.atomic():
        _keep_answers(old)
        old.delete()


def _keep_answers(old: QuerySet[ServedRequest]) -> None:
    answered = old.exclude(scenario="").exclude(step_key="").order_by()
    counted = answered.values_list("scenario", "step_key").annotate(Count("pk"), Max("at"))
    for scenario, key, count, at in counted:
        step = PastAnswers.objects.filter(scenario=scenario, step_key=key)
        if not step.update(count=F("count") + count, last=at):
            PastAnswers.objects.create(scenario=scenario, step_key=key, count=count, last=at)


def _adapted(rows: Iterable[Row]) -> list[list[Any]]:
    """Rows as this database takes them."""
    changed = [
        (place, adapt) for place, name in enumerate(Row._fields) if (adapt := _adapter(name))
    ]
    adapted = []
    for row in rows:
        values: list[Any] = list(row)
        for place, adapt in changed:
            values[place] = adapt(values[place])
        adapted.append(values)
    return adapted


def _adapter(column: str) -> Callable[[Any], Any] | None:
    """What makes a value of a column one of the database; None where it is one already."""
    field = cast("Field[Any, Any]", ServedRequest._meta.get_field(column))
    match type(field).__name__:
        case "JsonField":
            return _json
        case "UUIDField":
            return None if connection.features.has_native_uuid_field else attrgetter("hex")
        case "DateTimeField":
            return cast("Callable[[Any], Any]", connection.ops.adapt_datetimefield_value)
        case _:
            return None


def _json(value: Any) -> str:
    # Most of them are empty.
    return _encode(value) if value else "{}" if isinstance(value, dict) else "[]"
