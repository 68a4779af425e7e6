"""A vote and an event that a person mends: marked, in the history, and in another database."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from chat_app.models import ABComparison
from mockllm_site.kit.admin.records import admin_url
from tests.admin.chat.talks import create_conversation
from tests.browser.conftest import Admin
from tests.fresh.processes import dev_environment, mockllm, rows
from tests.support import fork_server, migrated_database
from traces_app.models import TraceEvent

pytestmark = pytest.mark.browser

MENDED = "words of a person"


def test_mended_vote_and_event_reach_another_database(admin: Admin, tmp_path: Path) -> None:
    conversation = create_conversation(preference="a")
    comparison = conversation.comparisons.get()
    event = TraceEvent.objects.filter(trace=comparison.trace_a).get()
    page, base_url = admin.page, admin.live.base_url
    page.goto(f"{base_url}{admin_url(comparison)}")
    page.get_by_label("Preference").select_option("b")
    admin.save()
    page.goto(f"{base_url}{admin_url(event)}")
    page.get_by_label("Payload").fill(json.dumps({"content": MENDED}))
    admin.save()

    # Both are marked, and the history names who changed what.
    for row, change in (
        (comparison, 'Preference: from "a" to "b".'),
        (comparison.trace_a, "Payload"),
    ):
        page.goto(f"{base_url}{admin_url(row)}")
        expect(page.locator("main")).to_contain_text("Edited by a person")
        page.get_by_role("link", name="History").click()
        expect(page.locator("main")).to_contain_text(change)
        expect(page.locator("main")).to_contain_text("QA editor")
    page.goto(f"{base_url}/traces/{comparison.trace_a_id}/")
    expect(page.locator("main")).to_contain_text(MENDED)

    admin.go("chat_app/conversation/")
    page.locator("input.action-select").first.check()
    page.locator("select[name=action]").select_option("export_fixture")
    with page.expect_download() as download:
        page.get_by_role("button", name="Run", exact=False).first.click()
    file, database = tmp_path / "conversations.json", tmp_path / "other.sqlite3"
    download.value.save_as(file)
    migrated_database.copy_to(database)
    python, variables = fork_server.python(), dev_environment(database)
    loaded = mockllm("loaddata", str(file), cwd=tmp_path, python=python, **variables)
    assert loaded.returncode == 0, loaded.stderr
    assert rows(database, f"SELECT preference FROM {ABComparison._meta.db_table}") == [("b",)]
    payloads = rows(database, f"SELECT payload FROM {TraceEvent._meta.db_table}")
    assert MENDED in [json.loads(payload).get("content") for (payload,) in payloads]
