"""The playground in a real browser: a person talks, stops, reloads, compares and makes mistakes."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from chat_app.models import ABComparison, Conversation, Message, ModelProfile
from tests.browser.conftest import OpenPage
from tests.chat.chatting import scenario
from tests.chat.scripts import TOOL_CALL
from tests.live import Live

pytestmark = pytest.mark.browser

SLOW = {"text": "word " * 400, "pacing": {"words_per_second": 20, "words_per_chunk": 1}}


class Playground:
    """The page, and what one does on it."""

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
def refused(open_page: OpenPage, live: Live) -> Playground:
    """For what goes wrong: browsers complain of each answer that is an error."""
    return Playground(open_page(refused=True), live)


def test_an_answer_streams_with_its_thinking_and_its_tools(playground: Playground) -> None:
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


def test_a_stream_that_reaches_its_limit_is_followed_on(
    playground: Playground, settings: Any
) -> None:
    settings.MOCKLLM_MAX_STREAM_SECONDS = 0.5
    words = " ".join(f"word{number}" for number in range(30))
    pacing = {"words_per_second": 20, "words_per_chunk": 1}
    playground.live.load(scenario({"text": words, "pacing": pacing}))
    playground.go()
    playground.say("Go on")
    expect(playground.answer().locator(".text")).to_have_text(words)


def test_the_cursor_is_the_pages_alone_and_goes_with_the_end(playground: Playground) -> None:
    playground.live.load(scenario(SLOW))
    playground.go()
    playground.say("Go on")
    expect(playground.page.locator(".cursor")).to_have_text("▌")
    playground.page.keyboard.press("Escape")
    expect(playground.answer("cancelled")).to_be_visible()
    expect(playground.page.locator(".cursor")).to_have_count(0)
    playground.page.reload()
    expect(playground.answer("cancelled")).not_to_contain_text("▌")


def test_stop_keeps_what_was_said(playground: Playground) -> None:
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


def test_after_a_reload_the_running_answer_goes_on(playground: Playground) -> None:
    playground.live.load(scenario({**SLOW, "text": "one " * 30 + "end"}))
    playground.go()
    playground.say("Go on")
    expect(playground.answer("running").locator(".text")).to_contain_text("one one")
    playground.page.reload()
    answer = playground.answer()
    expect(answer.locator(".text")).to_have_text("one " * 30 + "end")
    expect(playground.page.locator("article.assistant")).to_have_count(1)


def test_a_second_tab_follows_the_same_answer(playground: Playground) -> None:
    playground.live.load(scenario({**SLOW, "text": "one " * 30 + "end"}))
    playground.go()
    playground.say("Go on")
    expect(playground.answer("running").locator(".text")).to_contain_text("one")
    second = playground.page.context.new_page()
    second.goto(playground.page.url)
    expect(second.locator("article.assistant .text")).to_have_text("one " * 30 + "end")
    expect(playground.answer().locator(".text")).to_have_text("one " * 30 + "end")


def test_conversations_are_listed_opened_renamed_and_deleted(refused: Playground) -> None:
    playground, page = refused, refused.page
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


def test_feedback_is_kept(playground: Playground) -> None:
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


def test_ch_nt1_an_empty_message_is_told_and_changes_nothing(refused: Playground) -> None:
    refused.go()
    refused.page.click("#send")
    expect(refused.banner).to_contain_text("Message cannot be empty")
    expect(refused.banner).to_have_attribute("data-code", "VALIDATION_ERROR")
    expect(refused.page.locator("#error-retry")).to_be_hidden()
    expect(refused.page.locator("article")).to_have_count(0)


def test_ch_nt2_an_unknown_conversation_leaves_the_chat_as_it_is(refused: Playground) -> None:
    refused.go("?c=00000000-0000-0000-0000-000000000000")
    expect(refused.banner).to_contain_text("Conversation not found")
    expect(refused.banner).to_have_attribute("data-code", "NOT_FOUND")
    expect(refused.page.locator("article")).to_have_count(0)


def test_ch_nt2_a_message_to_a_conversation_that_is_gone_leaves_the_chat_as_it_was(
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


def test_ch_nt3_a_refused_key_is_told(refused: Playground) -> None:
    refused.live.load(scenario({"fault": {"kind": "http", "status": 401}}))
    refused.go()
    refused.say("Hello")
    expect(refused.banner).to_contain_text("Invalid API key")
    expect(refused.banner).to_have_attribute("data-code", "UNAUTHORIZED")
    expect(refused.page.locator("#error-retry")).to_be_hidden()


def test_ch_nt4_a_network_error_can_be_tried_again(refused: Playground) -> None:
    refused.live.load(scenario({"fault": {"kind": "network_error"}}, {"text": "Here I am."}))
    refused.go()
    refused.say("Hello")
    expect(refused.banner).to_contain_text("Connection failed")
    expect(refused.banner).to_have_attribute("data-code", "NETWORK_ERROR")
    refused.page.click("#error-retry")
    expect(refused.answer().locator(".text")).to_have_text("Here I am.")
    expect(refused.banner).to_be_hidden()


def test_ch_nt5_stopping_what_has_ended_changes_nothing(refused: Playground) -> None:
    refused.live.load(scenario(SLOW))
    refused.go()
    refused.say("Go on")
    expect(refused.answer("running").locator(".text")).to_contain_text("word")

    def first_somebody_else(route: Any) -> None:
        # Somebody was faster, in another tab.
        headers = {"content-type": "application/json"}
        refused.page.request.post(route.request.url, data=route.request.post_data, headers=headers)
        route.continue_()

    refused.page.route("**/api/cancel_stream", first_somebody_else)
    with refused.page.expect_response("**/api/cancel_stream") as asked:
        refused.page.click("#stop")
    assert asked.value.status == 409
    expect(refused.answer("cancelled")).to_be_visible()
    expect(refused.banner).to_be_hidden()


def test_a_message_that_did_not_arrive_is_sent_once_by_trying_again(refused: Playground) -> None:
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


def test_two_answers_are_compared_blind_and_voted_on(playground: Playground) -> None:
    for name in ("one", "two"):
        ModelProfile.objects.create(
            name=name, provider_id="openai", model_id=f"model-{name}", base_url="mock:"
        )
        step = {"match": {"model": f"model-{name}"}, "produce": {"text": f"I am {name}."}}
        playground.live.load({"name": name, "steps": [step]})
    page = playground.page
    playground.go()
    page.click("#compare")
    page.select_option("#profile", "one")
    page.select_option("#profile-b", "two")
    playground.say("Who are you?")
    columns = page.locator(".pair article[data-status=complete]")
    expect(columns).to_have_count(2)
    expect(columns.first.locator("h3")).to_have_text("Answer A")
    page.reload()
    page.click("[data-vote=b]")
    expect(page.locator(".vote .tag")).to_have_text("You preferred B.")
    row = ABComparison.objects.get()
    expect(columns.last.locator("h3")).to_have_text(f"Answer B: {row.profile_b_name}")
    assert row.preference == "b"
    page.locator(".vote a").click()
    expect(page.locator("tbody tr").first).to_contain_text(row.profile_b_name)


def test_a_comparison_outlasts_its_stream(playground: Playground, settings: Any) -> None:
    settings.MOCKLLM_MAX_STREAM_SECONDS = 0.5
    words = " ".join(f"word{number}" for number in range(30))
    pacing = {"words_per_second": 20, "words_per_chunk": 1}
    step = {"consume": False, "produce": {"text": words, "pacing": pacing}}
    playground.live.load({"name": "slow", "steps": [step]})
    ModelProfile.objects.create(
        name="second", provider_id="openai", model_id="gpt-5", base_url="mock:"
    )
    page = playground.page
    playground.go()
    page.click("#compare")
    playground.say("Go on")
    expect(page.locator(".pair article[data-status=complete] .text")).to_have_text([words, words])
    page.click("[data-vote=tie]")
    expect(page.locator(".vote .tag")).to_have_text("You called it a tie.")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (420, False)])
def test_the_page_fits_its_screen(open_page: OpenPage, live: Live, width: int, dark: bool) -> None:
    live.load(scenario({"text": "word " * 200, **TOOL_CALL}, {"text": "a" * 500}))
    playground = Playground(open_page(width=width, dark=dark), live)
    playground.go()
    playground.say("Hello " * 40)
    expect(playground.answer()).to_be_visible()
    for path in (None, "/chat/leaderboard/"):
        if path:
            playground.page.goto(f"{live.base_url}{path}")
        assert playground.page.evaluate("document.documentElement.scrollWidth") <= width
        assert playground.page.evaluate(
            "[...document.querySelectorAll('button, select')].every("
            "e => e.getBoundingClientRect().right <= innerWidth + 1)"
        )


MARKDOWN = (
    "# Plan\n\nSome **bold** text.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    "```python\nprint(1)\n```\n\n<b>raw</b> [x](javascript:hit) ![y](http://evil.example/y.png)"
)


def test_markdown_is_laid_out_and_markup_stays_text(playground: Playground) -> None:
    playground.live.load(scenario({"text": MARKDOWN}))
    playground.go()
    playground.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    playground.say("Show me")
    text = playground.answer().locator(".text")
    expect(text.locator("h1")).to_have_text("Plan")
    expect(text.locator("strong")).to_have_text("bold")
    expect(text.locator("td").first).to_have_text("1")
    expect(text).to_contain_text("<b>raw</b>")
    expect(text.locator("b, img, a[href^=javascript]")).to_have_count(0)
    text.get_by_role("button", name="Copy code").click()
    expect(text.get_by_role("button", name="Copied")).to_be_visible()
    assert playground.page.evaluate("navigator.clipboard.readText()") == "print(1)\n"


def test_each_answer_says_which_step_it_was_now_and_later(playground: Playground) -> None:
    playground.live.load(scenario({"text": "One"}))
    playground.go()
    playground.say("Hello")
    steps = playground.page.locator(".steps")
    expect(steps).to_have_text(re.compile("^answered by .+ · 1$"))
    said = steps.inner_text()
    playground.page.reload()
    expect(steps).to_have_text(said)


def test_an_answer_is_asked_for_anew_and_a_message_in_other_words(playground: Playground) -> None:
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


def test_what_no_step_answers_becomes_a_step(refused: Playground) -> None:
    refused.live.load({"name": "other", "steps": [{"turn": 9, "produce": {"text": "x"}}]})
    refused.go()
    refused.say("Nobody answers this")
    expect(refused.banner).to_be_visible()
    expect(refused.banner).to_have_count(1)
    expect(refused.page.get_by_text("no_scenario_matched")).to_have_count(1)
    expect(refused.page.get_by_role("button", name="Make a step of it")).to_be_visible()


def test_a_comparison_wants_two_profiles_and_says_where_the_vote_counts(
    playground: Playground,
) -> None:
    ModelProfile.objects.create(
        name="second", provider_id="openai", model_id="gpt-5", base_url="mock:"
    )
    playground.live.load(scenario({"text": "One"}))
    playground.go()
    playground.page.click("#compare")
    profile, other = (playground.page.locator(f"#{name}") for name in ("profile", "profile-b"))
    assert profile.input_value() != other.input_value()
    chosen = profile.input_value()
    expect(other.locator("option:checked")).not_to_have_text(chosen)
    expect(other.locator("option", has_text=re.compile(f"^{chosen}$"))).to_be_disabled()
    playground.say("Hello")
    expect(playground.page.locator(".vote")).to_contain_text("counts in the leaderboard")


def test_the_profiles_prompt_and_tools_are_in_view(playground: Playground) -> None:
    ModelProfile.objects.update_or_create(
        name="demo",
        defaults={
            "provider_id": "openai",
            "model_id": "gpt-4o",
            "base_url": "mock:",
            "system_prompt": "Be brief.",
            "mcp_servers": ["demo"],
        },
    )
    playground.go()
    expect(playground.page.locator("#about-short")).to_have_text("system prompt, tools")
    playground.page.click("#about summary")
    expect(playground.page.locator("#about-long")).to_contain_text("Be brief.")
