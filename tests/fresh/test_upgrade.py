"""Upgrade of a database of version 0.1, and refusal of databases of unknown versions."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.fresh.processes import dev_environment, mockllm, rows, run_script
from tests.support import fork_server, migrated_database
from tests.support.database_engine import POSTGRES

FORMER = Path(__file__).parents[1] / "data" / "former"
STORED = """
from django.contrib.auth.models import Group
from django.contrib.contenttypes.models import ContentType
from chat_app.models import ABComparison, Conversation, Message
from scenarios_app.models import *
from scenarios_app.models import FaultResult, PastAnswers, SessionName, TrialConversation
from scenarios_app.store import whole_document
from scenarios_app.store.drafts import plan_publication
from scenarios_app.store.history import state_at, versions_of
from scenarios_app.store.trash import restore, trash_entries
from traces_app.models import ModelCall, TraceEvent

def versions(row):
    return [[v.who, v.reason, *v.changes] for v in versions_of(row)]

weather = Scenario.objects.get(name="weather")
oldest = state_at(weather, versions_of(weather)[-1].at)
served = ServedRequest.objects.get(scenario="weather")
(entry,) = trash_entries()
restored = restore(entry.pk)
drafts = {draft.name: draft for draft in Draft.objects.all()}
print(json.dumps({
    "names": list(Scenario.objects.order_by("name").values_list("name", flat=True)),
    "documents": {n: whole_document(Scenario.objects.get(name=n)) for n in ("rich", "invalid")},
    "weather": versions(weather),
    "oldest": oldest.document("weather"),
    "key": weather.steps.get().key,
    "raw": versions(Scenario.objects.get(name="raw")),
    "trash": [entry.name, entry.steps, entry.deleted_by],
    "restored": whole_document(restored),
    "drafts": {name: versions(draft) for name, draft in drafts.items()},
    "changes": plan_publication(drafts["rich, new"]).changes,
    "meanwhile": plan_publication(drafts["rich, new"]).meanwhile,
    "served": [served.step_key, served.siblings, served.response_text, [*served.request_headers]],
    "counts": {m.__name__: m.objects.count() for m in (
        ServedRequest, BodyBlock, FaultResult, PastAnswers, SessionName, TrialConversation,
        ABComparison, Conversation, Message, ModelCall, TraceEvent)},
    "histories": ContentType.objects.filter(model__contains="historical").count(),
    "role": list(Group.objects.get(name="own role").permissions.values_list("codename", flat=True)),
    "new": Scenario.objects.create(name="one more").pk,
}))
"""
TABLES = """
from django.db import connection

def table(cursor, name):
    inspect = connection.introspection
    columns = inspect.get_table_description(cursor, name)
    constraints = inspect.get_constraints(cursor, name).values()
    kinds = ("primary_key", "unique", "foreign_key", "index", "check")
    return {
        "columns": sorted([c.name, str(c.type_code), c.null_ok, c.default] for c in columns),
        "constraints": sorted(
            [sorted(c["columns"] or ()), *(str(c[kind]) for kind in kinds)] for c in constraints
        ),
    }

with connection.cursor() as cursor:
    names = connection.introspection.table_names(cursor)
    print(json.dumps({name: table(cursor, name) for name in names}))
