"""Lint in the editor shows warnings and errors while typing, before a save."""

from collections.abc import Callable
from urllib.parse import parse_qs

import pytest
from playwright.sync_api import Locator, expect

from scenarios_app.models import Scenario
from tests.admin.pages import create_scenario, inputs_of, texts
from tests.browser.conftest import Admin
from tests.browser.editing import ADD, add_step, open_row, page_of, row

pytestmark = pytest.mark.browser


def fill(step: Locator, user_message: str, answer: str) -> None:
    step.get_by_label("Last user message").last.fill(user_message)
    step.get_by_label("Answer text").fill(answer)


def test_warning_appears_while_typing_and_disappears_when_fixed(admin: Admin) -> None:
    page = admin.page
    notes, line = page.locator("#notes"), page.locator("#checked")
    admin.go(ADD)
    page.get_by_label("Name", exact=True).fill("weather")
    first = add_step(page)
    fill(first, "weather", "It rains.")
    fill(add_step(page), "weather in Paris", "It is sunny.")
    expect(notes).to_contain_text("Step 2: step 1 always answers first")
    expect(line).to_have_attribute("data-tone", "warn")
    first.get_by_label("Last user message").last.fill("weather in London")
    expect(notes).to_be_empty()
    expect(line).to_have_text("No warnings")
    assert not Scenario.objects.exists()


def test_loop_is_fixed_by_a_click(admin: Admin) -> None:
    call = {
        "match.messages(user)": "rain",
        "produce.text": "",
        "produce.tool_calls": [{"name": "weather"}],
    }
    reply = {
        "match.messages(user)": "rain",
        "match.messages(tool)": "sunny",
        "produce.text": "Yes.",
    }
    steps = ({"consume": False, **call}, {"consume": False, **reply})
    # Enough steps that the rows are loaded without their fields.
    scenario = create_scenario(
        "loop", *steps, *({"match.messages(user)": f"other {n}"} for n in range(20))
    )
    page = admin.page
    notes = page.locator("#notes")
    for name in ("Use this step for the first answer only", "Try step 2 before it"):
        admin.go(page_of(scenario))
        expect(notes).to_contain_text("endless loop: it calls weather again after its result")
        notes.get_by_role("button", name=name).click()
        expect(notes).to_be_empty()
    admin.save()
    assert texts(scenario)[:2] == ["Yes.", ""]


def test_all_steps_with_one_warning_are_moved_by_a_click(admin: Admin) -> None:
    steps = ({"match.messages(user)": f"rain {n}", "produce.text": str(n)} for n in range(20))
    scenario = create_scenario("rain", {"match.messages(user)": "rain", "consume": False}, *steps)
    page = admin.page
    notes = page.locator("#notes")
    admin.go(page_of(scenario))
    expect(notes).to_contain_text("Steps 2, 3, 4 and 17 more: step 1 always answers first")
    expect(notes).not_to_contain_text("Saved")
    notes.get_by_role("button", name="Move all before step 1").click()
    expect(notes).to_be_empty()
    admin.save()
    assert texts(scenario) == [*map(str, range(20)), "answer 1"]


def test_untouched_page_shows_no_error(admin: Admin) -> None:
    page = admin.page
    admin.go(ADD)
    step = add_step(page)
    step.get_by_label("Last user message").last.fill("weather")
    line = page.locator("#checked")
    expect(line).to_have_text("Still to fill in: Name")
    expect(page.locator(".sc-wrong, .sc-note-bad, .sc-has-errors")).to_have_count(0)
    step.get_by_label("Answer text").fill("{{ city }}")
    expect(step.locator(".sc-wrong > .sc-error")).to_have_text("unknown name in {{ city }}")
    step.get_by_label("Answer text").fill("")
    expect(step.locator(".sc-wrong > .sc-error")).to_have_text("enter an answer")
    expect(page.locator(".sc-wrong")).to_have_count(1)
    admin.save()
    expect(page.locator("#told")).to_contain_text("Name: This field is required.")


