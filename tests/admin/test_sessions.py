"""Session pages: their state, and the reset button."""

import re
from dataclasses import replace
from datetime import timedelta
from html import unescape

import pytest
from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.test import Client

from scenarios_app.admin.journal import verdict
from scenarios_app.admin.journal.sessions import reset_session
from scenarios_app.catalog import catalog
from scenarios_app.engine.state import AttemptRef, SessionState, StepRef, put_scenario
from scenarios_app.models import Scenario, ServedRequest, SessionName
from scenarios_app.serving.services import services
from tests.admin.pages import RESET, SESSION, SESSIONS, create_scenario, fields, save
from tests.admin.traffic import NOON, create_journal_row, create_unmatched_row

pytestmark = pytest.mark.django_db

BODY = '{"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}'
ODD_SESSION = 'a/b?c&d=<é>"'


@pytest.fixture
def busy_session(db: None) -> str:
    """Create a session with every kind of state, and return its name."""
    scenario = create_scenario("weather", {}, {})
    first_step, second_step = scenario.steps.all()
    state = services().state
    async_to_sync(state.arrive)(ODD_SESSION)
    async_to_sync(state.consume)(ODD_SESSION, StepRef("weather", first_step.key, "ask"))
    attempt = AttemptRef(StepRef("weather", second_step.key, "busy one"), "openai")
    async_to_sync(state.count_failure)(ODD_SESSION, attempt, times=3)
    async_to_sync(state.increment)(ODD_SESSION, "weather_calls")
    async_to_sync(state.add_violation)(ODD_SESSION, "Tools not available: get_weather")
    async_to_sync(put_scenario)(state, ODD_SESSION, "my own", {"name": "my own", "steps": []})
    (
        create_journal_row(session=ODD_SESSION),
        create_unmatched_row(session=ODD_SESSION, way="match"),
        create_journal_row(session="quiet"),
    )
    return ODD_SESSION


def state_of(name: str) -> SessionState:
    return async_to_sync(services().state.read)(name)


def test_sessions_are_listed_by_last_use(root: Client, busy_session: str) -> None:
    lines = root.get(SESSIONS).context["lines"]
    assert [line.name for line in lines] == ["quiet", busy_session]
    assert (lines[1].seen.requests, lines[1].seen.unmatched) == (2, 1)
    assert len(lines[1].state.consumed) == 1


def test_session_without_requests_is_names_by_session(root: Client) -> None:
    async_to_sync(services().state.arrive)("fresh")
    assert [line.name for line in root.get(SESSIONS).context["lines"]] == ["fresh"]


def test_session_page_shows_used_steps_attempts_and_counters(
    root: Client, busy_session: str
) -> None:
    (_, line) = root.get(SESSIONS).context["lines"]
    html = unescape(root.get(line.url).content.decode())
    for text in ("step ask", "step busy one", "weather_calls", "1×", "my own", "openai"):
        assert text in html
    assert "Tools not available: get_weather" in html and "2 requests in the journal" in html


def test_session_page_links_to_scenarios(root: Client, busy_session: str) -> None:
    response = root.get(SESSION, {"name": busy_session})
    (url,) = response.context["pages"].values()
    assert root.get(url).context["original"].name == "weather"
    assert url.startswith("/admin/") and f'href="{url}"' in response.content.decode()


def test_reset_clears_session_and_journal(root: Client, busy_session: str) -> None:
    page = root.get(SESSION, {"name": busy_session})
    form_data = fields(page.content.decode(), "reset_form")
    assert form_data["name"] == busy_session
    response = root.post(RESET, form_data, follow=True)
    assert "is reset" in response.content.decode()
    assert state_of(busy_session) == SessionState(busy_session)
    assert list(ServedRequest.objects.values_list("session", flat=True)) == ["quiet"]
    assert async_to_sync(services().state.scenarios_of)(busy_session)[1] != {}


def test_reset_removes_private_scenarios_only_on_request(root: Client, busy_session: str) -> None:
    root.post(RESET, {"name": busy_session, "scenarios": "on"})
    assert async_to_sync(services().state.scenarios_of)(busy_session)[1] == {}


def test_reset_of_all_sessions_clears_every_session(root: Client, busy_session: str) -> None:
    async_to_sync(services().state.arrive)("other")
    root.post(RESET, {})
    assert state_of(busy_session).ordinal == state_of("other").ordinal == 0
    assert not ServedRequest.objects.exists()


