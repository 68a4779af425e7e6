"""Opens all parts of a scenario's page in the browser, changes and saves it."""

from collections.abc import Iterable
from typing import Any

from playwright.sync_api import Locator, Page, Response, expect

from scenarios_app.engine.document import dump
from scenarios_app.models import AnyScenario, Revision
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
    """Click Save; fail the test with the errors of the page if it is not saved."""
    with page.expect_response(_is_a_save) as answer:
        page.get_by_role("button", name="Save", exact=True).click()
    if answer.value.status != 302:
        raise AssertionError(page.locator("#told").inner_text())
    # The next page must not interrupt this navigation.
    page.wait_for_url(lambda url: "_changelist_filters" not in url and "/add/" not in url)


def _is_a_save(response: Response) -> bool:
    return response.request.method == "POST" and response.request.is_navigation_request()


def rows(page: Page) -> Locator:
    return page.locator(".sc-list > .sc-step")


def move_up(page: Page, number: int) -> None:
    """Move a step up with the keyboard, without opening it."""
    step_row = rows(page).nth(number)
    prefix = step_row.get_attribute("id")
    step_row.locator("summary").first.focus()
    page.keyboard.press("Alt+ArrowUp")
    expect(rows(page).nth(number - 1)).to_have_id(str(prefix))


def add_step(page: Page, answer: str) -> None:
    page.get_by_role("button", name="Add a step").click()
    rows(page).last.get_by_label("Answer text").fill(answer)


def stored_document(scenario: AnyScenario) -> dict[str, Any]:
    """Return the document of a scenario in the database."""
    return dump(document_of(type(scenario).objects.get(pk=scenario.pk)))


def save_unchanged(admin: Admin, scenarios: Iterable[AnyScenario]) -> list[str]:
    """Open all parts of each scenario's page, save it, and return the differences."""
    differences = []
    for scenario in scenarios:
        before, history = stored_document(scenario), Revision.objects.of(scenario).count()
        page = open_page(admin, scenario)
        open_everything(page)
        save(page)
        after = stored_document(scenario)
        differences += describe_differences(scenario.name, before, after)
        if Revision.objects.of(scenario).count() != history:
            differences.append(f"{scenario.name}: there is another revision")
    return differences


def describe_differences(name: str, before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the differences of two documents by step."""
    old_steps, new_steps = before.pop("steps", []), after.pop("steps", [])
    pairs = list(zip(old_steps, new_steps, strict=False))
    differences = [
        f"{name}, step {n}: {a} became {b}" for n, (a, b) in enumerate(pairs, 1) if a != b
    ]
    if before != after or len(old_steps) != len(new_steps):
        differences.append(
            f"{name}: {len(old_steps)} steps, {before} became {len(new_steps)} steps, {after}"
        )
    return differences
