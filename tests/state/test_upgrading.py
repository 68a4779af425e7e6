"""A database of an earlier version keeps its rows, and editors get new permissions."""

import json
from importlib import import_module
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission
from django.db import connection

from tests.state.other_process import run_script

# Editors' permissions before the migration.
OLD_PERMISSIONS = {
    *(f"scenarios_app.{verb}_scenario" for verb in ("add", "change", "delete", "view")),
    *(f"scenarios_app.{verb}_step" for verb in ("add", "change", "delete", "view")),
    *(f"chat_app.{verb}_modelprofile" for verb in ("add", "change", "delete", "view")),
    *("chat_app.view_conversation", "chat_app.change_conversation", "chat_app.delete_conversation"),
    *("chat_app.view_message", "chat_app.view_contextstate", "chat_app.view_abcomparison"),
    *("traces_app.view_trace", "traces_app.view_traceevent", "traces_app.view_modelcall"),
    "scenarios_app.view_servedrequest",
}
# Editors' permissions since notes on records exist.
NEW_PERMISSIONS = {
    *("chat_app.change_message", "chat_app.change_abcomparison"),
    *("traces_app.change_trace", "traces_app.delete_trace"),
}
UPGRADE_SCRIPT = """
import json
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.db.migrations.loader import MigrationLoader
for app, name in (("traces_app", "0001"), ("chat_app", "0002"), ("scenarios_app", None)):
    call_command("migrate", app, *([name] if name else []), verbosity=0)
old = [("chat_app", "0002_initial"), ("traces_app", "0001_initial")]
apps = MigrationLoader(connection).project_state(old).apps
conversations = apps.get_model("chat_app", "Conversation").objects
conversation = conversations.create(client_id="c", title="Köln")
asked = apps.get_model("chat_app", "Message").objects.create(
    conversation=conversation, number=1, sender="user", client_id="c", feedback="like"
)
trace = apps.get_model("traces_app", "Trace").objects.create(
    conversation=conversation, user_message=asked, status="completed", model_calls=2
)
apps.get_model("chat_app", "ABComparison").objects.create(
    conversation=conversation, user_message=asked, seed=7, profile_a_name="one",
    profile_b_name="two", trace_a=trace, preference="a",
)
permissions = Permission.objects.select_related("content_type")
def names(rows):
    return {f"{row.content_type.app_label}.{row.codename}" for row in rows}
editors, _ = Group.objects.get_or_create(name="QA editor")
editors.permissions.set(row for row in permissions if names([row]) & EDITORS)

call_command("migrate", verbosity=0)
from chat_app.comparisons import leaderboard
from chat_app.models import ABComparison, Conversation, Message
from traces_app.models import Trace
print(json.dumps({
    "conversations": list(Conversation.objects.values("title", "archived", "tags")),
    "messages": list(Message.objects.values("number", "feedback")),
    "traces": list(Trace.objects.values("status", "model_calls", "note", "tags")),
    "comparisons": list(ABComparison.objects.values("preference", "excluded", "comment")),
    "ranked": [rank.profile for rank in leaderboard()],
    "editors": sorted(names(editors.permissions.select_related("content_type"))),
}))
"""


def test_existing_rows_stay_and_are_neither_archived_nor_excluded(
    empty_database: str, tmp_path: Path
) -> None:
    upgraded = json.loads(
        run_script(
            empty_database, f"EDITORS = {OLD_PERMISSIONS}\n{UPGRADE_SCRIPT}", folder=tmp_path
        )
    )
    assert set(upgraded.pop("editors")) == OLD_PERMISSIONS | NEW_PERMISSIONS
    assert upgraded == {
        "conversations": [{"title": "Köln", "archived": False, "tags": []}],
        "messages": [{"number": 1, "feedback": "like"}],
        "traces": [{"status": "completed", "model_calls": 2, "note": "", "tags": []}],
        "comparisons": [{"preference": "a", "excluded": False, "comment": ""}],
        "ranked": ["one", "two"],
    }


@pytest.mark.django_db
@pytest.mark.parametrize(
    "changed",
    [OLD_PERMISSIONS - {"chat_app.delete_conversation"}, OLD_PERMISSIONS | {"auth.view_user"}],
)
def test_changed_permissions_of_editors_are_kept(changed: set[str]) -> None:
    group = Group.objects.get(name="QA editor")
    rows = Permission.objects.select_related("content_type")
    group.permissions.set(row for row in rows if permission_name(row) in changed)
    migration = import_module("chat_app.migrations.0004_editors_write_notes")
    migration.permit(apps, connection.schema_editor())
    assert {
        permission_name(row) for row in group.permissions.select_related("content_type")
    } == changed


def permission_name(row: Permission) -> str:
    return f"{row.content_type.app_label}.{row.codename}"
