"""The scenario editor in a browser: saved scenarios answer the next request."""

import pytest
from playwright.sync_api import ElementHandle, Locator, Page, Route, expect

from scenarios_app.engine.producing.faults import FAULT_KINDS, FaultKind
from scenarios_app.models import Scenario
from scenarios_app.store import document_of
from tests.admin.pages import create_scenario, inputs_of, texts
from tests.browser.conftest import Admin
from tests.browser.editing import ADD, add_step, open_fold, open_row, page_of, request_answer, row

pytestmark = pytest.mark.browser


def test_saved_scenario_answers_the_next_request(admin: Admin) -> None:
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
    assert request_answer(admin, "hello") == "Hi!"
    admin.go(page_of(Scenario.objects.get()))
    expect(row(page, 1).locator(".sc-title")).to_contain_text("user contains “hello” → text “Hi!”")
    open_row(page, 1).get_by_label("Answer text").fill("Hello again!")
    admin.save()
    assert request_answer(admin, "hello") == "Hello again!"


def test_new_step_answers_every_time_and_fails_first_if_chosen(
    admin: Admin,
) -> None:
    page = admin.page
    admin.go(ADD)
    page.get_by_label("Name", exact=True).fill("weather")
    step = add_step(page)
    step.get_by_label("Answer text").fill("It rains.")
    expect(step.get_by_label("Can answer")).to_have_value("always")
    open_fold(step, "Failures")
    expect(step.get_by_label("Failure type")).to_be_hidden()
    step.get_by_label("When it fails").select_option("first")
    expect(step.get_by_label("Failure type")).to_have_value("rate_limit")
    expect(step.get_by_label("Failure: retry after (ms)")).to_be_visible()
    expect(step.get_by_label("Failure status")).to_be_hidden()
    admin.save()
    expect(page.get_by_text("was added successfully")).to_be_visible()
    assert inputs_of(Scenario.objects.get().steps.get())["failures.fault.kind"] == "rate_limit"
    assert [request_answer(admin, "rain") for _ in range(3)] == ["none", "It rains.", "It rains."]
    admin.go(page_of(Scenario.objects.get()))
    step = open_row(page, 0)
    expect(step.locator(".sc-folds")).to_contain_text("first request: rate limit (429)")
    open_fold(step, "Failures")
    expect(step.get_by_label("Number of failing requests")).to_have_value("1")
    step.get_by_label("When it fails").select_option("never")
    step.get_by_label("Can answer").select_option("once per session")
    admin.save()
    assert Scenario.objects.get().steps.get().document == {"produce": {"text": "It rains."}}


@pytest.mark.parametrize("section", ["failures", "fault", "both"])
def test_save_keeps_every_stored_failure(admin: Admin, section: str) -> None:
    # Few enough steps that the browser loads and posts the fields of all rows.
    page, kinds = admin.page, list(FAULT_KINDS.values())
    for part in (kinds[:6], kinds[6:]):
        scenario = create_scenario(
            f"faults {part[0].name}", *(failure_columns(kind, section) for kind in part)
        )
        before = document_of(scenario).steps
        assert before
        admin.go(page_of(scenario))
        open_row(page, 1)
        page.get_by_label("Description").fill("opened and saved")
        admin.save()
        expect(page.get_by_text("was changed successfully")).to_be_visible()
        scenario.refresh_from_db()
        assert scenario.document["description"] == "opened and saved"
        assert document_of(scenario).steps == before


def failure_columns(kind: FaultKind, section: str) -> dict[str, object]:
    """Return a step's columns with every key of a fault kind that has a column."""
    keys = {"status": 503, "message": "No.", "retry_after_ms": 7, "after_chunks": 2, "hold_ms": 9}
    keys = {key: value for key, value in keys.items() if key in kind.keys}
    columns: dict[str, object] = {"match.messages(user)": kind.name, "consume": False}
    if section in ("failures", "both"):
        inner = {key: keys.pop(key) for key in ("after_chunks", "hold_ms") if key in keys}
        columns |= {f"failures.fault.{key}": value for key, value in keys.items()}
        columns |= {
            "failures.fault.kind": kind.name,
            "failures.times": 2,
            "failures.fault.*": inner,
        }
        keys |= inner
    if section in ("fault", "both"):
        columns |= {f"produce.fault.{key}": value for key, value in keys.items()}
        columns |= {"produce.fault.kind": kind.name, "produce.text": "a b c" if kind.inside else ""}
    return columns


