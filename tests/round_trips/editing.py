"""A scenario's page in the browser: open everything that can be opened, change it, save it."""

from collections.abc import Iterable
from typing import Any

from playwright.sync_api import Locator, Page, Response, expect

from scenarios_app.engine.document import dump
from scenarios_app.models import AnyScenario
from scenarios_app.store import document_of
from tests.browser.conftest import Admin

# In long scenarios, a step's fields are loaded when its row is opened.
_OPEN_STEPS = """async () => {
    const open = (row) => new Promise((done) => {
        if (row.querySelector("fieldset")) done();
        else row.addEventListener("htmx:load", done, { once: true });
        row.querySelector("details").open = true;
    });
    await Promise.all([...document.querySelectorAll(".sc-list > .sc-step")].map(open));
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
}"""
_OPEN_GROUPS = "document.querySelectorAll('form details').forEach((one) => { one.open = true; })"
# The page after a save: an empty list is rendered fast.
_TO_AN_EMPTY_LIST = "?_changelist_filters=q%3Dnothing"


def open_page(admin: Admin, scenario: AnyScenario) -> Page:
    kind = scenario._meta.model_name
    admin.go(f"scenarios_app/{kind}/{scenario.pk}/change/{_TO_AN_EMPTY_LIST}")
    return admin.page


def open_everything(page: Page) -> None:
    page.evaluate(_OPEN_STEPS)
    page.evaluate(_OPEN_GROUPS)


def save(page: Page) -> None:
    """Click Save. A refusal fails the test with what the page says is wrong."""
    with page.expect_response(_is_a_save) as answer:
        page.get_by_role("button", name="Save", exact=True).click()
    if answer.value.status != 302:
        raise AssertionError(page.locator("#told").inner_text())


def _is_a_save(response: Response) -> bool:
    return response.request.method == "POST" and response.request.is_navigation_request()


def rows(page: Page) -> Locator:
    return page.locator(".sc-list > .sc-step")


def move_up(page: Page, number: int) -> None:
    """Move a step up by keys, without opening it."""
    moved = rows(page).nth(number)
    prefix = moved.get_attribute("id")
    moved.locator("summary").first.focus()
    page.keyboard.press("Alt+ArrowUp")
    expect(rows(page).nth(number - 1)).to_have_id(str(prefix))


def add_step(page: Page, answer: str) -> None:
    page.get_by_role("button", name="Add a step").click()
    rows(page).last.get_by_label("Answer text").fill(answer)


def opened_by(page: Page, button: str) -> Page:
    """The tab that a button opens with what is on the page, saved or not."""
    with page.expect_popup() as tab:
        page.get_by_role("button", name=button, exact=True).click()
    return tab.value


def stored(scenario: AnyScenario) -> dict[str, Any]:
    """The document of what the database holds now."""
    return dump(document_of(type(scenario).objects.get(pk=scenario.pk)))


def records(scenario: AnyScenario) -> int:
    """How many records its history has, those of its steps included."""
    steps: Any = scenario.steps.model
    own = type(scenario).history.filter(id=scenario.pk).count()
    return int(own + steps.history.filter(scenario_id=scenario.pk).count())


def saved_unchanged(admin: Admin, scenarios: Iterable[AnyScenario]) -> list[str]:
    """Open all of each page, save it, and return what is different afterwards."""
    differences = []
    for scenario in scenarios:
        before, history = stored(scenario), records(scenario)
        page = open_page(admin, scenario)
        open_everything(page)
        save(page)
        after = stored(scenario)
        differences += differing(scenario.name, before, after)
        if records(scenario) != history:
            differences.append(f"{scenario.name}: the history has another record")
    return differences


def differing(name: str, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What is different of a document: its steps one by one, and the rest of it."""
    was, now = before.pop("steps", []), after.pop("steps", [])
    pairs = list(zip(was, now, strict=False))
    changed = [f"{name}, step {n}: {a} became {b}" for n, (a, b) in enumerate(pairs, 1) if a != b]
    if before != after or len(was) != len(now):
        changed.append(f"{name}: {len(was)} steps, {before} became {len(now)} steps, {after}")
    return changed
