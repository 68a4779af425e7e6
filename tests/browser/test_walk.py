"""The first hour of each role: QA, QA with the keyboard, author and reviewer, operator.

Clicks are counted where the documentation promises their number.
"""

import re
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Locator, Page, expect

from mockllm_site.roles import AUTHOR, EDITOR
from scenarios_app.models import Scenario
from tests.admin.chat.talks import create_conversation
from tests.admin.pages import create_scenario
from tests.browser.conftest import OPERATOR, Admin
from tests.browser.editing import add_step, open_row
from tests.browser.test_keyboard import tab_to
from tests.chat.api_client import Api
from tests.chat.chat_helpers import scenario
from tests.support.live_server import Live

pytestmark = pytest.mark.browser

QUESTION = "What is the weather in Paris?"
MAX_CLICKS_TO_A_SCENARIO = 15
MAX_CLICKS_TO_A_SERVED_STEP = 4


class ClickCounter:
    """Counts clicks and selected options; typing is not counted."""

    def __init__(self) -> None:
        self.clicks = 0

    def click(self, target: Locator) -> None:
        self.clicks += 1
        target.click()

    def choose(self, target: Locator, label: str) -> None:
        # One click opens the list, one chooses.
        self.clicks += 2
        target.select_option(label=label)


def ask(live: Live, *messages: dict[str, Any], stream: bool = False) -> httpx2.Response:
    body = {"model": "gpt-4o", "messages": list(messages), "stream": stream}
    headers = {"Authorization": f"Bearer {live.key}"}
    return httpx2.post(f"{live.openai_base_url}/chat/completions", json=body, headers=headers)


def say(live: Live, text: str) -> httpx2.Response:
    return ask(live, {"role": "user", "content": text})


def menu(page: Page, name: str) -> Locator:
    return page.locator("#nav-sidebar").get_by_role("link", name=name, exact=True)


def first_row(page: Page) -> Locator:
    return page.locator("#result_list tbody tr").first


def run_action_on_all(page: Page, name: str) -> None:
    page.wait_for_url("**/scenario/")
    for box in page.get_by_label("Select record").all():
        box.check()
    page.get_by_label("Select action to run").select_option(label=name)
    page.get_by_role("button", name="Run").click()


