"""Answers in the playground: streaming, stop, step name, feedback and regeneration."""

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from chat_app.models import Message
from tests.browser.playground.conftest import SLOW, Playground
from tests.chat.chat_helpers import scenario
from tests.chat.scripts import TOOL_CALL

pytestmark = pytest.mark.browser


def test_answer_streams_with_reasoning_and_tools(playground: Playground) -> None:
    playground.live.load(
        scenario(
            {"reasoning": "I need a tool.", "text": "Let me add.", **TOOL_CALL},
            {"text": "It is 3."},
        )
    )
    playground.go()
    playground.say("What is 1 + 2?")
    answer = playground.answer()
    expect(answer.locator(".text").first).to_have_text("Let me add.")
    expect(answer.locator(".text").last).to_have_text("It is 3.")
    expect(answer.locator(".thought")).to_have_text("I need a tool.")
    tool = answer.locator("[data-tool=add]")
    expect(tool.locator(".tag")).to_have_text(re.compile("^success, "))
    tool.locator("summary").click()
    expect(tool.locator(".output")).to_have_text("3")
    expect(playground.page.locator("article.user")).to_have_text("What is 1 + 2?")
    expect(playground.page.locator("#title")).to_have_text("What is 1 + 2?")


def test_stream_at_its_time_limit_is_reconnected(playground: Playground, settings: Any) -> None:
    settings.MOCKLLM_MAX_STREAM_SECONDS = 0.5
    words = " ".join(f"word{number}" for number in range(30))
    pacing = {"words_per_second": 20, "words_per_chunk": 1}
    playground.live.load(scenario({"text": words, "pacing": pacing}))
    playground.go()
    playground.say("Go on")
    expect(playground.answer().locator(".text")).to_have_text(words)


def test_cursor_is_not_in_the_text_and_disappears_at_the_end(playground: Playground) -> None:
    playground.live.load(scenario(SLOW))
    playground.go()
    playground.say("Go on")
    expect(playground.page.locator(".cursor")).to_have_text("▌")
    playground.page.keyboard.press("Escape")
    expect(playground.answer("cancelled")).to_be_visible()
    expect(playground.page.locator(".cursor")).to_have_count(0)
    playground.page.reload()
    expect(playground.answer("cancelled")).not_to_contain_text("▌")


def test_stopped_answer_keeps_its_text(playground: Playground) -> None:
    playground.live.load(scenario(SLOW))
    playground.go()
    playground.say("Go on")
    expect(playground.answer("running").locator(".text")).to_contain_text("word word")
    playground.page.click("#stop")
    stopped = playground.answer("cancelled")
    expect(stopped.locator(".foot .tag")).to_have_text("stopped")
    text = stopped.locator(".text").inner_text()
    playground.page.reload()
    expect(playground.answer("cancelled").locator(".text")).to_have_text(text.strip())
    expect(playground.page.locator("#send")).to_be_visible()


def test_feedback_is_stored(playground: Playground) -> None:
    playground.live.load(scenario({"text": "Hi."}))
    playground.go()
    playground.say("Hello")
    like = playground.answer().locator("[data-feedback=like]")
    like.click()
    expect(like).to_have_attribute("aria-pressed", "true")
    playground.page.reload()
    like = playground.answer().locator("[data-feedback=like]")
    expect(like).to_have_attribute("aria-pressed", "true")
    like.click()
    expect(like).to_have_attribute("aria-pressed", "false")


def test_feedback_is_given_by_keyboard_with_a_comment(playground: Playground) -> None:
    playground.live.load(scenario({"text": "Hi."}))
    playground.go()
    playground.say("Hello")
    page = playground.page
    playground.answer().locator("[data-feedback=dislike]").focus()
    page.keyboard.press("Enter")
    comment = page.get_by_label("Comment on your feedback")
    expect(comment).to_be_visible()
    page.keyboard.press("Tab")
    expect(comment).to_be_focused()
    page.keyboard.type("Too short.")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Comment saved.")).to_be_visible()
    message = Message.objects.get(sender="assistant")
    assert (message.feedback, message.feedback_comment) == ("dislike", "Too short.")


def test_answer_names_its_step_also_after_a_reload(playground: Playground) -> None:
    playground.live.load(scenario({"text": "One"}))
    playground.go()
    playground.say("Hello")
    steps = playground.page.locator(".steps")
    expect(steps).to_have_text(re.compile("^answered by .+ · 1$"))
    text = steps.inner_text()
    playground.page.reload()
    expect(steps).to_have_text(text)


def test_answer_is_regenerated_and_message_is_edited(playground: Playground) -> None:
    playground.live.load(scenario({"text": "One"}, {"text": "Two"}, {"text": "Three"}))
    playground.go()
    playground.say("Hello")
    expect(playground.answer().locator(".text")).to_have_text("One")
    playground.page.get_by_role("button", name="Regenerate").click()
    expect(playground.answer().locator(".text")).to_have_text("Two")
    playground.page.get_by_role("button", name="Edit").click()
    playground.say("Goodbye")
    expect(playground.answer().locator(".text")).to_have_text("Three")
    expect(playground.page.locator("article")).to_have_count(2)
    assert list(Message.objects.order_by("number").values_list("content", flat=True)) == [
        "Goodbye",
        "Three",
    ]
