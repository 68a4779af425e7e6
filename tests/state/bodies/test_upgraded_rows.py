"""A database of the version before blocks: old rows keep their bodies beside new rows."""

import json
from pathlib import Path

from tests.state.other_process import run_script

UPGRADE = """
import json
from uuid import uuid4
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone
call_command("migrate", "scenarios_app", "0016", verbosity=0)
apps = MigrationLoader(connection).project_state([("scenarios_app", "0016_plain_labels")]).apps
for size in (10, 65_536):
    apps.get_model("scenarios_app", "ServedRequest").objects.create(
        uid=uuid4(), at=timezone.now(), session="old", method="POST", path="/old", matched=True,
        outcome="complete", status=200, duration_ms=1.0, request_body="ü" * size,
        request_bytes=size * 3, request_cut=True, response_body="answer",
    )
call_command("migrate", verbosity=0)

from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from tests.state.entries import entry
journal.record(entry(request_body=b"new " * 20_000, session="new"))
assert journal.flush()
print(json.dumps([
    [row.session, row.request_body[-4:], len(row.request_body), row.response_body, row.request_cut]
    for row in ServedRequest.objects.order_by("pk")
]))
"""


def test_rows_of_the_version_before_keep_their_bodies(empty_database: str, tmp_path: Path) -> None:
    rows = json.loads(run_script(empty_database, UPGRADE, folder=tmp_path))
    assert rows == [
        ["old", "üüüü", 10, "answer", True],
        ["old", "üüüü", 65_536, "answer", True],
        ["new", "new ", 80_000, "", False],
    ]
