"""Data that survives pruning of the journal: coverage and display names of sessions."""

import pytest
from django.test import Client

from scenarios_app.journal import table
from scenarios_app.journal.coverage import answer_counts, coverage
from scenarios_app.models import PastAnswers, Scenario, ServedRequest, SessionName
from tests.admin.drafting import message_text
from tests.admin.pages import JOURNAL, LIST, RESET, SESSION, SESSIONS, create_scenario, page_of
from tests.admin.traffic import create_journal_row

pytestmark = pytest.mark.django_db

RENAME = "/admin/scenarios_app/servedrequest/session/rename/"


def record_answers(scenario: Scenario, number: int, times: int = 1) -> None:
    step = scenario.steps.order_by("order")[number - 1]
    for _ in range(times):
        create_journal_row(scenario=scenario.name, step=str(number), step_key=step.key)


def test_coverage_survives_pruning_of_the_journal() -> None:
    scenario = create_scenario("weather", {}, {}, {})
    record_answers(scenario, 1, times=3)
    record_answers(scenario, 2)
    before = answer_counts()
    step_coverage = coverage()
    for _ in range(2):
        table.trim(1)
    assert ServedRequest.objects.count() == 1
    assert PastAnswers.objects.get().count == 3
    assert answer_counts() == before
    assert coverage() == step_coverage
    assert (step_coverage.served, step_coverage.steps) == (2, 3)
    record_answers(scenario, 1)
    create_journal_row(scenario="")
    table.trim(0)
    assert sorted(answer_counts()["weather"].values()) == [1, 4]


def test_progress_bar_shows_how_many_steps_have_answered(root: Client) -> None:
    scenario = create_scenario("weather", {}, {})
    record_answers(scenario, 1, times=3)
    page = root.get(page_of(scenario)).content.decode()
    assert '<progress max="2" value="1" aria-label="Steps that have answered">' in page
    assert '<progress max="3" value="3" aria-label="How often it was served"></progress> 3×' in page
    assert 'title="1 of 2 steps answered"' in root.get(LIST).content.decode()
    home = root.get("/").content.decode()
    assert 'value="1" title="1 of 2 steps have answered"' in home


def test_reset_of_all_sessions_clears_the_coverage(root: Client) -> None:
    scenario = create_scenario("weather", {})
    record_answers(scenario, 1)
    table.trim(0)
    root.post(RESET, {"name": "default"})
    assert PastAnswers.objects.exists()
    root.post(RESET)
    assert not PastAnswers.objects.exists()


def test_session_gets_and_loses_a_display_name(editor: Client) -> None:
    create_journal_row(session="key-2744", request_preview="sun")
    page = editor.post(RENAME, {"session": "key-2744", "name": "  Anna's  laptop "}, follow=True)
    assert "The display name is “Anna's laptop”." in message_text(page)
    for url in (SESSIONS, JOURNAL, f"{SESSION}?name=key-2744", f"{JOURNAL}?q=laptop"):
        text = editor.get(url).content.decode()
        assert "Anna&#x27;s laptop" in text and "key-2744" in text
    editor.post(RENAME, {"session": "key-2744", "name": " "})
    assert not SessionName.objects.exists()


@pytest.mark.parametrize("session", ["", "x" * 256, "a\0"])
def test_invalid_session_gets_no_display_name(editor: Client, session: str) -> None:
    page = editor.post(RENAME, {"session": session, "name": "n"}, follow=True)
    assert "There is no such session." in message_text(page)
    assert not SessionName.objects.exists()


def test_reader_cannot_rename_sessions(reader: Client) -> None:
    assert reader.post(RENAME, {"session": "a", "name": "n"}).status_code == 403