def test_qa_completes_the_first_hour(admin: Admin) -> None:
    page, live, counter = admin.page, admin.live, ClickCounter()
    first_steps = page.locator("#first-steps")
    expect(first_steps.get_by_role("listitem")).to_have_count(3)
    counter.click(first_steps.get_by_role("link", name="Add a scenario"))
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type("paris")
    counter.clicks += 1
    answer = add_step(page)
    counter.click(answer.get_by_text("More conditions"))
    answer.get_by_label("Last tool result").last.fill("sunny")
    answer.get_by_label("Answer text").fill("It is sunny in Paris.")
    counter.clicks += 1
    call = add_step(page)
    counter.click(call.locator("summary", has_text="Failures"))
    counter.choose(call.get_by_label("When it fails"), "the first requests, then it answers")
    expect(call.get_by_label("Failure type")).to_have_value("rate_limit")
    call.get_by_label("Last user message").last.fill("weather")
    counter.click(call.get_by_role("button", name="Add a tool call"))
    call.get_by_label("Tool", exact=True).fill("get_weather")
    counter.clicks += 1
    other = add_step(page)
    other.get_by_label("Last user message").last.fill("thanks")
    other.get_by_label("Answer text").fill("You are welcome.")

    # Tried and played before it is saved.
    with page.expect_popup() as popup_info:
        counter.click(page.get_by_role("button", name="Test", exact=True))
    try_page = popup_info.value
    try_page.get_by_label("User message").fill("Thanks!")
    counter.click(try_page.get_by_role("button", name="Try", exact=True))
    expect(try_page.locator("#told")).to_contain_text("You are welcome.")
    counter.click(try_page.get_by_role("button", name="Conversation"))
    play_page = try_page
    play_page.get_by_label("Turn 1 is").select_option("The user says")
    play_page.get_by_label("Turn 1: what the user says").fill("Thanks!")
    counter.click(play_page.get_by_role("button", name="Play", exact=True))
    expect(play_page.locator("#told")).to_have_text("All turns passed.")
    play_page.close()
    counter.click(page.get_by_role("button", name="Save", exact=True))
    expect(page.get_by_text("was added successfully")).to_be_visible()
    assert counter.clicks <= MAX_CLICKS_TO_A_SCENARIO

    # Like a client, which retries after the 429.
    user = {"role": "user", "content": QUESTION}
    assert ask(live, user).status_code == 429
    for stream in (False, True):
        response = ask(live, user, stream=stream)
        assert response.status_code == 200 and "get_weather" in response.text
    tool_call = {
        "id": "c",
        "type": "function",
        "function": {"name": "get_weather", "arguments": "{}"},
    }
    reply = {"role": "assistant", "content": None, "tool_calls": [tool_call]}
    result = {"role": "tool", "tool_call_id": "c", "content": "sunny"}
    assert "It is sunny in Paris." in ask(live, user, reply, result).text

    # From an unmatched request in the journal to a step that answers it.
    assert say(live, "Who are you?").status_code == 404
    counter = ClickCounter()
    counter.click(menu(page, "Journal"))
    counter.click(first_row(page).locator(".field-answered_by"))
    counter.click(page.get_by_role("link", name="Make a step"))
    expect(page.get_by_label("Answer")).to_be_focused()
    page.keyboard.type("Nobody.")
    counter.click(page.get_by_role("button", name="Save and enable"))
    expect(page.get_by_text("answers this request now")).to_be_visible()
    assert counter.clicks <= MAX_CLICKS_TO_A_SERVED_STEP
    assert "Nobody." in say(live, "Who are you?").text
    menu(page, "Journal").click()
    expect(first_row(page)).to_contain_text("200 complete")
    admin.go()
    expect(first_steps).to_have_count(0)

    # Changed, restored, and copied.
    menu(page, "Scenarios").click()
    page.locator("#result_list").get_by_role("link", name="paris").first.click()
    page.get_by_label("Description").fill("changed")
    page.get_by_role("button", name="Save and continue editing").click()
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name="Restore this version").first.click()
    expect(page.get_by_label("Description")).to_have_value("")
    page.get_by_role("button", name="Duplicate").click()
    page.wait_for_load_state()

    # Moved into a group, and tagged.
    menu(page, "Scenarios").click()
    run_action_on_all(page, "Move to a group")
    page.get_by_label("Group").fill("forecast")
    page.get_by_role("button", name="Move").click()
    expect(page.get_by_text("Moved 3 of 3 to “forecast”.")).to_be_visible()
    run_action_on_all(page, "Add or remove tags")
    page.locator("#bulk_form input[type=text]").first.fill("smoke")
    page.locator("#bulk_form .sc-primary").click()
    expect(first_row(page)).to_contain_text("smoke")
    assert [scenario.tags for scenario in Scenario.objects.all()] == [["forecast", "smoke"]] * 3


