"""The admin's start page, and user accounts."""

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.test import Client
from django.utils.html import escape

from scenarios_app.admin.site import shipped_names
from scenarios_app.catalog import Catalog
from scenarios_app.models import Scenario
from tests.admin.chat.talks import create_conversation
from tests.admin.pages import create_scenario
from tests.admin.traffic import create_journal_row, create_unmatched_row
from traces_app.models import Trace

pytestmark = pytest.mark.django_db


def tile_counts(client: Client) -> dict[str, int]:
    return {name: figure for name, figure, *_ in client.get("/admin/").context["tiles"]}


def test_overview_counts_scenarios_errors_requests_and_unmatched(root: Client) -> None:
    create_scenario("fine", {}), create_scenario("off", {}, enabled=False)
    create_scenario("broken", {"produce.text": "{{ x }}"}, {"produce.text": "{{ y }}"})
    create_journal_row(), create_unmatched_row()
    assert tile_counts(root) == {
        "Scenarios enabled": 2,
        "Not served: errors": 1,
        "Requests in the journal": 2,
        "Unmatched requests": 1,
    }


@pytest.mark.parametrize("page", ["/admin/", "/admin/scenarios_app/scenario/"])
def test_problems_of_scenario_files_are_on_the_overview_and_the_list(
    root: Client, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    assert 'id="file-problems"' not in root.get(page).content.decode()
    problem = "a.json:3:5: steps[0].<b>: unknown key"
    monkeypatch.setattr(Catalog, "file_problems", (problem,))
    assert f"<li><code>{escape(problem)}</code></li>" in root.get(page).content.decode()


def test_overview_figures_link_to_filtered_lists(root: Client) -> None:
    create_scenario("fine", {}), create_scenario("off", {}, enabled=False)
    create_scenario("broken", {"produce.text": "{{ x }}"})
    create_journal_row(), create_unmatched_row()
    tiles = root.get("/admin/").context["tiles"]
    assert len(tiles) == 4
    for _, figure, url, _ in tiles:
        assert len(root.get(url).context["cl"].result_list) == figure


def test_overview_shows_base_urls_for_sdks(root: Client) -> None:
    html = root.get("/admin/", headers={"host": "localhost:8123"}).content.decode()
    assert "http://localhost:8123/v1" in html


def test_overview_lists_unmatched_requests_with_reasons(root: Client) -> None:
    mismatch = {"field": "match.model", "expected": "equals gpt-5", "actual": "gpt-4o"}
    create_unmatched_row(
        near_misses=[{"scenario": "weather", "step": "1", "mismatches": [mismatch]}]
    )
    create_unmatched_row(path="/v1/odd")
    html = root.get("/admin/").content.decode()
    assert "wanted equals gpt-5" in html and "got gpt-4o" in html and "/v1/odd" in html


def done_steps(client: Client) -> list[bool]:
    return [step["done"] for step in client.get("/admin/").context["first_steps"]]


def test_first_steps_are_ticked_and_disappear_when_all_are_done(
    root: Client,
) -> None:
    call_command("loaddata", "demo", "auto", verbosity=0)
    assert done_steps(root) == [False, False, False]
    assert "First three steps" in root.get("/admin/").content.decode()
    create_journal_row(scenario="greeting")
    assert done_steps(root) == [True, False, False]
    create_scenario("mine", {})
    assert done_steps(root) == [True, True, False]
    create_journal_row(scenario="mine")
    assert done_steps(root) == []
    assert "First three steps" not in root.get("/admin/").content.decode()


def test_own_scenario_named_like_a_shipped_one_counts_as_made(root: Client) -> None:
    call_command("loaddata", "demo", verbosity=0)
    Scenario.objects.get(name="greeting").delete()
    assert done_steps(root) == [False, False, False]
    create_scenario("greeting", {})
    assert done_steps(root) == [False, True, False]
    create_journal_row(scenario="greeting")
    assert done_steps(root) == []


def test_shipped_scenarios_are_those_of_the_fixtures_that_a_first_start_loads() -> None:
    call_command("loaddata", "demo", "auto", "test_mode", verbosity=0)
    assert set(Scenario.objects.values_list("name", flat=True)) == shipped_names()


def test_overview_hides_figures_without_permission() -> None:
    create_journal_row()
    client = Client()
    client.force_login(User.objects.create_user("bare", is_staff=True))
    assert tile_counts(client) == {}
    assert "First three steps" not in client.get("/admin/").content.decode()


def test_users_are_created_and_get_a_role(root: Client) -> None:
    response = root.post("/admin/auth/user/add/", {"username": "eva", "password": "long enough 9"})
    eva = User.objects.get(username="eva")
    assert response["Location"] == f"/admin/auth/user/{eva.pk}/change/"
    for url in (response["Location"], "/admin/auth/group/", "/admin/auth/user/"):
        assert root.get(url).status_code == 200
    assert {"QA editor", "QA read-only"} <= set(Group.objects.values_list("name", flat=True))


def test_lists_and_pages_write_times_in_one_format(root: Client) -> None:
    conversation = create_conversation("words")
    created_at = conversation.created_at
    html = root.get("/admin/chat_app/conversation/").content.decode()
    assert f"{created_at:%Y-%m-%d %H:%M:%S} UTC" in html


def test_trace_page_shows_no_owner_and_no_lease(root: Client) -> None:
    trace = Trace.objects.filter(conversation=create_conversation("words")).first()
    assert trace is not None
    Trace.objects.filter(pk=trace.pk).update(owner="machine:4711")
    html = root.get(f"/admin/traces_app/trace/{trace.pk}/change/").content.decode()
    assert f"{trace.started_at:%Y-%m-%d %H:%M:%S}" in html
    assert "machine:4711" not in html and "Lease" not in html
