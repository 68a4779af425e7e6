"""Upgrades a database of version 0.1: columns become documents, and history records revisions.

`migrate` calls it. It goes with the version after this one, together with `former_columns`.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from django.apps import apps as installed
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from scenarios_app.models import new_key
from scenarios_app.store.former_columns import scenario_document, step_document

Row: TypeAlias = dict[str, Any]

# The migrations of version 0.1.
FORMER: Final[Mapping[str, frozenset[str]]] = {
    "scenarios_app": frozenset({
        *("0001_initial", "0002_final_report", "0003_drafts", "0004_fault_kinds"),
        *("0005_step_versions", "0006_asked_and_answered", "0007_recorded_steps"),
        *("0008_trial_conversations", "0009_sessions_and_past_answers", "0010_presence"),
        *("0011_processes", "0012_draft_permissions", "0013_first_versions"),
        *("0014_installation_unclean_end_at", "0015_permission_to_set_up_recording"),
        *("0016_plain_labels", "0017_long_bodies", "0018_scripted_user", "0019_siblings"),
        "0020_fault_results",
    }),
    "chat_app": frozenset({
        *("0001_initial", "0002_initial", "0003_archive_and_exclusion"),
        *("0004_editors_write_notes", "0005_plain_help_texts", "0006_edited_records"),
    }),
    "traces_app": frozenset({
        *("0001_initial", "0002_note_and_tags", "0003_answered_by", "0004_tokens_estimated"),
        "0005_edited_records",
    }),
}  # fmt: skip
# The migrations that make the tables that an upgraded database has.
FIRST: Final = (
    ("scenarios_app", "0001_documents"),
    ("chat_app", "0002_traces"),
    ("traces_app", "0001_traces"),
)
# Models of scenarios and drafts, each with that of its steps.
KINDS: Final = (("Scenario", "Step"), ("Draft", "DraftStep"))
# In an order in which they can be deleted.
FORMER_TABLES: Final = ("draftstep", "draft", "step", "scenario")
JSON_COLUMNS: Final = {
    *("tags", "variables", "system_prompt_must_include", "user", "extra", "base"),
    *("match_tools", "match_recorded", "match_extra", "expect_tools", "failures_extra"),
    *("answer_tool_calls", "answer_recorded", "answer_extra", "fault_extra"),
    *("response_headers", "echo_headers", "asserts"),
}
# Records by one person within this time were one save.
_SAVE_GAP: Final = timedelta(seconds=1)
_TICK: Final = timedelta(milliseconds=1)
FIRST_REASON: Final = "first known version"
_BATCH_ROWS: Final = 200


class UnknownDatabaseError(Exception):
    """The database is of a version that cannot be upgraded; the message says why, in one line."""


def upgrade(connection: BaseDatabaseWrapper) -> bool:
    """Upgrade a database of version 0.1, and return whether it was one. Raises
    UnknownDatabaseError, and changes nothing, for one of any other version than this."""
    if not needs_upgrade(connection):
        return False
    with connection.schema_editor() as editor:
        records = MigrationRecorder(connection).migration_qs.filter(app__in=FORMER)
        # Another process that upgrades waits here, and then finds none.
        if not records.exclude(name__in=[name for _, name in FIRST]).delete()[0]:
            return False
        _upgrade_tables(editor)
    return True


def needs_upgrade(connection: BaseDatabaseWrapper) -> bool:
    """Return whether the database is of version 0.1. Raises UnknownDatabaseError."""
    applied: dict[str, set[str]] = {app: set() for app in FORMER if installed.is_installed(app)}
    for app, name in MigrationRecorder(connection).applied_migrations():
        if app in applied:
            applied[app].add(name)
    known = MigrationLoader(None).disk_migrations
    if all((app, name) in known for app, names in applied.items() for name in names):
        return False
    for app, names in applied.items():
        for problem, different in (
            ("lacks", FORMER[app] - names),
            ("has the unknown", names - FORMER[app]),
        ):
            if different:
                raise UnknownDatabaseError(
                    f"it {problem} migration {app}.{min(different)}, so it is of"
                    " another version, or a migration stopped halfway. Nothing was changed. Run"
                    " `mockllm migrate` of the version that it belongs to, or use a new database"
                )
    return True


def _upgrade_tables(editor: BaseDatabaseSchemaEditor) -> None:
    """Replace the tables of scenarios, drafts and histories; the others are as they were."""
    connection, using = editor.connection, editor.connection.alias
    loader = MigrationLoader(connection)
    first = [node for node in FIRST if node in loader.graph.nodes]
    models = loader.project_state(first).apps
    users = {user.pk: user.get_username() for user in get_user_model().objects.using(using).all()}
    new: dict[str, list[Any]] = {"Revision": []}
    for kind, step_kind in KINDS:
        rows = _read(connection, kind, scenario_document)
        steps = _read(connection, step_kind, step_document)
        for row in rows:
            row.setdefault("key", new_key())
            row["base"] = _shortest_base(row.get("base"))
        history = _History(kind, rows, steps, users)
        records = _read(connection, f"Historical{kind}", scenario_document)
        step_records = _read(connection, f"Historical{step_kind}", step_document)
        new |= {kind: rows, step_kind: steps}
        new["Revision"] += history.revisions(records, step_records)
    former = [f"{prefix}{name}" for prefix in ("historical", "") for name in FORMER_TABLES]
    for name in former:
        editor.execute(editor.sql_delete_table % {"table": editor.quote_name(_table_of(name))})
    for name, rows in new.items():
        model = models.get_model("scenarios_app", name)
        editor.create_model(model)
        columns = {field.attname for field in model._meta.concrete_fields}
        model._default_manager.using(using).bulk_create(
            [model(**{column: row[column] for column in columns & row.keys()}) for row in rows],
            batch_size=_BATCH_ROWS,
        )
        for statement in connection.ops.sequence_reset_sql(no_style(), [model]):
            editor.execute(statement)
    types = ContentType.objects.using(using).filter(app_label="scenarios_app")
    types.filter(model__startswith="historical").delete()
    applied = {node for leaf in first for node in loader.graph.forwards_plan(leaf)}
    for app, name in sorted(applied):
        if app in FORMER:
            MigrationRecorder(connection).record_applied(app, name)


class _History:
    """The history records of one kind, as revisions."""

    def __init__(
        self, kind: str, rows: Iterable[Row], steps: Iterable[Row], users: Mapping[int, str]
    ) -> None:
        self._kind = kind.lower()
        self._users = users
        self._rows = {row["id"]: row for row in rows}
        self._steps: dict[int, list[Row]] = {}
        for step in sorted(steps, key=_in_order):
            self._steps.setdefault(step["scenario_id"], []).append(step)
        # Records of published steps have no key; deleted steps have a new one.
        self._step_keys = {step["id"]: step["key"] for step in steps}

    def revisions(self, records: Iterable[Row], step_records: Iterable[Row]) -> Iterator[Row]:
        """Yield the revisions of each scenario or draft, the oldest first."""
        owners: dict[int, list[Row]] = {pk: [] for pk in self._rows}
        for record in records:
            owners.setdefault(record["id"], []).append(record)
        for record in step_records:
            owners.setdefault(record["scenario_id"], []).append({**record, "is_step": True})
        for pk, own in owners.items():
            # The steps of a discarded draft have no record of it.
            if pk in self._rows or any("is_step" not in record for record in own):
                own.sort(key=lambda record: (record["history_date"], record["history_id"]))
                yield from self._revisions_of(pk, own)

    def _revisions_of(self, pk: int, records: list[Row]) -> Iterator[Row]:
        row = self._rows.get(pk)
        key = row["key"] if row else new_key()
        latest: Row | None = None
        for state in self._states(pk, records):
            document, steps = state.pop("document"), state.pop("steps")
            documents = [step["document"] for step in steps]
            revision = {
                **state,
                "kind": self._kind,
                "key": key,
                "document": {**document, "steps": documents} if documents else document,
                "step_keys": [self._key_of(step) for step in steps],
            }
            if latest is not None:
                revision["at"] = max(revision["at"], latest["at"] + _TICK)
                if _is_same(latest, revision):
                    continue
            yield revision
            latest = revision

    def _states(self, pk: int, records: list[Row]) -> Iterator[Row]:
        """Yield the state after each save, and the present one."""
        row = self._rows.get(pk)
        scenario: Row | None = None
        steps: dict[int, Row] = {}
        for save in _saves(records):
            deleted_steps = []
            deleted = False
            for record in save:
                gone = record["history_type"] == "-"
                if "is_step" not in record:
                    scenario, deleted = record, gone
                elif gone:
                    deleted_steps.append(record)
                    steps.pop(record["id"], None)
                else:
                    steps[record["id"]] = record
            if deleted:
                # The steps that were deleted with it.
                steps = {step["id"]: step for step in deleted_steps}
            if known := scenario or row:
                reason = next((r["history_change_reason"] for r in save), None)
                yield {
                    "at": _rounded(save[-1]["history_date"]),
                    "user": self._users.get(save[-1]["history_user_id"], ""),
                    "reason": reason or "",
                    "deleted": deleted,
                    "document": known["document"],
                    "steps": sorted(steps.values(), key=_in_order),
                }
            if deleted:
                scenario, steps = None, {}
        if row:
            yield {
                "at": _rounded(timezone.now()),
                "user": "",
                "reason": "" if records else FIRST_REASON,
                "deleted": False,
                "document": row["document"],
                "steps": self._steps.get(pk, []),
            }

    def _key_of(self, step: Row) -> str:
        key: str = step.get("key") or self._step_keys.setdefault(step["id"], new_key())
        return key


def _saves(records: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield the records of each save: those of one user and reason, each within _SAVE_GAP of the
    one before."""
    save: list[Row] = []
    for record in records:
        if save and not (
            record["history_user_id"] == save[-1]["history_user_id"]
            and record["history_change_reason"] == save[-1]["history_change_reason"]
            and record["history_date"] - save[-1]["history_date"] < _SAVE_GAP
        ):
            yield save
            save = []
        save.append(record)
    if save:
        yield save


