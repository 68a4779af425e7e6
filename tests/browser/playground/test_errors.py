"""Errors in the playground are shown and change nothing else."""

from typing import Any

import pytest
from playwright.sync_api import expect

from chat_app.models import Conversation, Message
from tests.browser.playground.conftest import SLOW, Playground
from tests.chat.chat_helpers import scenario

pytestmark = pytest.mark.browser


def test_ch_nt1_empty_message_is_refused_and_changes_nothing(
    failing_playground: Playground,
) -> None:
    failing_playground.go()
    failing_playground.page.click("#send")
    expect(failing_playground.banner).to_contain_text("Message cannot be empty")
    expect(failing_playground.banner).to_have_attribute("data-code", "VALIDATION_ERROR")
    expect(failing_playground.page.locator("#error-retry")).to_be_hidden()
    expect(failing_playground.page.locator("article")).to_have_count(0)


def test_ch_nt2_unknown_conversation_leaves_the_chat_unchanged(
    failing_playground: Playground,
) -> None:
    failing_playground.go("?c=00000000-0000-0000-0000-000000000000")
    expect(failing_playground.banner).to_contain_text("Conversation not found")
    expect(failing_playground.banner).to_have_attribute("data-code", "NOT_FOUND")
    expect(failing_playground.page.locator("article")).to_have_count(0)


def test_ch_nt2_message_to_a_deleted_conversation_leaves_the_chat_unchanged(
    failing_playground: Playground,
) -> None:
    failing_playground.live.load(scenario({"text": "Here I am."}))
    failing_playground.go()
    failing_playground.say("Hello")
    expect(failing_playground.answer()).to_contain_text("answered by")
    articles = failing_playground.page.locator("article")
    before = articles.all_inner_texts()
    Conversation.objects.all().delete()
    failing_playground.say("Are you there?")
    expect(failing_playground.banner).to_contain_text("Conversation not found")
    expect(failing_playground.banner).to_have_attribute("data-code", "NOT_FOUND")
    expect(articles).to_have_count(len(before))
    assert articles.all_inner_texts() == before
    assert not Message.objects.exists()


def test_ch_nt3_refused_key_is_reported(failing_playground: Playground) -> None:
    failing_playground.live.load(scenario({"fault": {"kind": "http", "status": 401}}))
    failing_playground.go()
    failing_playground.say("Hello")
    expect(failing_playground.banner).to_contain_text("Invalid API key")
    expect(failing_playground.banner).to_have_attribute("data-code", "UNAUTHORIZED")
    expect(failing_playground.page.locator("#error-retry")).to_be_hidden()


def test_failed_answer_shows_its_error_and_is_retried_in_place(
    failing_playground: Playground,
) -> None:
    page = failing_playground.page
    failing_playground.live.load(
        scenario({"fault": {"kind": "http", "status": 401}}, {"text": "Here I am."})
    )
    failing_playground.go()
    failing_playground.say("Hello")
    failure = failing_playground.answer("failed").locator(".failure")
    expect(failure).to_contain_text("Invalid API key")
    expect(failing_playground.banner).to_contain_text("Invalid API key")
    # The same when the conversation is opened again.
    page.reload()
    expect(failure).to_contain_text("Invalid API key")
    page.fill("#message", "typed meanwhile")
    failure.get_by_role("button", name="Retry").click()
    expect(failing_playground.answer().locator(".text")).to_have_text("Here I am.")
    expect(failing_playground.banner).to_be_hidden()
    expect(page.locator("article")).to_have_count(2)
    expect(page.locator("#message")).to_have_value("typed meanwhile")
    assert [row.content for row in Message.objects.order_by("number")] == ["Hello", "Here I am."]


def test_ch_nt4_network_error_can_be_retried(failing_playground: Playground) -> None:
    failing_playground.live.load(
        scenario({"fault": {"kind": "network_error"}}, {"text": "Here I am."})
    )
    failing_playground.go()
    failing_playground.say("Hello")
    expect(failing_playground.banner).to_contain_text("Connection failed")
    expect(failing_playground.banner).to_have_attribute("data-code", "NETWORK_ERROR")
    failing_playground.page.click("#error-retry")
    expect(failing_playground.answer().locator(".text")).to_have_text("Here I am.")
    expect(failing_playground.banner).to_be_hidden()
    assert [row.content for row in Message.objects.order_by("number")] == ["Hello", "Here I am."]


def test_ch_nt5_stopping_an_ended_answer_changes_nothing(failing_playground: Playground) -> None:
    failing_playground.live.load(scenario(SLOW))
    failing_playground.go()
    failing_playground.say("Go on")
    expect(failing_playground.answer("running").locator(".text")).to_contain_text("word")

    def first_somebody_else(route: Any) -> None:
        # Another tab was faster.
        headers = {"content-type": "application/json"}
        failing_playground.page.request.post(
            route.request.url, data=route.request.post_data, headers=headers
        )
        route.continue_()

    failing_playground.page.route("**/api/cancel_stream", first_somebody_else)
    with failing_playground.page.expect_response("**/api/cancel_stream") as stop_request:
        failing_playground.page.click("#stop")
    assert stop_request.value.status == 409
    expect(failing_playground.answer("cancelled")).to_be_visible()
    expect(failing_playground.banner).to_be_hidden()


def test_retry_sends_a_lost_message_once(failing_playground: Playground) -> None:
    failing_playground.live.load(scenario({"text": "Hi."}))
    failing_playground.go()
    sent: list[str] = []

    def abort_request(route: Any) -> None:
        sent.append(route.request.post_data_json["client_message_id"])
        route.abort() if len(sent) == 1 else route.continue_()

    failing_playground.page.route("**/api/get_chat_response_stream", abort_request)
    failing_playground.say("Hello")
    expect(failing_playground.banner).to_contain_text("cannot be reached")
    expect(failing_playground.page.locator("#message")).to_have_value("Hello")
    failure = failing_playground.answer("failed").locator(".failure")
    expect(failure).to_contain_text("cannot be reached")
    failure.get_by_role("button", name="Retry").click()
    expect(failing_playground.answer().locator(".text")).to_have_text("Hi.")
    expect(failing_playground.page.locator("article")).to_have_count(2)
    expect(failing_playground.page.locator("#message")).to_have_value("")
    assert len(set(sent)) == 1


def test_unmatched_message_becomes_a_step(failing_playground: Playground) -> None:
    failing_playground.live.load(
        {"name": "other", "steps": [{"turn": 9, "produce": {"text": "x"}}]}
    )
    failing_playground.go()
    failing_playground.say("Nobody answers this")
    expect(failing_playground.banner).to_be_visible()
    expect(failing_playground.banner).to_have_count(1)
    failure = failing_playground.answer("failed").locator(".failure")
    expect(failure).to_contain_text("no_scenario_matched")
    expect(failing_playground.page.get_by_role("button", name="Make a step of it")).to_be_visible()
