"""The page of the control API lists every operation and can send requests."""

import pytest
from playwright.sync_api import expect

from scenarios_app.control.openapi import document
from tests.browser.conftest import OpenPage
from tests.support.live_server import Live

pytestmark = pytest.mark.browser


def test_api_page_shows_every_operation_and_tries_one(live: Live, open_page: OpenPage) -> None:
    page = open_page(allow_failed_requests=True)
    page.goto(f"{live.base_url}/control/docs/")
    operations = [operation for path in document()["paths"].values() for operation in path.values()]
    expect(page.locator("form[data-path]")).to_have_count(len(operations))
    assert page.title() == "mockllm control API"
    block = page.locator("#list_requests")
    block.locator("summary").first.click()
    block.get_by_role("button", name="Send GET").click()
    expect(block.locator(".answer")).to_contain_text('"requests": []')
    block = page.locator("#read_scenario")
    block.locator("summary").first.click()
    block.get_by_label("name").fill("no/such one")
    block.get_by_role("button", name="Send GET").click()
    expect(block.locator(".answer")).to_contain_text("404")
