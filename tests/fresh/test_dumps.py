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

# Makes a person's scenarios, of which one is deleted, a chat with its records, and a login.
USE_THE_ADMIN = """
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from chat_app.models import ABComparison, ModelProfile
from scenarios_app.models import Scenario, ServedRequest, TrialConversation
from tests.admin.chat.talks import create_conversation
from tests.admin.pages import create_scenario, save
from django.conf import settings
settings.ALLOWED_HOSTS.append("testserver")
User.objects.create_user("first")
person = User.objects.create_superuser("person")
client = Client()
client.force_login(person)
call_command("loaddata", "profiles", verbosity=0)
for name in ("kept", "deleted"):
    scenario = create_scenario(name, {"produce.text": "a"})
    assert save(client, scenario, description="by a person").status_code == 302
TrialConversation.objects.create(scenario="kept", content={"turns": []})
page = f"/admin/scenarios_app/scenario/{Scenario.objects.get(name='deleted').pk}/delete/"
assert client.post(page, {"post": "yes"}).status_code == 302
create_conversation("Where?", preference="a")
ABComparison.objects.update(profile_a=ModelProfile.objects.first())
assert Scenario.history.filter(history_user=person).exists() and LogEntry.objects.exists()
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
from scenarios_app.models import Scenario, Step, TrialConversation
from traces_app.models import ModelCall, TraceEvent
print(json.dumps({
    "users": list(User.objects.order_by("username").values_list("username", flat=True)),
    "scenarios": list(Scenario.objects.order_by("name").values_list("name", flat=True)),
    "steps": list(Step.objects.order_by("produce.text").values_list("produce.text", flat=True)),
    "trials": TrialConversation.objects.count(),
    "profiles": ModelProfile.objects.count(),
    "events": TraceEvent.objects.count(),
    "calls": ModelCall.objects.count(),
}))
"""
MINE = {
    "users": ["somebody"],
    "scenarios": ["mine"],
    "steps": ["my answer"],
    "trials": 1,
    "profiles": 0,
    "events": 2,
    "calls": 2,
}
_SCENARIOS = {"scenarios": ["kept", "mine"], "steps": ["a", "my answer"], "trials": 2}
_CHATS = {"profiles": 3, "events": 4, "calls": 4}
# What each command adds to another database.
COMMANDS = {
    "dumpdata scenarios_app": _SCENARIOS,
    "dumpdata scenarios_app --natural-foreign": _SCENARIOS,
    "dumpdata scenarios_app.scenario scenarios_app.step": _SCENARIOS | {"trials": 1},
    "dumpdata chat_app traces_app": _CHATS,
    "dumpdata chat_app.modelprofile --natural-primary": {"profiles": 3},
    "dumpdata": {**_SCENARIOS, **_CHATS, "users": ["first", "person", "somebody"]},
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
    assert not [name for name in models if "historical" in name or "logentry" in name]
    assert "scenarios_app.catalogversion" not in models
    assert [file.name for file in tmp_path.iterdir()] == ["dump.json"]
