"""What goes wrong in the playground is told, and changes nothing else."""

from typing import Any

import pytest
from playwright.sync_api import expect

from chat_app.models import Conversation, Message
from tests.browser.playground.conftest import SLOW, Playground
from tests.chat.chat_helpers import scenario

pytestmark = pytest.mark.browser


def test_ch_nt1_empty_message_is_refused_and_changes_nothing(refused: Playground) -> None:
    refused.go()
    refused.page.click("#send")
    expect(refused.banner).to_contain_text("Message cannot be empty")
    expect(refused.banner).to_have_attribute("data-code", "VALIDATION_ERROR")
    expect(refused.page.locator("#error-retry")).to_be_hidden()
    expect(refused.page.locator("article")).to_have_count(0)


def test_ch_nt2_unknown_conversation_leaves_the_chat_unchanged(refused: Playground) -> None:
    refused.go("?c=00000000-0000-0000-0000-000000000000")
    expect(refused.banner).to_contain_text("Conversation not found")
    expect(refused.banner).to_have_attribute("data-code", "NOT_FOUND")
    expect(refused.page.locator("article")).to_have_count(0)


def test_ch_nt2_message_to_a_deleted_conversation_leaves_the_chat_unchanged(
    refused: Playground,
) -> None:
    refused.live.load(scenario({"text": "Here I am."}))
    refused.go()
    refused.say("Hello")
    expect(refused.answer()).to_contain_text("answered by")
    articles = refused.page.locator("article")
    before = articles.all_inner_texts()
    Conversation.objects.all().delete()
    refused.say("Are you there?")
    expect(refused.banner).to_contain_text("Conversation not found")
    expect(refused.banner).to_have_attribute("data-code", "NOT_FOUND")
    expect(articles).to_have_count(len(before))
    assert articles.all_inner_texts() == before
    assert not Message.objects.exists()


def test_ch_nt3_refused_key_is_reported(refused: Playground) -> None:
    refused.live.load(scenario({"fault": {"kind": "http", "status": 401}}))
    refused.go()
    refused.say("Hello")
    expect(refused.banner).to_contain_text("Invalid API key")
    expect(refused.banner).to_have_attribute("data-code", "UNAUTHORIZED")
    expect(refused.page.locator("#error-retry")).to_be_hidden()


def test_ch_nt4_network_error_can_be_retried(refused: Playground) -> None:
    refused.live.load(scenario({"fault": {"kind": "network_error"}}, {"text": "Here I am."}))
    refused.go()
    refused.say("Hello")
    expect(refused.banner).to_contain_text("Connection failed")
    expect(refused.banner).to_have_attribute("data-code", "NETWORK_ERROR")
    refused.page.click("#error-retry")
    expect(refused.answer().locator(".text")).to_have_text("Here I am.")
    expect(refused.banner).to_be_hidden()


def test_ch_nt5_stopping_an_ended_answer_changes_nothing(refused: Playground) -> None:
    refused.live.load(scenario(SLOW))
    refused.go()
    refused.say("Go on")
    expect(refused.answer("running").locator(".text")).to_contain_text("word")

    def first_somebody_else(route: Any) -> None:
        # Another tab was faster.
        headers = {"content-type": "application/json"}
        refused.page.request.post(route.request.url, data=route.request.post_data, headers=headers)
        route.continue_()

    refused.page.route("**/api/cancel_stream", first_somebody_else)
    with refused.page.expect_response("**/api/cancel_stream") as stop_request:
        refused.page.click("#stop")
    assert stop_request.value.status == 409
    expect(refused.answer("cancelled")).to_be_visible()
    expect(refused.banner).to_be_hidden()


def test_retry_sends_a_lost_message_once(refused: Playground) -> None:
    refused.live.load(scenario({"text": "Hi."}))
    refused.go()
    sent: list[str] = []

    def lost(route: Any) -> None:
        sent.append(route.request.post_data_json["client_message_id"])
        route.abort() if len(sent) == 1 else route.continue_()

    refused.page.route("**/api/get_chat_response_stream", lost)
    refused.say("Hello")
    expect(refused.banner).to_contain_text("cannot be reached")
    expect(refused.page.locator("#message")).to_have_value("Hello")
    refused.page.click("#error-retry")
    expect(refused.answer().locator(".text")).to_have_text("Hi.")
    expect(refused.page.locator("article.user")).to_have_count(1)
    assert len(set(sent)) == 1


def test_unmatched_message_becomes_a_step(refused: Playground) -> None:
    refused.live.load({"name": "other", "steps": [{"turn": 9, "produce": {"text": "x"}}]})
    refused.go()
    refused.say("Nobody answers this")
    expect(refused.banner).to_be_visible()
    expect(refused.banner).to_have_count(1)
    expect(refused.page.get_by_text("no_scenario_matched")).to_have_count(1)
    expect(refused.page.get_by_role("button", name="Make a step of it")).to_be_visible()
