"""The page of the playground and its actions."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import OpenPage
from tests.support.live_server import Live

# An answer that lasts longer than any test.
SLOW = {"text": "word " * 400, "pacing": {"words_per_second": 20, "words_per_chunk": 1}}


class Playground:
    """Operates the playground's page."""

    def __init__(self, page: Page, live: Live) -> None:
        self.page = page
        self.live = live

    def go(self, query: str = "") -> None:
        self.page.goto(f"{self.live.base_url}/chat/{query}")

    def say(self, text: str) -> None:
        self.page.fill("#message", text)
        self.page.keyboard.press("Enter")

    def answer(self, status: str = "complete") -> Any:
        return self.page.locator(f"article.assistant[data-status={status}]").last

    @property
    def banner(self) -> Any:
        return self.page.locator("#error-banner")


@pytest.fixture
def playground(open_page: OpenPage, live: Live) -> Playground:
    return Playground(open_page(), live)


@pytest.fixture
def failing_playground(open_page: OpenPage, live: Live) -> Playground:
    """Return a playground whose page may receive error responses."""
    return Playground(open_page(allow_failed_requests=True), live)
