"""Contrast and width of pages with both themes on wide and narrow screens."""

from collections.abc import Callable

import httpx2
import pytest
from playwright.sync_api import Page, expect

from chat_app.models import ABComparison, Conversation
from scenarios_app.models import Scenario
from scenarios_app.store.drafts import get_or_create_draft
from tests.admin.chat.talks import create_conversation
from tests.browser.conftest import Admin
from tests.browser.measuring import disable_animations, find_low_contrast_texts, measure_contrasts
from tests.chat.api_client import Api
from tests.chat.chat_helpers import scenario
from tests.chat.scripts import TOOL_CALL
from tests.support.live_server import Live

pytestmark = pytest.mark.browser

PHONE = 420
CLIENT = "reader"
OPEN = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
SCENARIO_WITH_WARNINGS = {
    "name": "doubtful",
    "description": "Its second step never answers",
    "tags": ["demo"],
    "steps": [
        {
            "match": {"messages": [{"role": "user", "contains": "rain"}]},
            "consume": False,
            "produce": {"text": "It rains."},
        },
        {
            "match": {"messages": [{"role": "user", "contains": "rain in Paris"}]},
            "produce": {"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]},
        },
    ],
}


@pytest.fixture
def paths(live: Live) -> list[str]:
    """Store rows of each kind and return the paths of pages that show them."""
    live.load(
        SCENARIO_WITH_WARNINGS,
        scenario(
            {"text": "Let me add.", "reasoning": "I need a tool.", **TOOL_CALL}, {"text": "3"}
        ),
    )
    stream = Api(live.base_url, CLIENT).send("What is 1 + 2?")
    conversation = create_conversation("words", preference="a")
    comparison = conversation.comparisons.get()
    ABComparison.objects.update(profile_a_name="one", profile_b_name="two", excluded=True)
    Conversation.objects.filter(pk=conversation.pk).update(tags=["smoke"], archived=True)
    for text in ("rain", "nothing of that"):
        body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}]}
        httpx2.post(
            f"{live.openai_base_url}/chat/completions",
            json=body,
            headers={"Authorization": f"Bearer {live.key}"},
        )
    unmatched = live.requests()[-1]
    doubtful = Scenario.objects.get(name="doubtful")
    draft, _ = get_or_create_draft(doubtful)
    pk, admin = doubtful.pk, "/admin/scenarios_app"
    return [
        "/",
        f"/chat/?c={stream.conversation_id}",
        "/chat/leaderboard/",
        f"/traces/{stream.trace_id}/",
        "/admin/",
        f"{admin}/scenario/",
        f"{admin}/scenario/{pk}/change/",
        f"{admin}/scenario/{pk}/history/",
        f"{admin}/draft/{draft.pk}/change/",
        f"{admin}/draft/{draft.pk}/publish/",
        f"{admin}/scenario/test/?scenario=doubtful",
        f"{admin}/scenario/import/",
        f"{admin}/servedrequest/",
        f"{admin}/servedrequest/{unmatched.pk}/change/",
        f"{admin}/servedrequest/{unmatched.pk}/make-step/",
        f"{admin}/servedrequest/sessions/",
        f"{admin}/servedrequest/session/?name={live.session}",
        "/admin/chat_app/conversation/",
        f"/admin/chat_app/conversation/{conversation.pk}/change/",
        f"/admin/chat_app/abcomparison/{comparison.pk}/change/",
        f"/admin/traces_app/trace/{comparison.trace_a_id}/change/",
    ]


def unfold(page: Page) -> None:
    """Open all folded parts of a page."""
    if "/test/" in page.url:
        page.get_by_role("button", name="Try", exact=True).click()
        expect(page.locator(".sc-tried-step").first).to_be_visible()
    elif "/chat/?c=" in page.url:
        expect(page.locator("article.assistant").first).to_be_visible()
    elif "/scenarios_app/" in page.url and page.url.endswith("/change/"):
        page.locator(".sc-page").wait_for()
    disable_animations(page)
    page.evaluate(OPEN)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_texts_have_contrast_and_pages_fit_a_phone(
    paths: list[str], log_in: Callable[..., Admin], dark: bool
) -> None:
    admin = log_in(dark=dark)
    page = admin.page
    page.evaluate(f"localStorage.setItem('mockllm-client', '{CLIENT}')")
    low_contrast_texts: dict[str, list[str]] = {}
    page_widths: dict[str, int] = {}
    for path in paths:
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(f"{admin.live.base_url}{path}")
        unfold(page)
        assert measure_contrasts(page), path
        low_contrast_texts[path] = find_low_contrast_texts(page)
        page.set_viewport_size({"width": PHONE, "height": 900})
        page_widths[path] = page.evaluate("document.documentElement.scrollWidth")
    assert {path: texts for path, texts in low_contrast_texts.items() if texts} == {}
    assert {path: width for path, width in page_widths.items() if width > PHONE} == {}
