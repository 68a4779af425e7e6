"""The journal search finds text in bodies, newest first, within a time limit."""

import json

import pytest
from django.test import Client

from scenarios_app.admin.journal import body_search
from scenarios_app.admin.journal.body_search import search_bodies
from scenarios_app.engine.journal_entry import clean_entry
from scenarios_app.journal import table
from scenarios_app.models import ServedRequest
from tests.admin.pages import JOURNAL
from tests.admin.traffic import create_journal_row
from tests.state.entries import entry
from tests.support.agent_traffic import agent_turns

pytestmark = pytest.mark.django_db


def search_journal(client: Client, text: str, **query: str) -> list[int]:
    page = client.get(JOURNAL, {"q": text, **query})
    assert page.status_code == 200
    return [row.pk for row in page.context["cl"].result_list]


@pytest.mark.parametrize(
    "text", ['say "umbrella"', "UMBRELLA", "größe\nNext", r"gr\u00f6\u00dfe", "the answer"]
)
@pytest.mark.parametrize("ascii", [True, False])
def test_text_of_short_bodies_is_found(root: Client, text: str, ascii: bool) -> None:
    create_journal_row(request_body="{}")
    content = 'Do not say "umbrella"; größe\nNext'
    body = json.dumps({"content": content}, ensure_ascii=ascii)
    expected_row = create_journal_row(request_body=body, response_body="data: the answer")
    expected = [] if text.startswith(r"gr\u") and not ascii else [expected_row.pk]
    assert search_journal(root, text) == expected


def test_text_of_long_bodies_is_found(root: Client) -> None:
    bodies = list(agent_turns(turns=4))
    table.insert([clean_entry(entry(request_body=body), body_bytes=1_000_000) for body in bodies])
    pks = list(ServedRequest.objects.order_by("-pk").values_list("pk", flat=True))
    assert search_journal(root, "fix bug 0.") == pks
    assert search_journal(root, "größe 1:") == pks[:2]
    assert search_journal(root, "nowhere to be found") == []


def test_filters_limit_the_rows_that_are_searched(root: Client) -> None:
    expected_row = create_journal_row(request_body="umbrella", session="mine")
    create_journal_row(request_body="umbrella", session="other")
    assert search_journal(root, "umbrella", session="mine") == [expected_row.pk]


def test_timed_out_search_shows_its_progress(root: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [create_journal_row(request_body="umbrella") for _ in range(4)]
    clock_times = iter([0.0, 0.5, 1.0, 9.0])
    ids, searched = search_bodies(
        ServedRequest.objects.all(), "umbrella", clock=lambda: next(clock_times)
    )
    assert (ids, searched) == ([rows[3].pk, rows[2].pk], 2)
    monkeypatch.setattr(body_search, "MAX_HITS", 3)
    page = root.get(JOURNAL, {"q": "umbrella"}).content.decode()
    assert "Bodies were searched in the newest 3 of these requests." in page


def test_complete_search_shows_no_message(root: Client) -> None:
    create_journal_row(request_body="umbrella")
    assert "Bodies were searched" not in root.get(JOURNAL, {"q": "umbrella"}).content.decode()