def test_error_is_shown_at_its_field_before_a_save(admin: Admin) -> None:
    scenario = create_scenario("two", {"produce.text": "a"}, {"produce.text": "b"})
    page = admin.page
    admin.go(page_of(scenario))
    step = open_row(page, 1)
    step.get_by_label("Answer text").fill("It is sunny in {{ city }}.")
    error = step.locator(".sc-wrong > .sc-error")
    expect(error).to_have_text("unknown name in {{ city }}")
    step.locator("summary").first.click()
    page.locator("#notes").get_by_role("link", name="Step 2, Answer text").click()
    expect(step.get_by_label("Answer text")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("It is sunny.")
    expect(error).to_have_count(0)
    expect(page.locator("#notes")).to_be_empty()
    assert texts(scenario) == ["a", "b"]


def test_note_links_to_the_tool_call_lines(admin: Admin) -> None:
    page = admin.page
    admin.go(ADD)
    page.get_by_label("Name", exact=True).fill("weather")
    step = add_step(page)
    step.get_by_role("button", name="Add a tool call").click()
    step.get_by_label("Id", exact=True).fill("call_1")
    note = page.locator("#notes").get_by_role("link", name="Step 1, Tool calls")
    expect(note).to_be_visible()
    note.click()
    expect(row(page, 0).get_by_label("Tool", exact=True)).to_be_focused()
    page.keyboard.type("get_weather")
    expect(note).to_have_count(0)


def test_step_for_a_tool_result_is_added_by_a_click(admin: Admin) -> None:
    call = {
        "match.messages(user)": "rain",
        "produce.text": "",
        "produce.tool_calls": [{"name": "weather"}],
    }
    scenario = create_scenario("loop", {"consume": False, **call})
    page = admin.page
    notes = page.locator("#notes")
    admin.go(page_of(scenario))
    notes.get_by_role("button", name="Add a step for the result of weather").click()
    expect(row(page, 0).get_by_label("Answer text")).to_be_focused()
    expect(page.locator("#checked")).to_have_text("Still to fill in: Step 1, Answer text")
    page.keyboard.type("It rains.")
    expect(page.locator("#checked")).to_have_text("No warnings")
    admin.save()
    expect(page.locator(".sc-doubt")).to_have_count(0)
    assert texts(scenario) == ["It rains.", ""]
    added = scenario.steps.order_by("order").first()
    inputs = inputs_of(added)
    assert inputs["match.messages(user)"] == "rain"
    assert inputs["match.tool_results(name)"] == "weather"


def test_save_with_warnings_shows_them_on_the_next_page(admin: Admin) -> None:
    scenario = create_scenario("all", {"match.messages(user)": "rain"})
    page = admin.page
    admin.go(page_of(scenario))
    step = open_row(page, 0)
    step.get_by_label("Last user message").last.fill("")
    step.get_by_label("Can answer").select_option("every time")
    page.get_by_role("button", name="Save and continue editing").click()
    expect(page.locator("#suspicions")).to_contain_text("Check this scenario:")
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    admin.save()
    expect(page.get_by_text("Saved, with 1 warning:")).to_be_visible()
    expect(page.locator("tr", has_text="all").locator(".sc-doubt")).to_have_text("1 warning")
    page.get_by_role("link", name="1 warning").click()
    expect(page.locator("#suspicions")).to_contain_text("Step 1: it has no condition")


@pytest.mark.parametrize("width", [1280, 1024, 640, 420])
def test_long_warning_in_the_footer_is_fully_visible(
    log_in: Callable[..., Admin], width: int
) -> None:
    admin = log_in(width=width)
    tool = "look_up_everything_about_the_order_of_a_customer_in_the_archive_of_last_year"
    call = {"produce.text": "", "produce.tool_calls": [{"name": tool}], "consume": False}
    page = admin.page
    admin.go(page_of(create_scenario("long", {"match.messages(user)": "rain", **call})))
    page.get_by_label("Description").fill("changed")
    line = page.locator("#checked")
    expect(line).to_contain_text("endless loop")
    box, footer_box = line.bounding_box(), page.locator("#submit-row").bounding_box()
    assert box and footer_box
    assert (
        footer_box["x"] + 16 <= box["x"]
        and box["x"] + box["width"] <= footer_box["x"] + footer_box["width"]
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    admin.save()
    expect(page.get_by_text("Saved, with 1 warning:")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_check_sends_changed_steps_alone_and_leaves_long_texts_to_the_save(admin: Admin) -> None:
    long_text = "word " * 10_500
    scenario = create_scenario("long", {"produce.text": long_text}, {"produce.text": "short"})
    page, status = admin.page, admin.page.locator("#checked")
    admin.go(page_of(scenario))
    second = open_row(page, 1)
    with page.expect_request("**/check/") as check:
        second.get_by_label("Answer text").fill("shorter")
    names = parse_qs(check.value.post_data or "", keep_blank_values=True).keys()
    assert "steps-1-produce.text" in names and "steps-0-produce.text" not in names
    assert {"steps-0-id", "steps-0-order", "steps-1-id", "steps-1-order"} <= names
    expect(status).to_have_text("No warnings")
    first = open_row(page, 0)
    first.get_by_label("Answer text").fill(f"{long_text}more")
    expect(status).to_have_text("Long text: it is checked when you save")
    first.get_by_label("Answer text").fill("{{ nobody }}")
    expect(page.locator("#notes")).to_contain_text("unknown name in {{ nobody }}")
