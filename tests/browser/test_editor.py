"""Writing scenarios by clicks: what a browser saves is what the next request gets."""

import pytest
from playwright.sync_api import ElementHandle, Locator, Page, Route, expect

from scenarios_app.models import Scenario
from tests.admin.pages import a_scenario, texts
from tests.browser.conftest import Admin
from tests.browser.editing import ADD, add_step, answer, open_row, page_of, row

pytestmark = pytest.mark.browser


def test_a_scenario_is_written_and_answers_at_once(admin: Admin) -> None:
    page = admin.page
    admin.go(ADD)
    page.get_by_label("Name", exact=True).fill("weather")
    first = add_step(page)
    first.get_by_label("Last user message").last.fill("weather")
    first.get_by_label("Answer text").fill("It rains.")
    second = add_step(page)
    second.get_by_label("Last user message").last.fill("hello")
    second.get_by_label("Answer text").fill("Hi!")
    admin.save()
    expect(page.get_by_text("was added successfully")).to_be_visible()
    assert texts(Scenario.objects.get(name="weather")) == ["It rains.", "Hi!"]
    assert answer(admin, "hello") == "Hi!"
    admin.go(page_of(Scenario.objects.get()))
    expect(row(page, 1).locator(".sc-title")).to_contain_text("user contains “hello” → text “Hi!”")
    open_row(page, 1).get_by_label("Answer text").fill("Hello again!")
    admin.save()
    assert answer(admin, "hello") == "Hello again!"


def test_a_step_written_here_answers_every_time_and_fails_first_where_that_is_chosen(
    admin: Admin,
) -> None:
    page = admin.page
    admin.go(ADD)
    page.get_by_label("Name", exact=True).fill("weather")
    step = add_step(page)
    step.get_by_label("Answer text").fill("It rains.")
    expect(step.get_by_label("Answers")).to_have_value("always")
    expect(step.get_by_label("Fails the first")).to_be_hidden()
    step.get_by_label("Answers").select_option("fails first, then every time")
    step.get_by_role("group", name="At first it fails with").get_by_text("rate limit (429)").click()
    expect(step.get_by_label("Failure: retry after (ms)")).to_be_visible()
    expect(step.get_by_label("Failure status")).to_be_hidden()
    admin.save()
    expect(page.get_by_text("was added successfully")).to_be_visible()
    assert [answer(admin, "rain") for _ in range(3)] == ["none", "It rains.", "It rains."]
    admin.go(page_of(Scenario.objects.get()))
    step = open_row(page, 0)
    expect(step.get_by_label("Fails the first")).to_have_value("1")
    step.get_by_label("Answers").select_option("once per session")
    admin.save()
    stored = Scenario.objects.get().steps.get()
    assert (stored.failures_times, stored.failures_kind, stored.consume) == (None, "", True)


def test_a_new_step_comes_last_and_opens_itself(admin: Admin) -> None:
    scenario = a_scenario("two", {"answer_text": "a"}, {"answer_text": "b"})
    admin.go(page_of(scenario))
    new = add_step(admin.page)
    expect(new.locator(".sc-number").first).to_have_text("3")
    expect(new.get_by_label("Step name")).to_be_focused()
    new.get_by_label("Answer text").fill("c")
    admin.save()
    assert texts(scenario) == ["a", "b", "c"]


def test_steps_are_dragged_the_new_one_too(admin: Admin) -> None:
    scenario = a_scenario("three", *({"match_user": word, "answer_text": word} for word in "abc"))
    page = admin.page
    admin.go(page_of(scenario))
    new = add_step(page)
    new.get_by_label("Last user message").last.fill("new")
    new.get_by_label("Answer text").fill("new")
    new.locator("summary").first.click()
    # What was written is checked, so no note comes or goes that would move the rows.
    expect(page.locator("#checked")).to_have_text("No warnings")
    drag(page, row(page, 3), 0)
    expect(row(page, 0).locator(".sc-number").first).to_have_text("1")
    drag(page, row(page, 1), 3)
    admin.save()
    assert texts(scenario) == ["new", "b", "c", "a"]


def test_notes_do_not_move_the_rows_while_one_is_held(admin: Admin) -> None:
    scenario = a_scenario("two", {"match_user": "a", "consume": False}, {"match_user": "b"})
    page = admin.page
    notes, doubt = page.locator("#notes"), "Step 2: step 1 always answers first"
    second = row(page, 1)
    checks: list[Route] = []
    page.route("**/check/", lambda route: checks.append(route))
    admin.go(page_of(scenario))
    with page.expect_request("**/check/"):
        open_row(page, 0).get_by_label("Last user message").last.fill("")
    second.locator(".sc-handle").hover()
    page.mouse.down()
    before = second.bounding_box()
    with page.expect_response("**/check/"):
        checks.pop().continue_()
    page.wait_for_function("!document.querySelector('.htmx-request')")
    assert doubt not in notes.inner_text()
    assert second.bounding_box() == before
    page.unroute("**/check/")
    page.mouse.up()
    expect(notes).to_contain_text(doubt)


def drag(page: Page, what: Locator, to: int) -> None:
    """By its handle to another place; a hand, too, lets go only when the row is there."""
    moved = what.element_handle()
    handle = what.locator(".sc-handle")
    # Waits until the handle is in sight, stands still, and nothing lies over it.
    handle.hover(position={"x": 5, "y": 5})
    start, end = handle.bounding_box(), row(page, to).locator("summary").first.bounding_box()
    assert moved and start and end
    x, up = start["x"] + 5, end["y"] < start["y"]
    page.mouse.down()
    page.mouse.move(x, start["y"] + (-5 if up else 15), steps=5)
    for nudge in range(100):
        if place_of(moved) == to:
            # A row that slides under the hand changes places with it once more.
            page.wait_for_function("document.getAnimations().length === 0")
            if place_of(moved) == to:
                break
        y = end["y"] + (5 if up else end["height"] - 5) + nudge % 2
        page.mouse.move(x, y, steps=3)
    page.mouse.up()
    page.wait_for_function("!document.body.classList.contains('sorting')")