def test_failure_of_first_requests_becomes_a_permanent_one(admin: Admin) -> None:
    columns = {
        "failures.fault.kind": "timeout",
        "failures.times": 2,
        "match.messages(user)": "hello",
    }
    scenario = create_scenario("one", columns)
    page = admin.page
    admin.go(page_of(scenario))
    step = open_row(page, 0)
    step.get_by_label("Answer text").fill("")
    open_fold(step, "Failures")
    expect(step.get_by_label("When it fails")).to_have_value("first")
    step.get_by_label("When it fails").select_option("always")
    expect(step.get_by_label("Always fail with")).to_have_value("timeout")
    expect(step.get_by_label("Failure type")).to_be_hidden()
    step.get_by_label("Hold for (ms)").fill("10")
    admin.save()
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    document = scenario.steps.get().document
    assert "failures" not in document
    assert document["produce"] == {"fault": {"kind": "timeout", "hold_ms": 10}}


def test_title_and_summaries_follow_typing(admin: Admin) -> None:
    page = admin.page
    admin.go(ADD)
    first, second = add_step(page), add_step(page)
    expect(second.locator(".sc-title")).to_have_text("New step")
    first.get_by_label("Last user message").last.fill("hello")
    first.get_by_label("Answer text").fill("Hi!")
    title = first.locator(".sc-title")
    expect(title).to_contain_text("user contains “hello”")
    expect(title).to_contain_text("text “Hi!”")
    expect(second.locator(".sc-title")).to_have_text("New step")
    open_fold(first, "More conditions")
    first.get_by_label("Provider").select_option("openai")
    first.get_by_label("Streaming").select_option("streamed")
    first.get_by_label("Model").last.fill("gpt-4o")
    first.get_by_label("Model: how it is compared").select_option("contains")
    open_fold(first, "More conditions")
    summary = first.locator(".sc-folds summary", has_text="More conditions")
    expect(summary).to_contain_text("openai · streamed · Model contains gpt-4o")


def test_new_step_ignores_case_and_stored_step_stays_unchanged(admin: Admin) -> None:
    scenario = create_scenario("one", {"match.messages(user)": "Refund"})
    page = admin.page
    admin.go(page_of(scenario))
    expect(open_row(page, 0).get_by_label("Ignore case")).not_to_be_checked()
    new = add_step(page)
    expect(new.get_by_label("Ignore case")).to_be_checked()
    new.get_by_label("Last user message").last.fill("Return")
    new.get_by_label("Answer text").fill("Send it back.")
    admin.save()
    flags = [
        inputs_of(step)["match.messages(user).ignore_case"]
        for step in scenario.steps.order_by("order")
    ]
    assert flags == [False, True]
    assert request_answer(admin, "i want to RETURN it") == "Send it back."


def test_three_steps_with_message_and_reply_fit_on_two_screens(admin: Admin) -> None:
    page = admin.page
    admin.go(ADD)
    for number in range(3):
        step = add_step(page)
        step.get_by_label("Last user message").last.fill(f"question {number}")
        step.get_by_label("Answer text").fill(f"Answer {number}.")
    assert page.evaluate("document.documentElement.scrollHeight") <= 2 * 900


def test_tab_goes_from_message_to_reply_to_tool_call(admin: Admin) -> None:
    page = admin.page
    admin.go(ADD)
    step = add_step(page)
    for label in ("Last user message", "Ignore case", "Can answer", "Answer text"):
        expect(step.get_by_label(label).last).to_be_focused()
        page.keyboard.press("Tab")
    expect(step.get_by_role("button", name="Add a tool call")).to_be_focused()


def test_incomplete_argument_shows_a_warning(admin: Admin) -> None:
    page = admin.page
    admin.go(ADD)
    step = add_step(page)
    step.get_by_role("button", name="Add a tool call").click()
    step.get_by_label("Tool", exact=True).fill("get_weather")
    step.get_by_role("button", name="Add an argument").click()
    expect(step.get_by_label("Argument name")).to_be_focused()
    page.keyboard.type("city")
    page.keyboard.press("Tab")
    expect(step.get_by_label("Argument value")).to_be_focused()
    page.keyboard.press("Tab")
    expect(step.get_by_label("Kind of value")).to_be_focused()
    warning = step.locator(".sc-argument [role=status]")
    expect(warning).to_be_hidden()
    step.get_by_label("Answer text").focus()
    expect(warning).to_have_text("This argument has no value.")
    step.get_by_label("Argument value").fill("Paris")
    expect(warning).to_be_hidden()
    step.get_by_label("Argument name").fill("")
    step.get_by_label("Answer text").focus()
    expect(warning).to_have_text("This value has no name.")


