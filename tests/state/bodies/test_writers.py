"""Several processes write and prune long bodies in one database, and one of them is killed."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.state.other_process import run_script, start_script

LIMIT = 300_000
PROCESSES = 3
# Each row shares the instructions of its process, which are long enough to take a block.
WRITE_SCRIPT = """
import random
from tests.state.entries import entry
from scenarios_app.journal import journal
rng = random.Random({seed})
instructions = rng.randbytes(8_000).hex()
for number in range(60):
    own = rng.randbytes(4_000).hex()
    body = '{{"system": "' + instructions + '", "messages": [{{"content": "' + own + '"}}]}}'
    journal.record(entry(request_body=body.encode(), session="{seed}", path=f"/{{number}}"))
    if number % 7 == 0:
        assert journal.flush()
assert journal.stop() and not journal.failed and not journal.dropped
"""
READ_SCRIPT = """
import json
from scenarios_app.models import BodyBlock, ServedRequest
rows = list(ServedRequest.objects.order_by("pk"))
print(json.dumps({
    "stored": sum(len(block.data) for block in BodyBlock.objects.all()),
    "last": [row.path for row in rows][-1:],
    "rows": len(rows),
    "whole": all(len(row.request_body) == row.request_bytes > 24_000 for row in rows),
}))
"""
ENDLESS_SCRIPT = """
from itertools import count
from tests.state.entries import entry
from tests.support.agent_traffic import agent_turns
from scenarios_app.journal import journal
for number, session in enumerate(count()):
    for body in agent_turns(session):
        journal.record(entry(request_body=body, path=f"/{number}"))
    if number == 1:
        assert journal.flush()
        print("written", flush=True)
"""
READ_TURNS_SCRIPT = """
import json
from scenarios_app.models import ServedRequest
rows = list(ServedRequest.objects.order_by("pk"))
print(len(rows))
assert all(len(row.request_body.encode()) == row.request_bytes for row in rows)
assert all(json.loads(row.request_body)["tools"] for row in rows)
"""


def test_writers_that_prune_together_keep_rows_readable(
    shared_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOCKLLM_JOURNAL_BYTES", str(LIMIT))
    scripts = [WRITE_SCRIPT.format(seed=seed) for seed in range(PROCESSES)]
    with ThreadPoolExecutor(PROCESSES) as pool:
        list(pool.map(lambda script: run_script(shared_database, script, folder=tmp_path), scripts))
    summary = json.loads(run_script(shared_database, READ_SCRIPT, folder=tmp_path))
    assert summary["whole"]
    assert summary["last"] == ["/59"]
    # Each process trims when it has written a twentieth of the limit, and a batch may be larger.
    assert LIMIT / 2 < summary["stored"] <= LIMIT * (1 + PROCESSES * 0.3)
    assert 0 < summary["rows"] < PROCESSES * 60


def test_process_that_is_killed_leaves_readable_rows(shared_database: str, tmp_path: Path) -> None:
    with start_script(shared_database, ENDLESS_SCRIPT, folder=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        process.kill()
        process.wait()
    assert int(run_script(shared_database, READ_TURNS_SCRIPT, folder=tmp_path)) >= 40
