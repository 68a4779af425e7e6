"""The first page: base URLs for SDKs, today's traffic, coverage, and links."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from mockllm_site.pages.home import MAX_UNUSED_SHOWN, sdk_setups
from scenarios_app.journal.coverage import coverage
from scenarios_app.models import Step
from tests.admin.pages import create_scenario
from tests.admin.traffic import create_journal_row, create_unmatched_row

pytestmark = pytest.mark.django_db


def test_each_sdk_has_an_address_to_copy(client: Client) -> None:
    page = client.get("/").content.decode()
    for setup in sdk_setups("http://testserver"):
        assert setup.name in page
        assert f'data-copy="{setup.base_url}"' in page
    assert "/v1" in sdk_setups("http://testserver")[0].base_url


def test_traffic_counts_only_today(client: Client) -> None:
    now = datetime.now(UTC)
    create_journal_row(at=now)
    create_unmatched_row(at=now)
    create_journal_row(at=now - timedelta(days=1))
    traffic = client.get("/").context["traffic"]
    assert (traffic.requests, traffic.unmatched) == (2, 1)


def test_coverage_counts_the_steps_that_have_answered() -> None:
    scenario = create_scenario("weather", {"name": "first"}, {"name": "second"})
    key = Step.objects.get(order=1).key
    create_journal_row(scenario="weather", step="first", step_key=key)
    report = coverage()
    assert (report.served, report.steps, report.percent) == (1, 2, 50)
    assert [(unserved.scenario, unserved.steps) for unserved in report.unserved] == [
        ("weather", ("second",))
    ]
    scenario.enabled = False
    scenario.save()
    assert (coverage().steps, coverage().percent) == (0, 0)


def test_steps_that_never_answered_are_named(client: Client) -> None:
    for number in range(MAX_UNUSED_SHOWN + 2):
        create_scenario(f"number {number:02}", {"name": f"<b>step {number}</b>"})
    page = client.get("/").content.decode()
    assert "&lt;b&gt;step 0&lt;/b&gt;" in page
    assert "And 2 more scenarios." in page


def test_names_of_scenarios_need_a_login_in_prod(
    client: Client, settings: Any, django_user_model: Any
) -> None:
    settings.MOCKLLM_ENV = "prod"
    create_scenario("secret", {})
    assert "secret" not in client.get("/").content.decode()
    client.force_login(django_user_model.objects.create_user("somebody"))
    assert "secret" in client.get("/").content.decode()


@pytest.mark.parametrize(
    ("host", "token", "words"),
    [
        ("testserver", "", "is open to this machine"),
        ("mock.example", "a-token-of-tests", "needs the token MOCKLLM_CONTROL_TOKEN"),
        ("mock.example", "", "is closed here"),
    ],
)
def test_the_page_says_what_the_control_api_needs(
    client: Client, settings: Any, host: str, token: str, words: str
) -> None:
    settings.ALLOWED_HOSTS = ["testserver", "mock.example"]
    settings.MOCKLLM_CONTROL_TOKEN = token
    answer = client.get("/", headers={"host": host})
    assert words in answer.content.decode()


@pytest.mark.parametrize(
    "path",
    [
        "/", "/chat/", "/chat/leaderboard/", "/journal/", "/docs/", "/control/docs/", "/api/docs/",
        "/traces/7/",
    ],
)  # fmt: skip
def test_pages_outside_the_admin_allow_neither_eval_nor_inline_code(
    client: Client, path: str
) -> None:
    policy = client.get(path).headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self'") and "unsafe" not in policy


@pytest.mark.parametrize("path", ["/chat/", "/chat/leaderboard/", "/traces/7/"])
def test_in_prod_pages_want_a_login(client: Client, settings: Any, path: str) -> None:
    settings.MOCKLLM_ENV = "prod"
    answer = client.get(path)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/admin/login/?next={path}")
