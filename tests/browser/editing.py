"""Opens and adds step rows on a scenario's page, and requests answers."""

import httpx2
from playwright.sync_api import Locator, Page, expect

from scenarios_app.models import Scenario
from tests.browser.conftest import Admin

ADD = "scenarios_app/scenario/add/"


def page_of(scenario: Scenario) -> str:
    return f"scenarios_app/scenario/{scenario.pk}/change/"


def row(page: Page, index: int) -> Locator:
    return page.locator(".sc-list > .sc-step").nth(index)


def open_row(page: Page, index: int) -> Locator:
    step_row = row(page, index)
    step_row.locator("summary").first.click()
    expect(step_row.get_by_label("Answer text")).to_be_visible()
    return step_row


def open_fold(step: Locator, title: str) -> None:
    """Open a folded group of a step."""
    step.locator(".sc-folds summary", has_text=title).click()


def add_step(page: Page) -> Locator:
    step_count = page.locator(".sc-list > .sc-step").count()
    page.get_by_role("button", name="Add a step").click()
    return row(page, step_count)


def open_test(page: Page, tab: str = "One request") -> Page:
    """Open a tab of *Test* for the content of a scenario's page."""
    with page.expect_popup() as popup_info:
        page.get_by_role("button", name="Test", exact=True).click()
    if tab != "One request":
        popup_info.value.get_by_role("button", name=tab).click()
    return popup_info.value


def request_answer(admin: Admin, text: str) -> str:
    """Send a chat request; return the answer text, or "none" after an error."""
    response = httpx2.post(
        f"{admin.live.openai_base_url}/chat/completions",
        json={"model": "gpt-4o", "messages": [{"role": "user", "content": text}]},
        headers={"authorization": f"Bearer {admin.live.key}"},
    )
    body = response.json()
    content: str = body["choices"][0]["message"]["content"] if response.is_success else "none"
    return content