def test_call_of_a_custom_tool_is_entered_stored_and_shown_again(admin: Admin) -> None:
    page = admin.page
    scenario = create_scenario(
        "script", {"produce.tool_calls": [{"name": "f", "arguments": {"a": 1}}]}
    )
    admin.go(page_of(scenario))
    step = open_row(page, 0)
    step.get_by_role("button", name="Add a tool call").click()
    call = step.locator(".sc-call").last
    call.get_by_label("Tool", exact=True).fill("exec")
    call.get_by_role("button", name="Custom tool or namespace").click()
    call.get_by_label("What the tool takes").select_option("input")
    call.get_by_label("Input", exact=True).fill('say("hi")')
    call.get_by_label("Namespace").fill("functions")
    admin.save()
    assert inputs_of(scenario.steps.get())["produce.tool_calls"] == [
        {"name": "f", "arguments": {"a": 1}},
        {"name": "exec", "input": 'say("hi")', "namespace": "functions"},
    ]
    admin.go(page_of(scenario))
    call = open_row(page, 0).locator(".sc-call").last
    expect(call.get_by_label("Input", exact=True)).to_have_value('say("hi")')


def test_new_step_is_appended_and_opened(admin: Admin) -> None:
    scenario = create_scenario("two", {"produce.text": "a"}, {"produce.text": "b"})
    admin.go(page_of(scenario))
    new = add_step(admin.page)
    expect(new.locator(".sc-number").first).to_have_text("3")
    expect(new.get_by_label("Last user message").last).to_be_focused()
    new.get_by_label("Answer text").fill("c")
    admin.save()
    assert texts(scenario) == ["a", "b", "c"]


def test_stored_and_new_steps_are_dragged(admin: Admin) -> None:
    scenario = create_scenario(
        "three", *({"match.messages(user)": word, "produce.text": word} for word in "abc")
    )
    page = admin.page
    admin.go(page_of(scenario))
    new = add_step(page)
    new.get_by_label("Last user message").last.fill("new")
    new.get_by_label("Answer text").fill("new")
    new.locator("summary").first.click()
    # Wait for the check, whose note would move the rows.
    expect(page.locator("#checked")).to_have_text("No warnings")
    drag(page, row(page, 3), 0)
    expect(row(page, 0).locator(".sc-number").first).to_have_text("1")
    drag(page, row(page, 1), 3)
    admin.save()
    assert texts(scenario) == ["new", "b", "c", "a"]


def test_notes_do_not_move_rows_during_a_drag(admin: Admin) -> None:
    scenario = create_scenario(
        "two", {"match.messages(user)": "a", "consume": False}, {"match.messages(user)": "b"}
    )
    page = admin.page
    notes, warning = page.locator("#notes"), "Step 2: step 1 always answers first"
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
    assert warning not in notes.inner_text()
    assert second.bounding_box() == before
    page.unroute("**/check/")
    page.mouse.up()
    expect(notes).to_contain_text(warning)


def drag(page: Page, step_row: Locator, to: int) -> None:
    """Drag a step by its handle to another position; release only when the row is there."""
    row_element = step_row.element_handle()
    handle = step_row.locator(".sc-handle")
    # Waits until the handle is visible, still and uncovered.
    handle.hover(position={"x": 5, "y": 5})
    start, end = handle.bounding_box(), row(page, to).locator("summary").first.bounding_box()
    assert row_element and start and end
    x, moves_up = start["x"] + 5, end["y"] < start["y"]
    page.mouse.down()
    page.mouse.move(x, start["y"] + (-5 if moves_up else 15), steps=5)
    for nudge in range(100):
        if position_of(row_element) == to:
            # A row that slides under the pointer is swapped again.
            page.wait_for_function("document.getAnimations().length === 0")
            if position_of(row_element) == to:
                break
        y = end["y"] + (5 if moves_up else end["height"] - 5) + nudge % 2
        page.mouse.move(x, y, steps=3)
    page.mouse.up()
    page.wait_for_function("!document.body.classList.contains('sorting')")


def position_of(row: ElementHandle) -> int:
    position: int = row.evaluate("row => [...row.parentElement.children].indexOf(row)")
    return position


def test_steps_are_moved_with_the_keyboard(admin: Admin) -> None:
    scenario = create_scenario("two", {"produce.text": "a"}, {"produce.text": "b"})
    admin.go(page_of(scenario))
    row(admin.page, 1).locator("summary").first.focus()
    admin.page.keyboard.press("Alt+ArrowUp")
    expect(row(admin.page, 0).locator(".sc-title")).to_contain_text("text “b”")
    admin.save()
    assert texts(scenario) == ["b", "a"]