def place_of(row: ElementHandle) -> int:
    place: int = row.evaluate("row => [...row.parentElement.children].indexOf(row)")
    return place


def test_steps_are_moved_by_keys(admin: Admin) -> None:
    scenario = a_scenario("two", {"answer_text": "a"}, {"answer_text": "b"})
    admin.go(page_of(scenario))
    row(admin.page, 1).locator("summary").first.focus()
    admin.page.keyboard.press("Alt+ArrowUp")
    expect(row(admin.page, 0).locator(".sc-title")).to_contain_text("text “b”")
    admin.save()
    assert texts(scenario) == ["b", "a"]


def test_an_error_is_named_and_leads_to_its_field(admin: Admin) -> None:
    scenario = a_scenario("two", {"answer_text": "a"}, {"answer_text": "b"})
    page = admin.page
    admin.go(page_of(scenario))
    open_row(page, 1).get_by_label("Answer text").fill("{{ city }}")
    row(page, 1).locator("summary", has_text="Timing").click()
    row(page, 1).get_by_label("Jitter").fill("7")
    admin.save()
    told = page.locator("#told")
    expect(told).to_contain_text("Step 2, Jitter: Ensure this value is less than or equal to 1")
    expect(row(page, 1).get_by_label("Jitter")).to_be_visible()
    expect(row(page, 0).get_by_label("Answer text")).to_be_hidden()
    row(page, 1).get_by_label("Jitter").fill("")
    admin.save()
    expect(told).to_contain_text("Step 2, Answer text: unknown name in {{ city }}")
    row(page, 1).locator("summary").first.click()
    told.get_by_role("link").click()
    expect(row(page, 1).get_by_label("Answer text")).to_be_focused()
    assert texts(scenario) == ["a", "b"]
    page.keyboard.press("Control+A")
    page.keyboard.type("b again")
    admin.save()
    assert texts(scenario) == ["a", "b again"]


def test_a_step_is_deleted_and_another_kept_after_all(admin: Admin) -> None:
    scenario = a_scenario("three", {"answer_text": "a"}, {"answer_text": "b"}, {"answer_text": "c"})
    admin.go(page_of(scenario))
    row(admin.page, 0).locator(".sc-trash").click()
    row(admin.page, 1).locator(".sc-trash").click()
    expect(row(admin.page, 2).locator(".sc-number").first).to_have_text("1")
    row(admin.page, 1).locator(".sc-trash").click()
    add_step(admin.page).locator(".sc-trash").click()
    admin.save()
    assert texts(scenario) == ["b", "c"]


def test_tool_calls_are_lines(admin: Admin) -> None:
    calls = [{"id": "call_1", "name": "old", "arguments": {"b": 1, "a": [2]}}]
    scenario = a_scenario("tools", {"answer_text": "", "answer_tool_calls": calls})
    page = admin.page
    admin.go(page_of(scenario))
    step = open_row(page, 0)
    expect(step.get_by_label("Tool", exact=True)).to_have_value("old")
    step.get_by_role("button", name="Add a tool call").click()
    step.get_by_label("Tool", exact=True).last.fill("get_weather")
    step.get_by_role("button", name="as JSON").last.click()
    step.get_by_label("Arguments (JSON)").fill('{"big": 12345678901234567890}')
    admin.save()
    stored = scenario.steps.get().answer_tool_calls
    assert stored == [*calls, {"name": "get_weather", "arguments": {"big": 12345678901234567890}}]
    assert list(stored[0]["arguments"]) == ["b", "a"]
    admin.go(page_of(scenario))
    step = open_row(page, 0)
    # A script would round that number, so what is stored stays JSON.
    expect(step.get_by_label("Tool calls")).to_be_visible()
    step.get_by_label("Tool calls").fill('[{"name": "only", "arguments": {}}]')
    admin.save()
    admin.go(page_of(scenario))
    step = open_row(page, 0)
    step.get_by_role("button", name="as JSON").click()
    step.get_by_label("Arguments (JSON)").fill("{broken")
    admin.save()
    expect(page.locator("#told")).to_contain_text("Step 1, Tool calls: not valid JSON")
    expect(row(page, 0).get_by_label("Tool calls")).to_have_value(
        '[{"name": "only", "arguments": {broken}]'
    )
    row(page, 0).get_by_label("Tool calls").fill("")
    row(page, 0).get_by_label("Answer text").fill("none")
    admin.save()
    assert scenario.steps.get().answer_tool_calls == []


def test_a_row_of_a_long_scenario_gets_its_fields_when_opened(admin: Admin) -> None:
    scenario = a_scenario("long", *({"answer_text": f"a{n}"} for n in range(40)))
    admin.go(page_of(scenario))
    expect(row(admin.page, 30).get_by_label("Answer text")).to_have_count(0)
    open_row(admin.page, 30).get_by_label("Answer text").fill("changed")
    admin.save()
    assert texts(scenario)[29:32] == ["a29", "changed", "a31"]


def test_leaving_with_changes_is_asked_about(admin: Admin) -> None:
    scenario = a_scenario("one", {"answer_text": "a"})
    admin.go(page_of(scenario))
    asked: list[str] = []
    admin.page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    admin.page.get_by_label("Description").fill("typed")
    admin.page.get_by_role("link", name="Journal").click()
    admin.page.wait_for_url("**/servedrequest/")
    assert asked == ["beforeunload"]
