"""Conversations in the playground: reload, second tab, list and search."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from chat_app.models import Conversation
from tests.browser.playground.conftest import SLOW, Playground
from tests.chat.chat_helpers import scenario

pytestmark = pytest.mark.browser


def test_running_answer_continues_after_a_reload(playground: Playground) -> None:
    playground.live.load(scenario({**SLOW, "text": "one " * 30 + "end"}))
    playground.go()
    playground.say("Go on")
    expect(playground.answer("running").locator(".text")).to_contain_text("one one")
    playground.page.reload()
    answer = playground.answer()
    expect(answer.locator(".text")).to_have_text("one " * 30 + "end")
    expect(playground.page.locator("article.assistant")).to_have_count(1)


def test_second_tab_follows_the_same_answer(playground: Playground) -> None:
    playground.live.load(scenario({**SLOW, "text": "one " * 30 + "end"}))
    playground.go()
    playground.say("Go on")
    expect(playground.answer("running").locator(".text")).to_contain_text("one")
    second = playground.page.context.new_page()
    second.goto(playground.page.url)
    expect(second.locator("article.assistant .text")).to_have_text("one " * 30 + "end")
    expect(playground.answer().locator(".text")).to_have_text("one " * 30 + "end")


def test_conversations_are_listed_opened_renamed_and_deleted(
    failing_playground: Playground,
) -> None:
    playground, page = failing_playground, failing_playground.page
    playground.live.load(scenario({"text": "Hi."}, {"text": "Hi."}))
    playground.go()
    playground.say("First talk")
    expect(playground.answer()).to_be_visible()
    page.click("#new")
    expect(page.locator("article")).to_have_count(0)
    playground.say("Second talk")
    expect(page.locator("#conversations li")).to_have_count(2)
    page.get_by_role("link", name="First talk").click()
    expect(page.locator("article.user")).to_have_text("First talk")
    page.once("dialog", lambda dialog: dialog.accept("Renamed"))
    page.click("#rename")
    expect(page.locator("#title")).to_have_text("Renamed")
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("#delete")
    expect(page.locator("#conversations li")).to_have_count(1)
    expect(page.locator("#empty")).to_be_visible()
    page.go_back()
    expect(playground.banner).to_have_attribute("data-code", "NOT_FOUND")
    expect(page.locator("article")).to_have_count(0)


def test_conversations_are_searched_by_keyboard(playground: Playground) -> None:
    playground.live.load(scenario({"text": "Take an umbrella."}))
    playground.go()
    page = playground.page
    expect(page.locator("#found")).to_have_text("No conversations yet.")
    playground.say("Will it rain?")
    expect(playground.answer()).to_be_visible()
    page.click("#new")
    playground.live.load(scenario({"text": "Sunny."}))
    playground.say("And tomorrow?")
    expect(page.locator("#conversations li")).to_have_count(2)
    page.get_by_label("Search conversations").focus()
    page.keyboard.type("UMBRELLA")
    expect(page.locator("#found")).to_have_text("1 conversation found.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("article.user")).to_have_text("Will it rain?")
    expect(page.locator("#conversations li")).to_have_count(1)
    page.get_by_label("Search conversations").fill("hail")
    expect(page.locator("#found")).to_have_text("No results for “hail”.")
    page.get_by_label("Search conversations").fill("")
    expect(page.locator("#conversations li")).to_have_count(2)


def test_older_conversations_are_shown_page_by_page(playground: Playground) -> None:
    page = playground.page
    playground.live.load(scenario({"text": "Hi."}))
    playground.go()
    client_id = page.evaluate("localStorage.getItem('mockllm-client')")
    now = timezone.now()
    Conversation.objects.bulk_create(
        Conversation(
            client_id=client_id, title=f"talk {n}", last_message_at=now - timedelta(minutes=n)
        )
        for n in range(230)
    )
    page.reload()
    links, older = page.locator("#conversations a"), page.get_by_role("button", name="Show older")
    expect(links).to_have_count(200)
    older.focus()
    page.keyboard.press("Enter")
    expect(links).to_have_count(230)
    expect(links.nth(200)).to_be_focused()
    expect(older).to_have_count(0)
    # The list stays as long when it is read again.
    playground.say("And one more")
    expect(playground.answer()).to_be_visible()
    expect(links).to_have_count(231)
    page.fill("#search", "talk 22")
    expect(page.locator("#found")).to_have_text("11 conversations found.")