def test_error_links_to_its_field(admin: Admin) -> None:
    scenario = create_scenario("two", {"produce.text": "a"}, {"produce.text": "b"})
    page = admin.page
    admin.go(page_of(scenario))
    open_row(page, 1).get_by_label("Answer text").fill("{{ city }}")
    open_fold(row(page, 1), "Timing")
    row(page, 1).get_by_label("Jitter").fill("7")
    admin.save()
    errors = page.locator("#told")
    expect(errors).to_contain_text("Step 2, Jitter: expected a number from 0 to 1")
    expect(row(page, 1).get_by_label("Jitter")).to_be_visible()
    expect(row(page, 0).get_by_label("Answer text")).to_be_hidden()
    row(page, 1).get_by_label("Jitter").fill("")
    admin.save()
    expect(errors).to_contain_text("Step 2, Answer text: unknown name in {{ city }}")
    row(page, 1).locator("summary").first.click()
    errors.get_by_role("link").click()
    expect(row(page, 1).get_by_label("Answer text")).to_be_focused()
    assert texts(scenario) == ["a", "b"]
    page.keyboard.press("Control+A")
    page.keyboard.type("b again")
    admin.save()
    assert texts(scenario) == ["a", "b again"]


def test_step_is_deleted_and_another_deletion_undone(admin: Admin) -> None:
    scenario = create_scenario(
        "three", {"produce.text": "a"}, {"produce.text": "b"}, {"produce.text": "c"}
    )
    admin.go(page_of(scenario))
    row(admin.page, 0).locator(".sc-trash").click()
    row(admin.page, 1).locator(".sc-trash").click()
    expect(row(admin.page, 2).locator(".sc-number").first).to_have_text("1")
    row(admin.page, 1).locator(".sc-trash").click()
    add_step(admin.page).locator(".sc-trash").click()
    admin.save()
    assert texts(scenario) == ["b", "c"]


def test_tool_calls_are_edited_as_lines(admin: Admin) -> None:
    calls = [{"id": "call_1", "name": "old", "arguments": {"b": 1, "a": [2]}}]
    scenario = create_scenario("tools", {"produce.text": "", "produce.tool_calls": calls})
    page = admin.page
    admin.go(page_of(scenario))
    step = open_row(page, 0)
    expect(step.get_by_label("Tool", exact=True)).to_have_value("old")
    step.get_by_role("button", name="Add a tool call").click()
    step.get_by_label("Tool", exact=True).last.fill("get_weather")
    step.get_by_role("button", name="Edit as JSON").last.click()
    step.get_by_label("Arguments (JSON)").fill('{"big": 12345678901234567890}')
    admin.save()
    stored_calls = inputs_of(scenario.steps.get())["produce.tool_calls"]
    assert stored_calls == [
        *calls,
        {"name": "get_weather", "arguments": {"big": 12345678901234567890}},
    ]
    assert list(stored_calls[0]["arguments"]) == ["b", "a"]
    admin.go(page_of(scenario))
    step = open_row(page, 0)
    # JavaScript would round this number, so the stored value stays JSON.
    expect(step.get_by_label("Tool calls")).to_be_visible()
    step.get_by_label("Tool calls").fill('[{"name": "only", "arguments": {}}]')
    admin.save()
    admin.go(page_of(scenario))
    step = open_row(page, 0)
    step.get_by_role("button", name="Edit as JSON").click()
    step.get_by_label("Arguments (JSON)").fill("{broken")
    admin.save()
    expect(page.locator("#told")).to_contain_text(
        "Step 1, Tool calls: line 1 column 33: not valid JSON"
    )
    expect(row(page, 0).get_by_label("Tool calls")).to_have_value(
        '[{"name": "only", "arguments": {broken}]'
    )
    row(page, 0).get_by_label("Tool calls").fill("")
    row(page, 0).get_by_label("Answer text").fill("none")
    admin.save()
    assert scenario.steps.get().document == {"produce": {"text": "none"}}


def test_row_of_a_long_scenario_loads_its_fields_when_opened(admin: Admin) -> None:
    scenario = create_scenario("long", *({"produce.text": f"a{n}"} for n in range(40)))
    admin.go(page_of(scenario))
    expect(row(admin.page, 30).get_by_label("Answer text")).to_have_count(0)
    open_row(admin.page, 30).get_by_label("Answer text").fill("changed")
    admin.save()
    assert texts(scenario)[29:32] == ["a29", "changed", "a31"]


def test_leaving_with_unsaved_changes_asks(admin: Admin) -> None:
    scenario = create_scenario("one", {"produce.text": "a"})
    admin.go(page_of(scenario))
    dialogs: list[str] = []
    admin.page.on("dialog", lambda dialog: (dialogs.append(dialog.type), dialog.accept()))
    admin.page.get_by_label("Description").fill("typed")
    admin.page.get_by_role("link", name="Journal").click()
    admin.page.wait_for_url("**/servedrequest/")
    assert dialogs == ["beforeunload"]