def _read(
    connection: BaseDatabaseWrapper, name: str, document: Callable[[Row], dict[str, Any]]
) -> list[Row]:
    """Return the rows of a table of version 0.1 by column, JSON parsed and times in UTC, each with
    its document."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(_table_of(name))} ORDER BY 1")
        columns = [column[0] for column in cursor.description]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    for row in rows:
        for column, value in row.items():
            if column in JSON_COLUMNS and isinstance(value, str):
                row[column] = json.loads(value)
            elif isinstance(value, datetime) and value.tzinfo is None:
                row[column] = value.replace(tzinfo=UTC)
        row["document"] = document(row)
    return rows


def _table_of(name: str) -> str:
    return f"scenarios_app_{name.lower()}"


def _shortest_base(base: Any) -> Any:
    """Return the base of a draft with its documents in the form that converted rows have."""
    match base:
        case {"scenario": {"name": name, **own}, "steps": dict(steps)}:
            converted = {key: step_document({"extra": step}) for key, step in steps.items()}
            return {"scenario": scenario_document({"name": name, "extra": own}), "steps": converted}
    return base or {}


def _is_same(one: Row, other: Row) -> bool:
    return one["deleted"] == other["deleted"] and (
        json.dumps(one["document"]) == json.dumps(other["document"])
    )


def _in_order(step: Row) -> tuple[int, int]:
    return step["order"], step["id"]


def _rounded(time: datetime) -> datetime:
    """Return the time in whole milliseconds, rounded up."""
    return time + timedelta(microseconds=-time.microsecond % 1_000)