"""
RICH: dict[str, Any] = {
    "name": "rich",
    "description": "all sections\r\nof a step",
    "priority": 7,
    "tags": ["a", "b"],
    "variables": {"z": 1, "a": [True, None, "\0", "ü"]},
    "system_prompt_must_include": ["be kind"],
    "steps": [
        {
            "name": "first",
            "match": {
                "provider": "openai",
                "model": "gpt-4o",
                "stream": True,
                "tools": ["t"],
                "messages": [
                    {"role": "system", "startswith": "You"},
                    {"role": "user", "regex": "^a", "ignore_case": True},
                    {"role": "user", "contains": "b"},
                ],
                "tool_results": [{"name": "t"}],
                "tool_count": {"min": 1},
            },
            "expect": {"tools": ["t"], "temperature": 0.5, "reasoning": "enabled"},
            "failures": {"times": 2, "fault": {"kind": "rate_limit", "retry_after_ms": 5}},
            "produce": {
                "reasoning": "hm",
                "text": '50 % of "it\'s" \\ back\n',
                "usage": {"input_tokens": 3},
                "latency_ms": 4,
                "pacing": {"words_per_second": 2.5},
            },
            "side_effects": {
                "counter": "c",
                "status": 201,
                "headers": {"x-a": "1"},
                "echo_headers": ["x-b"],
            },
        },
        {
            "match": {
                "model": {"contains": "claude"},
                "messages": [{"role": "tool", "contains": "sun"}],
            },
            "turn": 2,
            "consume": False,
            "produce": {
                "tool_calls": [{"name": "t", "arguments": {"b": 1, "a": 2}}],
                "finish_reason": "tool_calls",
            },
        },
        {"produce": {"fault": {"kind": "http", "status": 500, "message": "m"}}},
        {"produce": {"final_report": {"report_content": "done"}}},
    ],
}
WEATHER = [
    ["ada", "", "step 2 removed"],
    # Its author was deleted.
    ["no user", "", "steps moved"],
    [
        "ada",
        "",
        'description set to "edited by ada"',
        'step 1: produce.text from "one" to "uno"',
    ],
    ["no user", "", "created"],
]
DRAFTS = {
    "lone": [
        ["ada", "", 'description set to "a draft of its own"'],
        ["no user", "", "created"],
    ],
    "rich, new": [
        ["no user", "", 'name from "rich" to "rich, new"', "step 2: turn from 2 to 3"],
        ["ada", "", "created"],
    ],
}
COUNTS = {
    **{"ServedRequest": 3, "BodyBlock": 1, "FaultResult": 1, "PastAnswers": 1},
    **{"SessionName": 1, "TrialConversation": 1, "ABComparison": 1, "Conversation": 1},
    **{"Message": 3, "ModelCall": 2, "TraceEvent": 2},
}


def run(*arguments: str, environment: dict[str, str]) -> Any:
    return mockllm(*arguments, cwd=Path("/"), python=fork_server.python(), **environment)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def databases(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Return the environments of a database that was upgraded, and of a new one."""
    if request.param == "sqlite":
        folder = tmp_path_factory.mktemp("former")
        former_file(folder / "former.sqlite3")
        migrated_database.copy_to(folder / "new.sqlite3")
        yield dev_environment(folder / "former.sqlite3"), dev_environment(folder / "new.sqlite3")
        return
    names = [f"upgrade_{uuid4().hex[:12]}" for _ in range(2)]
    address = POSTGRES.rpartition("/")[0]
    with psycopg.connect(POSTGRES, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {names[0]}")
        server.execute(f"CREATE DATABASE {names[1]} TEMPLATE {migrated_database.template()}")
        with psycopg.connect(f"{address}/{names[0]}") as former:
            former.execute((FORMER / "postgres.sql").read_bytes())
        former_environment, new_environment = (
            {"MOCKLLM_ENV": "dev", "DATABASE_URL": f"{address}/{name}"} for name in names
        )
        yield former_environment, new_environment
        for name in names:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def former_file(path: Path) -> None:
    """Create a SQLite file of version 0.1."""
    connection = sqlite3.connect(path)
    connection.executescript((FORMER / "sqlite.sql").read_text())
    connection.close()


def test_upgraded_database_has_the_same_scenarios_histories_and_records(
    databases: tuple[dict[str, str], dict[str, str]],
) -> None:
    upgraded, new = databases
    process = run("migrate", environment=upgraded)
    assert (process.returncode, process.stderr) == (0, "")
    assert "Upgraded the database of version 0.1." in process.stdout
    assert run_script(TABLES, cwd=Path("/"), **upgraded) == run_script(TABLES, cwd=Path("/"), **new)
    process = run("migrate", environment=upgraded)
    assert "Upgraded" not in process.stdout and "No migrations to apply." in process.stdout
    stored = run_script(STORED, cwd=Path("/"), **upgraded)
    assert stored["documents"]["rich"] == RICH
    # What a column could not hold is kept.
    assert stored["documents"]["invalid"]["steps"] == [
        {"match_extra": [1], "produce": {"text": "y"}}
    ]
    assert stored["weather"] == WEATHER
    assert [step["produce"]["text"] for step in stored["oldest"]["steps"]] == ["one", "two"]
    assert stored["raw"] == [["no user", "first known version", "created"]]
    assert stored["trash"] == ["deleted", 1, "ada"]
    assert stored["restored"] == {"name": "deleted", "steps": [{"produce": {"text": "found"}}]}
    assert stored["drafts"] == DRAFTS
    assert stored["changes"] == [
        'name from "rich" to "rich, new"',
        "step 2: turn from 2 to 3",
    ]
    assert stored["meanwhile"] == []
    # The journal names the step by its key.
    assert stored["served"] == [stored["key"], 2, "uno", ["b", "a"]]
    assert stored["counts"] == COUNTS
    assert (stored["histories"], stored["role"]) == (0, ["change_scenario"])
    assert stored["new"] > len(stored["names"])


@pytest.mark.parametrize("command", [["migrate"], ["serve", "--port", "0"]])
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            "DELETE FROM django_migrations WHERE name = '0020_fault_results'",
            "lacks migration scenarios_app.0020_fault_results",
        ),
        ("DELETE FROM django_migrations WHERE app = 'chat_app'", "lacks migration chat_app"),
        (
            "INSERT INTO django_migrations (app, name, applied) VALUES ('traces_app', '0006_x', 0)",
            "has the unknown migration traces_app.0006_x",
        ),
    ],
)
def test_database_of_an_unknown_version_is_refused_unchanged(
    command: list[str], change: str, problem: str, tmp_path: Path
) -> None:
    database = tmp_path / "former.sqlite3"
    former_file(database)
    rows(database, change)
    before = dump(database)
    process = run(*command, environment=dev_environment(database))
    assert process.returncode == 1
    assert problem in process.stderr and len(process.stderr.splitlines()) == 1
    assert dump(database) == before


def dump(database: Path) -> list[str]:
    connection = sqlite3.connect(database)
    lines = list(connection.iterdump())
    connection.close()
    return lines
