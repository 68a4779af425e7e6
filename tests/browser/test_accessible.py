"""Accessibility: axe violations, keyboard access, error pages and themes."""

from collections.abc import Callable
from urllib.parse import quote

import httpx2
import pytest
from django.contrib.auth.models import Group
from playwright.sync_api import Page, expect

from chat_app.models import ABComparison, Conversation, Message
from mockllm_site.kit.admin.records import admin_url
from mockllm_site.roles import EDITOR
from scenarios_app.models import Scenario
from scenarios_app.store.drafts import get_or_create_draft
from scenarios_app.store.history import versions_of
from tests.admin.chat.talks import create_conversation
from tests.admin.pages import create_scenario
from tests.browser.axe import violations
from tests.browser.conftest import OPERATOR, Admin, OpenPage
from tests.browser.editing import page_of
from tests.browser.measuring import disable_animations
from tests.chat.api_client import Api
from tests.chat.chat_helpers import scenario
from tests.chat.scripts import TOOL_CALL
from tests.support.live_server import Live
from traces_app.models import Trace, TraceEvent

pytestmark = pytest.mark.browser

STEPS = (
    {"name": "rain", "match.messages(user)": "rain", "consume": False, "produce.text": "TODO"},
    {"name": "sun", "match.messages(user)": "sun", "produce.tool_calls": [{"name": "f"}]},
)
MAX_TAB_PRESSES = 6
# Records that people add and change, with the path to their conversation.
RECORDS = {
    Conversation: "pk",
    Message: "conversation",
    ABComparison: "conversation",
    Trace: "conversation",
    TraceEvent: "trace__conversation",
}
# Divided into tests, so that none takes long.
PARTS = 5
# The suite checks the two that differ most; `make test-long` checks all.
THEMES_AND_WIDTHS = [
    pytest.param(
        dark,
        width,
        id=f"{'dark' if dark else 'light'}_{width}",
        marks=() if (dark, width) in {(False, 1280), (True, 420)} else pytest.mark.long,
    )
    for dark in (False, True)
    for width in (1280, 640, 420)
]


@pytest.fixture
def paths(live: Live) -> list[str]:
    """Store rows of each kind and return the paths of pages that show them."""
    live.load(scenario({"text": "Let me add.", **TOOL_CALL}, {"text": "It is **3**."}))
    row = create_scenario("weather", *STEPS, description="Rain or sun.", tags=["demo"])
    draft, _ = get_or_create_draft(row)
    first = quote(versions_of(row)[-1].at.isoformat())
    row.document["description"] = "Rain, sun or snow."
    row.save()
    role = Group.objects.get(name=EDITOR).pk
    deleted_scenario = create_scenario("gone", {})
    deleted_scenario.delete()
    api = Api(live.base_url, "reader")
    trace = api.send("1 + 2?").trace_id
    for text in ("rain?", "nothing like it"):
        httpx2.post(
            f"{live.openai_base_url}/chat/completions",
            json={"model": "gpt-4o", "messages": [{"role": "user", "content": text}]},
            headers={"authorization": f"Bearer {live.key}"},
        )
    scenarios, drafts = "admin/scenarios_app/scenario", "admin/scenarios_app/draft"
    requests = "admin/scenarios_app/servedrequest"
    compared = create_conversation()
    records = [
        model._default_manager.filter(**{lookup: compared.pk}).latest("pk")
        for model, lookup in RECORDS.items()
    ]
    return [
        *("", "chat/", "chat/leaderboard/", f"traces/{trace}/", "nothing/here/"),
        *("docs/", "docs/admin/", "docs/benchmarks/"),
        *("control/docs/", "api/docs/"),
        *("admin/", f"{scenarios}/", f"{scenarios}/new/", f"{scenarios}/add/"),
        f"{scenarios}/{row.pk}/change/",
        f"{scenarios}/{row.pk}/history/?at={first}",
        f"{scenarios}/{row.pk}/delete/",
        *(f"{scenarios}/trash/", f"{scenarios}/import/", f"{scenarios}/test/?scenario=weather"),
        f"{scenarios}/test/?tab=conversation&scenario=weather",
        *(f"{drafts}/", f"{drafts}/{draft.pk}/change/", f"{drafts}/{draft.pk}/publish/"),
        *(f"{requests}/", f"{requests}/sessions/", f"{requests}/session/?name={live.session}"),
        f"{requests}/{live.requests()[-1].pk}/make-step/",
        *("admin/chat_app/modelprofile/", "admin/chat_app/conversation/"),
        *("admin/chat_app/message/?feedback=given", "admin/traces_app/trace/"),
        *("admin/auth/user/", "admin/auth/user/add/", f"admin/auth/group/{role}/change/"),
        *(admin_url(row)[1:] for row in records),
        *(f"admin/{model._meta.label_lower.replace('.', '/')}/add/" for model in RECORDS),
        *("admin/chat_app/abcomparison/", "admin/chat_app/contextstate/"),
    ]


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("dark", "width"), THEMES_AND_WIDTHS)
def test_axe_finds_nothing_and_pages_fit(
    log_in: Callable[..., Admin], paths: list[str], live: Live, dark: bool, width: int, part: int
) -> None:
    admin = log_in(OPERATOR, dark=dark, width=width, allow_failed_requests=True)
    page = admin.page
    failures = {}
    for path in paths[part::PARTS]:
        page.goto(f"{live.base_url}/{path}")
        page.wait_for_load_state("networkidle")
        disable_animations(page)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        button = page.locator(".sc-at-hand .sc-primary")
        if button.count():
            # The page asks for its session before it posts the form.
            with page.expect_navigation():
                button.click()
            page.wait_for_load_state("networkidle")
        page_width = page.evaluate("document.documentElement.scrollWidth")
        if page_failures := [
            *violations(page),
            *([f"{page_width} wide"] if page_width > width else []),
        ]:
            failures[path] = page_failures
    assert failures == {}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_on_login_and_permission_pages(
    open_page: OpenPage, log_in: Callable[..., Admin], live: Live, dark: bool
) -> None:
    page = open_page(dark=dark)
    page.goto(f"{live.base_url}/admin/login/")
    disable_animations(page)
    assert violations(page) == []
    page = log_in(dark=dark, allow_failed_requests=True).page
    page.goto(f"{live.base_url}/admin/auth/user/")
    expect(page.get_by_text("You need the permission")).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_in_the_bar_for_selected_rows(
    log_in: Callable[..., Admin], dark: bool
) -> None:
    create_scenario("weather", {}, description="Rain or sun.")
    admin = log_in(dark=dark)
    admin.go("scenarios_app/scenario/")
    admin.page.get_by_label("Select record").check()
    expect(admin.page.get_by_label("Select action to run")).to_be_visible()
    disable_animations(admin.page)
    assert violations(admin.page) == []