def test_qa_completes_the_first_hour_without_a_mouse(admin: Admin) -> None:
    page, live = admin.page, admin.live

    def press(target: Locator) -> None:
        tab_to(page, target)
        page.keyboard.press("Enter")

    def follow(target: Locator) -> None:
        tab_to(page, target)
        with page.expect_navigation():
            page.keyboard.press("Enter")

    def write(target: Locator, text: str) -> None:
        tab_to(page, target)
        page.keyboard.type(text)

    follow(page.locator("#first-steps").get_by_role("link", name="Add a scenario"))
    expect(page.get_by_label("Name", exact=True)).to_be_focused()
    page.keyboard.type("weather")
    for number, (message, answer) in enumerate(
        (("weather", "It is sunny."), ("thanks", "You are welcome."), ("bye", "Goodbye."))
    ):
        # A lint message above the steps may offer to add one, too.
        press(page.locator(".sc-steps").get_by_role("button", name="Add a step"))
        step = page.locator(".sc-list > .sc-step").nth(number)
        expect(step.get_by_label("Last user message").last).to_be_focused()
        page.keyboard.type(message)
        write(step.get_by_label("Answer text"), answer)
        if number == 0:
            press(step.locator("summary", has_text="Failures"))
            tab_to(page, step.get_by_label("When it fails"))
            page.keyboard.type("the first")
            expect(step.get_by_label("Failure type")).to_have_value("rate_limit")
    page.keyboard.press("Control+s")
    expect(page.get_by_text("was added successfully")).to_be_visible()
    assert [say(live, QUESTION).status_code for _ in range(2)] == [429, 200]
    assert "Goodbye." in say(live, "Bye!").text

    assert say(live, "Who are you?").status_code == 404
    follow(menu(page, "Journal"))
    follow(first_row(page).get_by_role("link").first)
    follow(page.get_by_role("link", name="Make a step"))
    expect(page.get_by_label("Answer")).to_be_focused()
    page.keyboard.type("Nobody.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("answers this request now")).to_be_visible()
    assert "Nobody." in say(live, "Who are you?").text


def test_author_writes_a_draft_and_a_reviewer_publishes_it(
    log_in: Callable[..., Admin], live: Live
) -> None:
    create_scenario(
        "weather", {"match.messages(user)": "weather", "produce.text": "old", "consume": False}
    )
    page = log_in(AUTHOR, allow_failed_requests=True).page
    menu(page, "Scenarios").click()
    page.locator("#result_list").get_by_role("link", name="weather").first.click()
    page.get_by_role("button", name="Edit as draft").click()
    banner = page.get_by_label("Draft", exact=True)
    open_row(page, 0).get_by_label("Answer text").fill("new")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(banner).to_contain_text('Answer text from "old" to "new"')
    expect(banner).to_contain_text("Only users with the permission “Can publish draft” can")
    expect(page.get_by_text(re.compile("Publish…|publish…"))).to_have_count(0)
    draft = page.url
    page.goto(draft.replace("/change/", "/publish/"))
    expect(page.get_by_text("You need the permission “Can publish draft”")).to_be_visible()
    expect(page.locator("body")).to_contain_text(EDITOR)
    assert "old" in say(live, QUESTION).text

    # A step for an unmatched request goes into the draft, too.
    assert say(live, "Who are you?").status_code == 404
    page.goto(f"{live.base_url}/journal/")
    first_row(page).locator(".field-answered_by").click()
    page.get_by_role("link", name="Make a step").click()
    expect(page.get_by_role("button", name="Save and enable")).to_have_count(0)
    expect(page.get_by_label("Answer")).to_be_focused()
    page.keyboard.type("Nobody.")
    page.get_by_label("Add the step to").select_option(label="weather")
    page.get_by_role("button", name="Save as a draft").click()
    expect(page.get_by_text("Draft step created")).to_be_visible()
    assert page.url == draft
    assert say(live, "Who are you?").status_code == 404

    reviewer, counter = log_in(EDITOR).page, ClickCounter()
    counter.click(menu(reviewer, "Scenarios"))
    counter.click(reviewer.get_by_role("link", name="Drafts"))
    counter.click(reviewer.locator("#result_list").get_by_role("link", name="weather").first)
    banner = reviewer.get_by_label("Draft", exact=True)
    expect(banner).to_contain_text(f"Created by {AUTHOR}")
    counter.click(banner.get_by_role("link", name="Publish…"))
    form = reviewer.locator("#publish_form")
    expect(form).to_contain_text('Answer text from "old" to "new"')
    expect(form).to_contain_text("step 2")
    counter.click(form.get_by_role("button", name="Publish"))
    expect(reviewer.get_by_text("“weather” is published.")).to_be_visible()
    assert counter.clicks == 5
    assert [say(live, text).text.count("new") for text in (QUESTION,)] == [1]
    assert "Nobody." in say(live, "Who are you?").text

    page.goto(f"{live.base_url}/admin/scenarios_app/scenario/")
    page.locator("#result_list").get_by_role("link", name="weather").first.click()
    expect(page.locator(".sc-title").first).to_contain_text("text “new”")
    page.get_by_role("link", name="History").click()
    expect(page.locator(".sc-version").first).to_contain_text(EDITOR)


def test_operator_completes_the_first_hour(
    log_in: Callable[..., Admin], live: Live, settings: Any
) -> None:
    # In dev the known providers can be chosen.
    settings.MOCKLLM_ENV = "dev"
    create_scenario("rain", {"match.messages(user)": "Rain", "produce.text": "It rains."})
    trace = Api(live.base_url, "walker").send("Rain?").trace_id
    comparison = create_conversation("Which of them?", preference="a").comparisons.get()
    assert say(live, "Who are you?").status_code == 404
    page = log_in(OPERATOR).page

    # A new user gets an account and a role.
    menu(page, "Users").click()
    page.get_by_role("link", name="Add user").first.click()
    page.get_by_label("Username").fill("newcomer")
    page.get_by_label("Password").fill("long-enough-for-all")
    page.get_by_label("Role").select_option(label=EDITOR)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("was added successfully")).to_be_visible()
    new_user = User.objects.get(username="newcomer")
    assert new_user.is_staff and [group.name for group in new_user.groups.all()] == [EDITOR]

    # A session: why it failed, recording of real answers, and the reset.
    menu(page, "Sessions").click()
    page.get_by_role("row", name=live.session).get_by_role("link").first.click()
    verdict = page.locator("#verdict")
    expect(verdict).to_contain_text("failed")
    expect(verdict.get_by_role("link", name="request").first).to_be_visible()
    page.get_by_text("Record real answers").click()
    form = page.locator("#record_form")
    form.get_by_role("checkbox", name=re.compile("^openai ")).check()
    form.get_by_role("button", name="Record this session").click()
    expect(form).to_contain_text("Recording: 0 answers so far.")
    form.get_by_role("button", name="Stop and make a draft").click()
    expect(form.get_by_role("button", name="Stop")).to_have_count(0)
    page.get_by_role("button", name="Reset this session").click()
    expect(page.get_by_text("is reset.")).to_be_visible()

    # The stored data of the chat.
    menu(page, "Traces").click()
    row = page.locator("#result_list tbody tr", has_text="Rain?")
    row.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile(f"/traces/{trace}"))
    expect(page.get_by_role("heading", name="Rain?")).to_be_visible()
    page.go_back()
    menu(page, "Comparisons").click()
    first_row(page).get_by_role("link").first.click()
    assert str(comparison.pk) in page.url
    expect(page.get_by_role("heading", name="Answer B")).to_be_visible()
    menu(page, "Feedback").click()
    page.wait_for_url("**/chat_app/message/**")
    page.get_by_role("link", name="Help").click()
    page.wait_for_url("**/docs/admin/#*")


def test_trace_becomes_a_replayed_scenario_in_two_clicks(admin: Admin) -> None:
    page, live, counter = admin.page, admin.live, ClickCounter()
    live.load(scenario({"text": "It rains."}))
    trace = Api(live.base_url, "walker").send("Rain?").trace_id
    page.goto(f"{live.base_url}/traces/{trace}/")
    counter.click(page.get_by_role("button", name="Make a scenario of it"))
    expect(page.get_by_label("Draft", exact=True)).to_be_visible()
    with page.expect_popup() as popup_info:
        counter.click(page.get_by_role("button", name="Test", exact=True))
    tab = popup_info.value
    expect(tab.locator("#told")).to_contain_text("would say: It rains.")
    tab.get_by_role("button", name="Conversation").click()
    expect(tab.locator("#told")).to_have_text("All turns passed.")
    assert counter.clicks <= 2
