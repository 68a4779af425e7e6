"""The chat API's page: every operation is on it, and can be tried, with no other host."""

import pytest

from chat_app.api.urls import document
from tests.browser.conftest import OpenPage
from tests.live import Live

pytestmark = pytest.mark.browser


def test_the_page_shows_every_operation_and_tries_one(live: Live, open_page: OpenPage) -> None:
    page = open_page()
    page.goto(f"{live.base_url}/api/docs/")
    count = sum(len(operations) for operations in document()["paths"].values())
    page.locator(".opblock").nth(count - 1).wait_for()
    assert page.locator(".opblock").count() == count
    assert page.title() == "mockllm chat API"
    block = page.locator("#operations-conversations-list_conversations")
    block.locator("button.opblock-summary-control").click()
    block.locator("[data-param-name=client_id] input").fill("me")
    block.get_by_role("button", name="Execute").click()
    answer = block.locator(".live-responses-table .response-col_description .microlight").first
    answer.wait_for()
    assert '"conversations": []' in answer.inner_text()
