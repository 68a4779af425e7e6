"""What stays when the journal forgets: how often steps answered; and what people call sessions."""

import pytest
from django.test import Client

from scenarios_app.journal import table
from scenarios_app.journal.coverage import answers, coverage
from scenarios_app.models import PastAnswers, Scenario, ServedRequest, SessionName
from tests.admin.drafting import said
from tests.admin.pages import JOURNAL, LIST, RESET, SESSION, SESSIONS, a_scenario, page_of
from tests.admin.traffic import served

pytestmark = pytest.mark.django_db

RENAME = "/admin/scenarios_app/servedrequest/session/rename/"


def asked(scenario: Scenario, number: int, times: int = 1) -> None:
    step = scenario.steps.order_by("order")[number - 1]
    for _ in range(times):
        served(scenario=scenario.name, step=str(number), step_key=step.key)


def test_coverage_stays_when_the_journal_forgets() -> None:
    scenario = a_scenario("weather", {}, {}, {})
    asked(scenario, 1, times=3)
    asked(scenario, 2)
    before = answers()
    found = coverage()
    for _ in range(2):
        table.trim(1)
    assert ServedRequest.objects.count() == 1
    assert PastAnswers.objects.get().count == 3
    assert answers() == before
    assert coverage() == found
    assert (found.served, found.steps) == (2, 3)
    asked(scenario, 1)
    served(scenario="")
    table.trim(0)
    assert sorted(answers()["weather"].values()) == [1, 4]


def test_a_bar_says_how_many_steps_have_answered(root: Client) -> None:
    scenario = a_scenario("weather", {}, {})
    asked(scenario, 1, times=3)
    page = root.get(page_of(scenario)).content.decode()
    assert '<progress max="2" value="1" aria-label="Steps that have answered">' in page
    assert '<progress max="3" value="3" aria-label="How often it was served"></progress> 3×' in page
    assert 'title="1 of 2 steps answered"' in root.get(LIST).content.decode()
    home = root.get("/").content.decode()
    assert 'value="1" title="1 of 2 steps have answered"' in home


def test_a_reset_of_all_forgets_it(root: Client) -> None:
    scenario = a_scenario("weather", {})
    asked(scenario, 1)
    table.trim(0)
    root.post(RESET, {"name": "default"})
    assert PastAnswers.objects.exists()
    root.post(RESET)
    assert not PastAnswers.objects.exists()


def test_a_session_gets_a_name_and_loses_it(editor: Client) -> None:
    served(session="key-2744", asked="sun")
    page = editor.post(RENAME, {"session": "key-2744", "name": "  Anna's  laptop "}, follow=True)
    assert "The session is called “Anna's laptop”." in said(page)
    for url in (SESSIONS, JOURNAL, f"{SESSION}?name=key-2744", f"{JOURNAL}?q=laptop"):
        text = editor.get(url).content.decode()
        assert "Anna&#x27;s laptop" in text and "key-2744" in text
    editor.post(RENAME, {"session": "key-2744", "name": " "})
    assert not SessionName.objects.exists()


@pytest.mark.parametrize("session", ["", "x" * 256, "a\0"])
def test_what_is_no_session_gets_no_name(editor: Client, session: str) -> None:
    page = editor.post(RENAME, {"session": session, "name": "n"}, follow=True)
    assert "the name of no session" in said(page)
    assert not SessionName.objects.exists()


def test_readers_name_nothing(reader: Client) -> None:
    assert reader.post(RENAME, {"session": "a", "name": "n"}).status_code == 403
