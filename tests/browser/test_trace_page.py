"""The page of a trace in a browser."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from scenarios_app.models import Draft, Scenario
from scenarios_app.store.drafts import plan_publication, publish
from tests.admin.chat.talks import create_conversation
from tests.browser.conftest import Admin, OpenPage
from tests.chat.api_client import Api
from tests.chat.chat_helpers import scenario
from tests.chat.scripts import TOOL_CALL
from tests.support.live_server import Live
from traces_app.models import Status, Trace

pytestmark = pytest.mark.browser

HOSTILE = '<img src=x onerror="window.hit = 1">'


@pytest.fixture
def api(live: Live) -> Api:
    return Api(live.base_url)


def test_waterfall_shows_model_calls_tools_and_first_token(
    open_page: OpenPage, live: Live, api: Api
) -> None:
    live.load(scenario({"text": "Let me add.", **TOOL_CALL}, {"text": "It is 3."}))
    stream = api.send("What is 1 + 2?")
    page = open_page()
    page.goto(f"{live.base_url}/traces/{stream.trace_id}/")
    row_kinds = page.locator(".waterfall tbody tr").evaluate_all(
        "rows => rows.map(r => r.dataset.kind)"
    )
    assert row_kinds == ["run", "call", "tool", "call"]
    assert page.locator(".waterfall line.first").count() == 2
    expect(page.locator(".head")).to_contain_text("completed")
    expect(page.locator(".totals")).to_contain_text("demo")
    assert page.locator(".events tbody tr").count() == len(stream.events)


def test_scenario_made_from_a_trace_gives_the_same_answers(
    open_page: OpenPage, live: Live, api: Api
) -> None:
    live.load(scenario({"text": "Let me add.", **TOOL_CALL}, {"text": "It is 3."}))
    stream = api.send("What is 1 + 2?")
    page = open_page()
    page.goto(f"{live.base_url}/traces/{stream.trace_id}/")
    page.click("#make")
    expect(page.locator("#scenario")).to_be_visible()
    text = page.locator("#document").inner_text()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#copy")
    expect(page.locator("#copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == text
    document = json.loads(text)
    Scenario.objects.all().delete()
    live.load(document)
    replayed_stream = api.send("What is 1 + 2?")
    assert replayed_stream.text == stream.text
    assert (
        replayed_stream.of("tool_start")[0]["tool_call_id"]
        == stream.of("tool_start")[0]["tool_call_id"]
    )


def test_draft_made_from_a_trace_gives_the_same_answers_once_published(
    admin: Admin, live: Live, api: Api
) -> None:
    live.load(scenario({"text": "Let me add.", **TOOL_CALL}, {"text": "It is 3."}))
    stream = api.send("What is 1 + 2?")
    Scenario.objects.all().delete()
    page = admin.page
    page.goto(f"{live.base_url}/traces/{stream.trace_id}/")
    page.get_by_role("button", name="Make a scenario of it").click()
    expect(page.get_by_text("Saved as a draft.")).to_be_visible()
    draft = Draft.objects.get()
    assert page.url.endswith(f"/draft/{draft.pk}/change/")
    publish(draft, seen=plan_publication(draft).token)
    assert api.send("What is 1 + 2?").text == stream.text


def test_anonymous_visitor_returns_to_the_trace_after_login(
    open_page: OpenPage, live: Live, api: Api
) -> None:
    live.load(scenario({"text": "Hi."}))
    path = f"/traces/{api.send('Hello').trace_id}/"
    page = open_page()
    page.goto(f"{live.base_url}{path}")
    page.get_by_role("link", name="Log in to make a scenario of it").click()
    assert page.url == f"{live.base_url}/admin/login/?next={path}"


def test_trace_that_makes_no_draft_says_why(
    log_in: Callable[..., Admin], live: Live, api: Api
) -> None:
    live.load(scenario({"text": "Hi."}))
    stream = api.send("Hello")
    Trace.objects.update(status=Status.CANCELLED)
    page = log_in(allow_failed_requests=True).page
    page.goto(f"{live.base_url}/traces/{stream.trace_id}/")
    page.get_by_role("button", name="Make a scenario of it").click()
    expect(page.locator("#error-banner")).to_contain_text("The run was cancelled")
    assert not Draft.objects.exists()


def test_trace_that_cannot_be_replayed_says_why(open_page: OpenPage, live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi."}))
    stream = api.send("Hello")
    Trace.objects.update(status=Status.CANCELLED)
    page = open_page(allow_failed_requests=True)
    page.goto(f"{live.base_url}/traces/{stream.trace_id}/")
    page.click("#make")
    expect(page.locator("#error-banner")).to_contain_text("The run was cancelled")
    expect(page.locator("#scenario")).to_be_hidden()


def test_trace_of_a_failed_run_shows_the_error(open_page: OpenPage, live: Live, api: Api) -> None:
    live.load(scenario({"fault": {"kind": "rate_limit"}}))
    stream = api.send("Hello")
    page = open_page()
    page.goto(f"{live.base_url}/traces/{stream.trace_id}/")
    expect(page.locator(".banner:visible")).to_have_text("RATE_LIMITED: Rate limited, try again")
    expect(page.locator("rect.failed")).to_have_count(1)


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (420, False)])
def test_trace_values_are_text_and_the_page_fits(
    open_page: OpenPage, live: Live, api: Api, width: int, dark: bool
) -> None:
    call = {"tool_calls": [{"name": HOSTILE, "arguments": {HOSTILE: HOSTILE * 20}}]}
    live.load(scenario({"reasoning": HOSTILE, "text": HOSTILE, **call}, {"text": HOSTILE}))
    stream = api.send(HOSTILE)
    page = open_page(width=width, dark=dark)
    page.goto(f"{live.base_url}/traces/{stream.trace_id}/")
    expect(page.locator(".events")).to_contain_text("onerror")
    assert page.evaluate("window.hit") is None
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_list_of_traces_breaks_neither_times_nor_hidden_profiles(admin: Admin) -> None:
    create_conversation()
    admin.go("traces_app/trace/")
    row = admin.page.locator("#result_list tbody tr").first
    expect(row).to_contain_text("hidden until the vote")
    for text in row.locator(".sc-unbroken, .sc-under").all():
        lines = text.evaluate(
            "e => e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight)"
        )
        assert lines < 1.5, text.inner_text()
    assert row.locator(".sc-unbroken, .sc-under").count() == 3
    table = admin.page.locator("#result_list")
    assert table.evaluate("e => e.scrollWidth <= e.parentElement.clientWidth")


def test_question_of_a_trace_is_aligned_as_its_other_fields(log_in: Callable[..., Admin]) -> None:
    create_conversation()
    admin = log_in(width=420)
    admin.go(f"traces_app/trace/{Trace.objects.all()[0].pk}/change/")
    question = admin.page.locator(".sc-question")
    assert question.evaluate("e => getComputedStyle(e).textAlign") == "start"


def test_unknown_trace_is_not_found(live: Live, open_page: OpenPage) -> None:
    page = open_page(allow_failed_requests=True)
    answer = page.goto(f"{live.base_url}/traces/7/")
    assert answer is not None and answer.status == 404