IN_FIELD = "document.activeElement.matches('main :is(input, select, textarea):not([type=hidden])')"


def count_tabs_to_field(page: Page) -> int:
    """Return the number of Tab presses to a field, including the link that skips the navigation; 0
    if the page starts in a field."""
    if page.evaluate(IN_FIELD):
        return 0
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    for presses in range(2, 40):
        page.keyboard.press("Tab")
        if page.evaluate(IN_FIELD):
            return presses
    return 40


@pytest.mark.parametrize("path", ["add/", "test/", "test/?tab=conversation", "import/", ""])
def test_first_field_is_reached_with_few_tab_presses(admin: Admin, path: str) -> None:
    create_scenario("weather", {})
    admin.go(f"scenarios_app/scenario/{path}")
    admin.page.wait_for_load_state("networkidle")
    assert count_tabs_to_field(admin.page) <= MAX_TAB_PRESSES


def test_ctrl_s_saves_the_form(admin: Admin) -> None:
    row = create_scenario("weather", {})
    admin.go(page_of(row))
    admin.page.get_by_label("Description").fill("Written by keys.")
    admin.page.keyboard.press("Control+s")
    expect(admin.page.get_by_text("was changed successfully")).to_be_visible()
    assert Scenario.objects.get().document["description"] == "Written by keys."


@pytest.mark.parametrize("path", ["nothing/", "admin/nothing/", "admin/auth/user/"])
def test_error_pages_link_to_home(log_in: Callable[..., Admin], live: Live, path: str) -> None:
    page = log_in(allow_failed_requests=True).page
    page.goto(f"{live.base_url}/{path}")
    expect(page.get_by_role("link", name="Home", exact=True)).to_be_visible()
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()


def test_theme_switch_applies_to_site_and_admin(admin: Admin, live: Live) -> None:
    page = admin.page
    page.goto(f"{live.base_url}/chat/")
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    admin.go()
    expect(page.locator("html.dark")).to_have_count(1)
    page.keyboard.press("Control+e")
    expect(page.locator("html.dark")).to_have_count(0)
    page.goto(f"{live.base_url}/")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