def test_reset_needs_a_csrf_token(root: Client, busy_session: str) -> None:
    assert root.get(RESET, {"name": busy_session}).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = root.cookies
    assert strict.post(RESET, {"name": busy_session}).status_code == 403
    assert state_of(busy_session).ordinal == 1


def test_edit_of_a_scenario_keeps_session_state(root: Client, busy_session: str) -> None:
    scenario = Scenario.objects.get()
    before = state_of(busy_session)
    assert save(root, scenario, description="new").status_code == 302
    assert save(root, scenario, **{"steps-0-produce.text": "new"}).status_code == 302
    assert state_of(busy_session) == before


def test_reset_clears_the_steps_served_to_the_session() -> None:
    steps = services().steps
    steps.count_answer("gone", ("s", "1"), fault="", refused=False)
    reset_session("gone", scenarios=False)
    assert steps.served_in("gone") == frozenset()


def test_page_shows_the_findings_of_the_control_api_with_their_requests(
    root: Client, busy_session: str
) -> None:
    row = ServedRequest.objects.get(session=busy_session, matched=False)
    html = unescape(root.get(SESSION, {"name": busy_session}).content.decode())
    body = root.get("/control/verdict", {"session": busy_session}).json()
    card = root.get(SESSION, {"name": busy_session}).context["verdict"]
    assert (card.passed, card.requests) == (body["passed"], body["requests"]) == (False, 2)
    assert [(group.title, group.count) for group in card.groups] == [
        ("Unmatched requests", len(body["unmatched"])),
        ("Violations", len(body["violations"])),
    ]
    assert f'href="/admin/scenarios_app/servedrequest/{row.pk}/change/"' in html


def test_page_shows_undecided_retries_as_notes(root: Client) -> None:
    sent = {"session": "s", "request_body": BODY, "request_headers": {"authorization": "Bearer k"}}
    create_journal_row(**sent, at=NOON, status=401)
    create_journal_row(**sent, at=NOON + timedelta(seconds=1), status=401)
    page = root.get(SESSION, {"name": "s"})
    (notes,) = page.context["verdict"].groups
    assert (notes.title, notes.count, notes.fails) == ("Notes", 1, False)
    assert notes.lines[0].rule == "retries-undecided"
    assert notes.lines[0].text.startswith("2 identical requests failed")
    assert page.context["verdict"].passed
    assert "notes do not fail the verdict" in page.content.decode()


def test_page_names_unused_steps_and_client_findings(root: Client) -> None:
    private_scenario = {"name": "mine", "steps": [{"name": "never", "produce": {"text": "x"}}]}
    async_to_sync(put_scenario)(services().state, "s", "mine", private_scenario)
    sent = {"session": "s", "request_body": BODY, "request_headers": {"authorization": "Bearer k"}}
    create_journal_row(**sent, at=NOON, status=429, response_headers={"retry-after": "9"})
    repeated_request = create_journal_row(**sent, at=NOON + timedelta(seconds=1))
    card = root.get(SESSION, {"name": "s"}).context["verdict"]
    unused, findings = card.groups
    assert (unused.title, unused.lines[0].scenario, unused.lines[0].step) == (
        "Unused steps",
        "mine",
        "never",
    )
    assert findings.title == "Client findings"
    assert findings.lines[0].rule == "retry-after-ignored"
    url = f"/admin/scenarios_app/servedrequest/{repeated_request.pk}/change/"
    assert findings.lines[0].links[-1].startswith(f'<a class="sc-link" href="{url}"')


def test_page_of_a_session_without_a_request_has_nothing_to_judge(root: Client) -> None:
    html = root.get(SESSION, {"name": "nobody"}).content.decode()
    assert "No request to judge." in html


