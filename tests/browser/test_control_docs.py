"""The control API's page: every operation is on it, and can be tried, with no other host."""

import pytest

from tests.browser.conftest import OpenPage
from tests.live import Live

pytestmark = pytest.mark.browser


def test_the_page_shows_every_operation_and_tries_one(live: Live, open_page: OpenPage) -> None:
    page = open_page()
    page.goto(f"{live.base_url}/control/docs/")
    page.locator(".opblock").nth(23).wait_for()
    assert page.locator(".opblock").count() == 24
    assert page.title() == "mockllm control API"
    block = page.locator("#operations-requests-list_requests")
    block.locator("button.opblock-summary-control").click()
    block.get_by_role("button", name="Execute").click()
    answer = block.locator(".live-responses-table .response-col_description .microlight").first
    answer.wait_for()
    assert '"requests": []' in answer.inner_text()
