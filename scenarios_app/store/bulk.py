"""Rows of scenarios written many at a time: each with its entry in the history, as saving them one
by one would give, at the cost of a few statements."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from django.db import connections, transaction
from django.utils import timezone

from scenarios_app.models import AnyScenario, AnyStep, CatalogVersion, Step, announce, new_key

T = TypeVar("T")

_PART = 500


def parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """As many at a time as one statement may name."""
    return (items[start : start + _PART] for start in range(0, len(items), _PART))


def remember(kind: str, rows: Sequence[AnyScenario] | Sequence[AnyStep], why: str = "") -> None:
    """Enter rows into the history as they are stored, before a deletion and after other changes.

    `kind` is `+`, `~` or `-`, `why` the reason that the entries give."""
    if not rows:
        return
    model: Any = type(rows[0])
    history = model.history.model
    connection = connections[history.objects.db]
    quote = connection.ops.quote_name
    entry = history(
        history_type=kind,
        history_date=timezone.now(),
        history_user=history.get_default_history_user(rows[0]),
        history_change_reason=why or None,
    )
    own = ("history_type", "history_date", "history_user", "history_change_reason")
    fields = [history._meta.get_field(name) for name in own]
    given = [f.get_db_prep_save(getattr(entry, f.attname), connection) for f in fields]
    copied = ", ".join(quote(field.column) for field in history.tracked_fields)
    named = ", ".join(quote(field.column) for field in fields)
    into = f"INSERT INTO {quote(history._meta.db_table)} ({copied}, {named})"
    out_of = f"SELECT {copied}, %s, %s, %s, %s FROM {quote(model._meta.db_table)}"
    with connection.cursor() as cursor:
        for part in parts([row.pk for row in rows]):
            listed = ", ".join(["%s"] * len(part))
            where = f'WHERE "id" IN ({listed}) ORDER BY "id"'
            cursor.execute(f"{into} {out_of} {where}", [*given, *part])


@transaction.atomic
def save_steps(
    *,
    new: Sequence[AnyStep] = (),
    changed: Sequence[AnyStep] = (),
    columns: Collection[str] = (),
    gone: Sequence[AnyStep] = (),
    why: str = "",
) -> None:
    """Store steps of one kind: new ones, `columns` of changed ones, and the end of others."""
    model = next((type(step) for step in (*new, *changed, *gone)), None)
    if model is None:
        return
    rows: Any = model._default_manager
    if model is Step:
        CatalogVersion.bump(rows.db)
    remember("-", gone, why)
    for part in parts([step.pk for step in gone]):
        rows.filter(pk__in=part).discard()
    _write(changed, columns)
    remember("~", changed, why)
    rows.bulk_create(new)
    remember("+", new, why)
    if model is Step:
        announce({step.scenario_id for step in changed}, rows.db)


def _write(steps: Sequence[AnyStep], columns: Iterable[str]) -> None:
    """Columns of rows that are there; `bulk_update` would spell out each row in SQL."""
    if not steps:
        return
    model: Any = type(steps[0])
    fields = [model._meta.get_field(name) for name in columns]
    if model is Step:
        fields.append(model._meta.get_field("version"))
    for step in steps:
        if isinstance(step, Step):
            step.version = new_key()
    connection = connections[model._default_manager.db]
    quote = connection.ops.quote_name
    set_to = ", ".join(f"{quote(field.column)} = %s" for field in fields)
    with connection.cursor() as cursor:
        cursor.executemany(
            f'UPDATE {quote(model._meta.db_table)} SET {set_to} WHERE "id" = %s',
            [
                [*(f.get_db_prep_save(getattr(s, f.attname), connection) for f in fields), s.pk]
                for s in steps
            ],
        )
