"""Upgrade of a database from before draft permissions and first versions."""

import json
from typing import Any

import pytest

from tests.fresh.processes import dev_environment, mockllm
from tests.support import fork_server

# Rows as older versions stored fixtures: raw, without history.
BEFORE = """
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from scenarios_app.models import Scenario, Step

# A column of today's models that the database of then has not.
with connection.schema_editor() as editor:
    for model in (Scenario, Scenario.history.model):
        editor.add_field(model, model._meta.get_field("user"))

def raw(row):
    row.save_base(raw=True)
    return row

untouched = raw(Scenario(name="untouched"))
raw(Step(scenario=untouched, order=1, answer_text="hello"))
edited = raw(Scenario(name="edited"))
first = raw(Step(scenario=edited, order=1, answer_text="one"))
raw(Step(scenario=edited, order=2, answer_text="two"))
edited.description = "first edit"
edited.save()
first.answer_text = "uno"
first.save()
Scenario.objects.create(name="kept")

def permission(name):
    return Permission.objects.get(codename=name, content_type__app_label="scenarios_app")

Group.objects.create(name="writers").permissions.add(permission("change_scenario"))
Group.objects.create(name="viewers").permissions.add(permission("view_scenario"))
User.objects.create(username="adder").user_permissions.add(permission("add_scenario"))
Group.objects.create(name="others")

with connection.schema_editor() as editor:
    for model in (Scenario, Scenario.history.model):
        editor.remove_field(model, model._meta.get_field("user"))
"""
AFTER = """
import json
from django.contrib.auth.models import Group, User
from scenarios_app.models import Scenario
from scenarios_app.store.history import state_at, versions_of

def names(rows):
    return sorted(rows.filter(codename__endswith="_draft").values_list("codename", flat=True))

def states(name):
    scenario = Scenario.objects.get(name=name)
    return [
        {"why": one.reason, **state_at(scenario, one.at).document(name)}
        for one in versions_of(scenario)
    ]

print(json.dumps({
    "groups": {group.name: names(group.permissions) for group in Group.objects.all()},
    "adder": names(User.objects.get(username="adder").user_permissions),
    "states": {name: states(name) for name in ("untouched", "edited", "kept")},
}))
"""
LAST = {"scenarios_app": "0011", "chat_app": "", "traces_app": ""}


@pytest.fixture(scope="module")
def upgraded_rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return rows of the database after the upgrade."""
    database = tmp_path_factory.mktemp("upgraded") / "mockllm.sqlite3"

    def run(*arguments: str) -> str:
        process = mockllm(
            *arguments,
            cwd=database.parent,
            python=fork_server.python(),
            **dev_environment(database),
        )
        assert process.returncode == 0, process.stderr
        return process.stdout

    for app, migration in LAST.items():
        run("migrate", "-v", "0", app, *filter(None, [migration]))
    run("shell", "--no-imports", "-c", BEFORE)
    run("migrate", "-v", "0")
    rows: dict[str, Any] = json.loads(run("shell", "--no-imports", "-c", AFTER))
    return rows


def test_writers_of_scenarios_can_publish_drafts_after_upgrade(
    upgraded_rows: dict[str, Any],
) -> None:
    expected = ["change_draft", "delete_draft", "publish_draft", "view_draft"]
    assert upgraded_rows["groups"]["writers"] == expected
    assert upgraded_rows["groups"]["viewers"] == ["view_draft"]
    assert upgraded_rows["groups"]["others"] == []
    assert upgraded_rows["adder"] == ["add_draft"]


def test_a_scenario_without_history_gets_a_first_version(upgraded_rows: dict[str, Any]) -> None:
    (version,) = upgraded_rows["states"]["untouched"]
    assert version["why"] == "first known version"
    assert [step["produce"]["text"] for step in version["steps"]] == ["hello"]


def test_a_partly_recorded_scenario_has_all_steps_in_each_version(
    upgraded_rows: dict[str, Any],
) -> None:
    versions = upgraded_rows["states"]["edited"]
    texts = [[step["produce"]["text"] for step in version["steps"]] for version in versions]
    assert texts == [["uno", "two"]] * len(versions)
    assert len(versions) >= 2
    assert versions[-1]["why"] == "first known version"


def test_a_scenario_with_history_gets_no_other_version(upgraded_rows: dict[str, Any]) -> None:
    (version,) = upgraded_rows["states"]["kept"]
    assert version["why"] == ""


def test_the_roles_are_added(upgraded_rows: dict[str, Any]) -> None:
    assert {"QA author", "QA editor", "QA read-only"} <= upgraded_rows["groups"].keys()
