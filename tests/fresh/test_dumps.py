"""Fixtures written by `dumpdata` after a person used the admin load into another database."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests.fresh.processes import dev_environment, mockllm, run_script
from tests.support import fork_server, migrated_database
from tests.support.database_engine import POSTGRES

# Makes scenarios, of which one is deleted, a draft and a chat, all by a person who is then deleted.
USE_THE_ADMIN = """
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from chat_app.models import ABComparison, ModelProfile
from scenarios_app.models import Revision, Scenario, TrialConversation
from tests.admin.chat.talks import create_conversation
from tests.admin.drafting import edit_as_draft, save_draft
from tests.admin.pages import create_scenario, save
from django.conf import settings
settings.ALLOWED_HOSTS.append("testserver")
User.objects.create_user("first")
person, second = (User.objects.create_superuser(name) for name in ("person", "second"))
client = Client()
client.force_login(person)
call_command("loaddata", "profiles", verbosity=0)
for name in ("kept", "deleted"):
    scenario = create_scenario(name, {"produce.text": "a"})
    assert save(client, scenario, description="by a person").status_code == 302
TrialConversation.objects.create(scenario="kept", content={"turns": []})
page = f"/admin/scenarios_app/scenario/{Scenario.objects.get(name='deleted').pk}/delete/"
assert client.post(page, {"post": "yes"}).status_code == 302
draft = edit_as_draft(client, Scenario.objects.get(name="kept"))
assert save_draft(client, draft, **{"steps-0-produce.text": "b"}).status_code == 302
create_conversation("Where?", preference="a")
ABComparison.objects.update(profile_a=ModelProfile.objects.first())
assert LogEntry.objects.exists()
person.delete()
print("{}")
"""
# Makes rows whose numbers are those of other rows in the dump.
OTHER_ROWS = """
from django.contrib.auth.models import User
from scenarios_app.models import TrialConversation
from tests.admin.chat.talks import create_conversation
from tests.admin.pages import create_scenario
User.objects.create_superuser("somebody")
create_scenario("mine", {"produce.text": "my answer"})
TrialConversation.objects.create(scenario="mine")
create_conversation("Mine?")
print("{}")
"""
STORED = """
from django.contrib.auth.models import User
from chat_app.models import ModelProfile
from scenarios_app.models import Draft, Scenario, Step, TrialConversation
from scenarios_app.store.drafts import plan_publication
from scenarios_app.store.history import versions_of
from scenarios_app.store.trash import trash_entries
from traces_app.models import ModelCall, TraceEvent
print(json.dumps({
    "users": list(User.objects.order_by("username").values_list("username", flat=True)),
    "scenarios": list(Scenario.objects.order_by("name").values_list("name", flat=True)),
    "steps": sorted(step.document["produce"]["text"] for step in Step.objects.all()),
    "history": [
        [version.who, version.reason, *version.changes]
        for scenario in Scenario.objects.order_by("name") for version in versions_of(scenario)
    ],
    "trash": [[entry.name, entry.steps, entry.deleted_by] for entry in trash_entries()],
    "drafts": [
        [version.who, *version.changes]
        for draft in Draft.objects.all() for version in versions_of(draft)
    ],
    "changes": [change for d in Draft.objects.all() for change in plan_publication(d).changes],
    "trials": TrialConversation.objects.count(),
    "profiles": ModelProfile.objects.count(),
    "events": TraceEvent.objects.count(),
    "calls": ModelCall.objects.count(),
}))
"""
CREATED = ["no user", "", "created"]
MINE = {
    "users": ["somebody"],
    "scenarios": ["mine"],
    "steps": ["my answer"],
    "history": [CREATED],
    "trash": [],
    "drafts": [],
    "changes": [],
    "trials": 1,
    "profiles": 0,
    "events": 2,
    "calls": 2,
}
_CHANGE = 'step 1: produce.text from "a" to "b"'
_SCENARIOS = {
    "scenarios": ["kept", "mine"],
    "steps": ["a", "my answer"],
    "history": [["person", "", 'description set to "by a person"'], CREATED, CREATED],
    "trash": [["deleted", 1, "person"]],
    "drafts": [["person", _CHANGE], ["person", "created"]],
    "changes": [_CHANGE],
    "trials": 2,
}
_CHATS = {"profiles": 3, "events": 4, "calls": 4}
# What each command adds to another database.
COMMANDS = {
    "dumpdata scenarios_app": _SCENARIOS,
    "dumpdata scenarios_app --natural-foreign": _SCENARIOS,
    "dumpdata scenarios_app --natural-foreign --natural-primary": _SCENARIOS,
    "dumpdata scenarios_app.scenario scenarios_app.step": {
        "scenarios": ["kept", "mine"],
        "steps": ["a", "my answer"],
        "history": [["no user", "loaded from dump", "created"], CREATED],
    },
    "dumpdata chat_app traces_app": _CHATS,
    "dumpdata chat_app.modelprofile --natural-primary": {"profiles": 3},
    "dumpdata": {**_SCENARIOS, **_CHATS, "users": ["first", "second", "somebody"]},
}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def new_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], dict[str, str]]]:
    """Return a function that makes a migrated database and returns its environment."""
    folder, names = tmp_path_factory.mktemp("databases"), []

    def create() -> dict[str, str]:
        name = f"dumps_{uuid4().hex[:12]}"
        if request.param == "sqlite":
            migrated_database.copy_to(folder / name)
            return dev_environment(folder / name)
        with psycopg.connect(POSTGRES, autocommit=True) as server:
            server.execute(f"CREATE DATABASE {name} TEMPLATE {migrated_database.template()}")
        names.append(name)
        return {"MOCKLLM_ENV": "dev", "DATABASE_URL": f"{POSTGRES.rpartition('/')[0]}/{name}"}

    yield create
    with psycopg.connect(POSTGRES, autocommit=True) as server:
        for name in names:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def scripted(script: str, environment: dict[str, str]) -> dict[str, object]:
    root = str(Path(__file__).parents[2])
    value: dict[str, object] = run_script(
        f"import sys\nsys.path.insert(0, {root!r})\n{script}", cwd=Path("/"), **environment
    )
    return value


@pytest.fixture(scope="module")
def used(new_database: Callable[[], dict[str, str]]) -> dict[str, str]:
    environment = new_database()
    scripted(USE_THE_ADMIN, environment)
    return environment


@pytest.mark.parametrize("command", COMMANDS)
def test_dump_of_a_used_database_adds_its_rows_to_another(
    command: str, used: dict[str, str], new_database: Callable[[], dict[str, str]], tmp_path: Path
) -> None:
    python, other = fork_server.python(), new_database()
    scripted(OTHER_ROWS, other)
    dump = mockllm(*command.split(), "--output", "dump.json", cwd=tmp_path, python=python, **used)
    assert (dump.returncode, dump.stderr) == (0, "")
    # Twice: the second time every row is found.
    for _ in range(2):
        load = mockllm("loaddata", "dump.json", cwd=tmp_path, python=python, **other)
        assert (load.returncode, load.stderr) == (0, "")
        assert scripted(STORED, other) == MINE | COMMANDS[command]
    models = {row["model"] for row in json.loads((tmp_path / "dump.json").read_text())}
    assert "admin.logentry" not in models
    assert "scenarios_app.catalogversion" not in models
    assert [file.name for file in tmp_path.iterdir()] == ["dump.json"]
