"""Groups of the scenario list, the import of a file, and the overview's chart."""

from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import FilePayload, Page, expect

from scenarios_app.models import Scenario
from tests.admin.pages import create_scenario
from tests.admin.traffic import create_journal_row, create_unmatched_row
from tests.browser.axe import violations
from tests.browser.conftest import Admin
from tests.browser.measuring import disable_animations

pytestmark = pytest.mark.browser

WHOLE_ROWS = """() => [...document.querySelectorAll("#result_list tbody tr")]
  .filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length"""


def row_names(page: Page) -> list[str]:
    return [text.partition("\n")[0] for text in page.locator("th.field-title").all_inner_texts()]


def test_five_scenarios_fit_on_a_phone(log_in: Callable[..., Admin]) -> None:
    for number in range(12):
        create_scenario(
            f"scenario {number}",
            {},
            tags=["checkout", "smoke", f"part {number}"],
            description="What it is for, in a sentence that is longer than a phone is wide.",
        )
    admin = log_in(width=420, height=900)
    admin.go("scenarios_app/scenario/")
    admin.page.wait_for_load_state("networkidle")
    assert admin.page.evaluate(WHOLE_ROWS) >= 5
    assert admin.page.evaluate("document.documentElement.scrollWidth") == 420
    # Controls in a wrapped row still work.
    admin.page.get_by_role("switch").first.uncheck()
    expect(admin.page.get_by_text("Saved.")).to_be_visible()


def test_scenarios_are_moved_to_a_group_with_the_keyboard(admin: Admin) -> None:
    create_scenario("refund", {}, tags=["shop"]), create_scenario("return", {}, tags=["shop"])
    create_scenario("search", {}, tags=["other"])
    page = admin.page
    admin.go("scenarios_app/scenario/")
    page.get_by_role("navigation", name="Groups").get_by_role("link", name="shop").focus()
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert row_names(page) == ["refund", "return"]
    page.locator("#searchbar").fill("refund")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert row_names(page) == ["refund"]
    page.get_by_label("Select record").focus()
    page.keyboard.press("Space")
    page.get_by_label("Select action to run").select_option(label="Move to a group")
    page.get_by_role("button", name="Run").press("Enter")
    expect(page.get_by_label("Group")).to_be_focused()
    page.keyboard.type("money")
    page.get_by_role("button", name="Move").press("Enter")
    expect(page.get_by_text("Moved 1 of 1 to “money”.")).to_be_visible()
    assert Scenario.objects.get(name="refund").tags == ["money"]
    links = page.get_by_role("navigation", name="Groups").get_by_role("link")
    expect(links).to_have_text(["All 1", "money 1", "shop 0"])


def test_chosen_file_is_named_and_previewed(admin: Admin) -> None:
    page = admin.page
    admin.go("scenarios_app/scenario/import/")
    page.wait_for_load_state("networkidle")
    document = b'{"name": "from a file", "steps": [{"produce": {"text": "Go to {{ city"}}]}'
    file = FilePayload(name="chosen.json", mimeType="application/json", buffer=document)
    # Errors in the page's scripts fail this test (`open_page`).
    page.locator("input[type=file]").set_input_files(files=[file])
    assert page.locator("#import_form input[type=text]").input_value() == "chosen.json"
    page.get_by_role("button", name="Show what would change").click()
    expect(page.get_by_role("row", name="from a file")).to_contain_text("new")
    expect(page.locator("#warnings")).to_contain_text("step 1: “{{ city” is not filled in")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 640, 420])
def test_new_pages_are_accessible_and_fit(
    log_in: Callable[..., Admin], dark: bool, width: int
) -> None:
    create_scenario("refund", {}, tags=["shop", "smoke"])
    create_journal_row(at=timezone.now()), create_unmatched_row(at=timezone.now())
    page = log_in(dark=dark, width=width).page
    failures_by_page: dict[str, object] = {}

    def check_page(name: str) -> None:
        page.wait_for_load_state("networkidle")
        disable_animations(page)
        wide = page.evaluate("document.documentElement.scrollWidth")
        if failures := [*violations(page), *([f"{wide} wide"] if wide > width else [])]:
            failures_by_page[name] = failures

    page.get_by_text("As a table").click()
    expect(page.get_by_role("img", name="Requests by hour")).to_be_visible()
    check_page("overview")
    page.goto(f"{page.url}scenarios_app/scenario/")
    check_page("list")
    for action in ("Move to a group", "Add or remove tags"):
        page.get_by_label("Select record").check()
        page.get_by_label("Select action to run").select_option(label=action)
        page.get_by_role("button", name="Run").click()
        expect(page.get_by_role("link", name="Cancel")).to_be_visible()
        check_page(action)
        page.get_by_role("link", name="Cancel").click()
    page.goto(f"{page.url}import/")
    check_page("import")
    page.get_by_label("or pasted").fill('{"name": "refund", "steps": []}')
    page.get_by_label("keep both").check()
    page.get_by_role("button", name="Show what would change").click()
    expect(page.get_by_text("refund (2)").first).to_be_visible()
    check_page("preview")
    assert failures_by_page == {}
