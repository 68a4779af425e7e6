"""What one does on a scenario's page: opens its rows, adds some, waits for what it says of them."""

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
    opened = row(page, index)
    opened.locator("summary").first.click()
    expect(opened.get_by_label("Answer text")).to_be_visible()
    return opened


def open_fold(step: Locator, title: str) -> None:
    """Open a folded group of a step."""
    step.locator(".sc-folds summary", has_text=title).click()


def add_step(page: Page) -> Locator:
    there = page.locator(".sc-list > .sc-step").count()
    page.get_by_role("button", name="Add a step").click()
    return row(page, there)


def answer(admin: Admin, text: str) -> str:
    """What an OpenAI client is told now."""
    response = httpx2.post(
        f"{admin.live.openai_base_url}/chat/completions",
        json={"model": "gpt-4o", "messages": [{"role": "user", "content": text}]},
        headers={"authorization": f"Bearer {admin.live.key}"},
    )
    body = response.json()
    content: str = body["choices"][0]["message"]["content"] if response.is_success else "none"
    return content
