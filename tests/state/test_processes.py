"""Changes by other processes in a shared database: a SQLite file or PostgreSQL."""

import json
from pathlib import Path

import pytest

from scenarios_app.catalog import snapshot
from tests.state.catalogs import answer
from tests.state.other_process import run_script, start_script

SERVE_SCRIPT = """
from scenarios_app.catalog import catalog
catalog.start()
print("ready", sorted(catalog.index().by_name), flush=True)
for line in sys.stdin:
    names, ends = line.split(), time.monotonic() + 30
    while sorted(catalog.index().by_name) != names and time.monotonic() < ends:
        time.sleep(0.01)
    print(sorted(catalog.index().by_name), flush=True)
catalog.stop()
print("stopped", flush=True)
"""
LOAD_SCRIPT = "call_command('loaddata', {path!r}, verbosity=0)"
DISABLE_SCRIPT = """
from scenarios_app.models import Scenario
Scenario.objects.filter(name="first").update(enabled=False)
"""
FLUSH_SCRIPT = "call_command('flush', interactive=False, verbosity=0)"


def write_fixture(folder: Path, *names: str) -> str:
    rows = [
        row
        for name in names
        for row in (
            {"model": "scenarios_app.scenario", "fields": {"name": name}},
            {
                "model": "scenarios_app.step",
                "fields": {"scenario": [name], "order": 1, "document": answer("Hi.")},
            },
        )
    ]
    path = folder / "rows.json"
    path.write_text(json.dumps(rows))
    return str(path)


def test_changes_of_another_process_are_seen_soon(shared_database: str, tmp_path: Path) -> None:
    with start_script(shared_database, SERVE_SCRIPT, folder=tmp_path) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stdout.readline() == "ready []\n"
        for script, names in (
            (
                LOAD_SCRIPT.format(path=write_fixture(tmp_path, "first", "second")),
                ["first", "second"],
            ),
            (DISABLE_SCRIPT, ["second"]),
            (FLUSH_SCRIPT, []),
        ):
            run_script(shared_database, script, folder=tmp_path)
            server.stdin.write(" ".join(names) + "\n")
            server.stdin.flush()
            assert server.stdout.readline() == f"{names}\n"
        server.stdin.close()
        assert server.stdout.readline() == "stopped\n"
        assert server.wait(60) == 0


def test_catalog_is_polled_more_than_once_a_second() -> None:
    assert snapshot.SECONDS < 1


EDIT_SCRIPT = """
from threading import Thread
from django.db import connection
from scenarios_app.catalog import catalog
from scenarios_app.models import Scenario, Step

catalog.start()
scenario = Scenario.objects.create(name="a")

def edit(name):
    for number in range(20):
        document = {"name": f"{name} {number}", "produce": {"text": "Hi."}}
        Step.objects.create(scenario=scenario, document=document)
    connection.close()

threads = [Thread(target=edit, args=(name,)) for name in "bcd"]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(catalog.index().by_name["a"].steps))
catalog.stop()
"""


def test_edits_of_several_threads_are_all_seen(shared_database: str, tmp_path: Path) -> None:
    assert run_script(shared_database, EDIT_SCRIPT, folder=tmp_path) == "60\n"


ROUND_TRIP_SCRIPT = """
from hypothesis import given, settings
from scenarios_app.engine.document import dump
from scenarios_app.models import Scenario
from scenarios_app.store import document_of, save_document
from tests.state.documents import documents

@settings(max_examples=25, database=None, deadline=None)
@given(documents)
def law(drawn):
    saved = save_document(drawn)
    assert dump(document_of(Scenario.objects.get(pk=saved.pk))) == dump(drawn)

law()
print("the same")
"""


@pytest.mark.parametrize("shared_database", ["postgres"], indirect=True)
def test_postgresql_stores_documents_without_loss(shared_database: str, tmp_path: Path) -> None:
    assert run_script(shared_database, ROUND_TRIP_SCRIPT, folder=tmp_path) == "the same\n"
