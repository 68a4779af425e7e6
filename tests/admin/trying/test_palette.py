"""The search of Ctrl+K."""

import re
from html import unescape

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from scenarios_app.admin import palette
from scenarios_app.admin.palette import MAX_RESULTS
from scenarios_app.engine.state import StateUnavailable
from scenarios_app.models import SessionName
from tests.admin.drafting import edit_as_draft
from tests.admin.pages import create_scenario
from tests.admin.traffic import create_journal_row

pytestmark = pytest.mark.django_db

SEARCH = "/admin/search/"


def results(client: Client, term: str) -> list[tuple[str, str]]:
    """Return title and kind of each result."""
    html = client.get(SEARCH, {"s": term}).content.decode()
    lines = re.findall(r"<span>([^<]*)</span><small>([^<]*)</small>", html)
    return [(unescape(title), unescape(kind).partition(",")[0]) for title, kind in lines]


def test_scenarios_drafts_sessions_and_requests_are_results(root: Client) -> None:
    edit_as_draft(root, create_scenario("refunds <b>", {"match.messages(user)": "refund"}))
    SessionName.objects.create(session="key-0123456789ab", name="Refund run")
    row = create_journal_row(session="key-0123456789ab", request_preview="Please refund me.")
    assert results(root, "REFUND") == [
        ("refunds <b>", "Scenario"),
        ("refunds <b>", "Draft"),
        ("Refund run", "Session"),
        ("Please refund me.", "Request"),
    ]
    assert results(root, "key-0123") == [("Refund run", "Session")]
    assert results(root, str(row.uid)) == [("Please refund me.", "Request")]
    assert ("Journal", "Page") in results(root, "journ")
    assert "No results for “nothing&lt;”." in root.get(SEARCH, {"s": "nothing<"}).content.decode()
    assert results(root, " ") == results(root, "\0") == []


def test_each_kind_has_few_results_and_names_that_begin_with_the_text_come_first(
    root: Client,
) -> None:
    for number in range(MAX_RESULTS + 1):
        create_scenario(f"a weather {number}", {})
    create_scenario("weather", {})
    scenarios = [title for title, kind in results(root, "weather") if kind == "Scenario"]
    assert scenarios[0] == "weather" and len(scenarios) == MAX_RESULTS


@pytest.mark.parametrize(
    ("permission", "kinds"),
    [
        (None, set()),
        ("view_scenario", {"Page", "Scenario"}),
        ("view_draft", {"Draft"}),
        ("view_servedrequest", {"Session", "Request"}),
    ],
)
def test_results_are_those_that_the_user_may_see(
    root: Client, client: Client, permission: str | None, kinds: set[str]
) -> None:
    edit_as_draft(root, create_scenario("tests", {}))
    create_journal_row(session="test", request_preview="A test.")
    user = User.objects.create_user("reader", password="x", is_staff=True)
    if permission:
        user.user_permissions.add(Permission.objects.get(codename=permission))
    client.force_login(user)
    assert {kind for _, kind in results(client, "test")} == kinds


def test_new_result_is_found_at_once(root: Client) -> None:
    create_scenario("weather", {})
    assert len(results(root, "weather")) == 1
    create_scenario("weather 2", {})
    assert len(results(root, "weather")) == 2


def test_pages_and_scenarios_are_found_without_the_state_of_sessions(
    root: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> None:
        raise StateUnavailable("redis is gone")

    monkeypatch.setattr(palette, "find_sessions", fail)
    create_scenario("weather", {})
    create_journal_row(request_preview="The weather?")
    assert results(root, "weather") == [("weather", "Scenario"), ("The weather?", "Request")]
