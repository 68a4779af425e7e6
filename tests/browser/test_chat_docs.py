"""The page of the chat API lists every operation and can send requests."""

import pytest
from playwright.sync_api import expect

from chat_app.api.openapi import document
from chat_app.models import Conversation
from tests.browser.conftest import OpenPage
from tests.support.live_server import Live

pytestmark = pytest.mark.browser


def test_api_page_shows_every_operation_and_tries_one(live: Live, open_page: OpenPage) -> None:
    page = open_page()
    page.goto(f"{live.base_url}/api/docs/")
    operations = [operation for path in document()["paths"].values() for operation in path.values()]
    expect(page.locator("form[data-path]")).to_have_count(len(operations))
    assert page.title() == "mockllm chat API"
    block = page.locator("#list_conversations")
    block.locator("summary").first.click()
    block.get_by_label("client_id").fill("me")
    block.get_by_role("button", name="Send GET").click()
    expect(block.locator(".answer")).to_contain_text('"conversations": []')
    page.goto(f"{live.base_url}/api/docs/#new_conversation")
    block = page.locator("#new_conversation")
    block.locator("[data-body]").fill('{"client_id": "me", "title": "Made here"}')
    block.get_by_role("button", name="Send POST").click()
    expect(block.locator(".answer")).to_contain_text('"conversation_id"')
    assert Conversation.objects.get().title == "Made here"