@pytest.fixture
def judged_names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sessions that are judged, with no kept verdicts and a catalog that stays the same."""
    names: list[str] = []
    judge, snapshot = verdict.judge_session, catalog.snapshot()
    monkeypatch.setattr(verdict, "verdicts", verdict.VerdictCache())
    monkeypatch.setattr(verdict, "judge_session", lambda name: names.append(name) or judge(name))
    monkeypatch.setattr(verdict.catalog, "snapshot", lambda: snapshot)
    return names


def verdicts_of(page: HttpResponse) -> dict[str, bool | None]:
    return {line.name: line.passed for line in page.context["lines"]}


def test_each_view_of_the_list_judges_some_sessions(
    root: Client, busy_session: str, judged_names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    create_journal_row(session="older", at=NOON - timedelta(days=1))
    monkeypatch.setattr(verdict, "MAX_JUDGED_REQUESTS", 1)
    page = root.get(SESSIONS)
    assert verdicts_of(page) == {"quiet": True, "older": None, busy_session: False}
    assert 'hx-trigger="load' in page.content.decode()
    page = root.get(SESSIONS)
    assert verdicts_of(page) == {"quiet": True, "older": True, busy_session: False}
    assert 'hx-trigger="load' not in page.content.decode()
    assert judged_names == ["quiet", "older"]


def test_list_does_not_judge_long_sessions(
    root: Client, judged_names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdict, "MAX_SESSION_REQUESTS", 1)
    create_journal_row(session="long"), create_journal_row(session="long")
    page = root.get(SESSIONS)
    assert (verdicts_of(page), page.context["waiting"]) == ({"long": None}, False)
    assert "Not judged here" in page.content.decode()
    assert root.get(SESSION, {"name": "long"}).context["verdict"].passed


def test_verdict_is_kept_until_its_session_changes(root: Client, judged_names: list[str]) -> None:
    create_journal_row(session="s")
    assert root.get(SESSION, {"name": "s"}).context["verdict"].passed
    assert verdicts_of(root.get(SESSIONS)) == {"s": True}
    assert judged_names == ["s"]
    create_journal_row(session="other")
    assert verdicts_of(root.get(SESSIONS)) == {"s": True, "other": True}
    assert judged_names == ["s", "other"]
    private_scenario = {"name": "mine", "steps": [{"name": "never", "produce": {"text": "x"}}]}
    async_to_sync(put_scenario)(services().state, "s", "mine", private_scenario)
    assert verdicts_of(root.get(SESSIONS)) == {"s": False, "other": True}
    create_unmatched_row(session="s", way="match")
    assert root.get(SESSION, {"name": "s"}).context["verdict"].requests == 2
    assert judged_names == ["s", "other", "s", "s"]


def test_change_of_a_scenario_ends_all_kept_verdicts(
    root: Client, judged_names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    create_journal_row(session="s")
    root.get(SESSIONS)
    other = replace(catalog.snapshot(), number=-1)
    monkeypatch.setattr(verdict.catalog, "snapshot", lambda: other)
    root.get(SESSIONS), root.get(SESSIONS)
    assert judged_names == ["s", "s"]


def test_sessions_have_names_for_people_and_a_search(root: Client) -> None:
    first, second, third = (f"key-{number:012x}" for number in range(3))
    chat = "chat-2f6c1f9e-6a3a-4a54-8d0a-0d9a4b1f3c11"
    create_journal_row(session=first, request_preview="What is the weather?")
    create_journal_row(session=first, request_preview="And tomorrow?")
    create_journal_row(session=second, request_preview="Refund me.")
    create_journal_row(session=third, request_preview="Hello.")
    create_journal_row(session=chat, request_preview="Hi there.")
    create_journal_row(session="nightly run", request_preview="Hello.")
    async_to_sync(put_scenario)(services().state, second, "refunds", {"name": "refunds"})
    SessionName.objects.create(session=third, name="Smoke test")

    def names_by_session(query: str) -> dict[str, str]:
        return {
            line.name: line.called for line in root.get(SESSIONS, {"q": query}).context["lines"]
        }

    assert names_by_session("") == {
        first: "“What is the weather?”",
        second: "refunds",
        third: "Smoke test",
        chat: "“Hi there.”",
        "nightly run": "",
    }
    assert list(names_by_session("WEATHER")) == list(names_by_session(first)) == [first]
    assert list(names_by_session("smoke")) == [third] and list(names_by_session("nightly")) == [
        "nightly run"
    ]
    html = root.get(SESSIONS, {"q": "<b>"}).content.decode()
    assert "name or key contains “&lt;b&gt;”" in html
    assert "Session refunds" in root.get(SESSION, {"name": second}).content.decode()


def test_session_shows_near_misses_as_the_page_of_the_request_does(root: Client) -> None:
    create_scenario("weather", {"match.messages(user)": "sun"})
    mismatch = {"field": "messages", "expected": "contains “sun”", "actual": "hello"}
    misses = [{"scenario": "weather", "step": "1", "mismatches": [mismatch]}]
    row = create_unmatched_row(session="s", way="match", near_misses=misses)
    page = f"/admin/scenarios_app/servedrequest/{row.pk}/change/"
    tables = [
        re.findall(r'<h3><a class="sc-link".*?</table>', root.get(url).content.decode(), re.DOTALL)
        for url in (page, f"{SESSION}?name=s")
    ]
    assert tables[0] == tables[1] and len(tables[0]) == 1
    assert "contains “sun”" in tables[0][0]
