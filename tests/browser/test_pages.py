"""Every admin page in a browser fits the screen, runs no stored markup and logs no errors."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import expect

from mockllm_site.roles import READER
from tests.admin.pages import create_scenario
from tests.admin.traffic import create_journal_row, create_unmatched_row
from tests.browser.conftest import Admin, OpenPage
from tests.support.live_server import Live

pytestmark = pytest.mark.browser

PASSWORD = "a-password-of-tests"
SCREENS = [(1280, 900), (420, 800)]
HOSTILE = [
    "<script>window.hit = 1</script>",
    '"><img src=x onerror="window.hit = 1">',
    '</textarea></template><img src=x onerror="window.hit = 1">',
    '<div x-data x-init="window.hit = 1"></div>',
    "' x-init='window.hit = 1' x-data='",
    "{{ window.hit = 1 }}",
]


def paths() -> list[str]:
    """Store a hostile scenario and a hostile request; return the paths of pages that show them."""
    text = " ".join(HOSTILE)
    scenario = create_scenario(
        text[:150],
        *(
            {"name": payload[:200], "match.messages(user)": payload, "match.model": payload}
            for payload in HOSTILE
        ),
        description=text,
        tags=[HOSTILE[0]],
    )
    mismatch = {"field": text, "expected": text, "actual": text}
    columns = {
        "session": text[:200],
        "path": text,
        "model": text,
        "scenario": scenario.name,
        "step": text[:200],
        "violations": [text],
        "near_misses": [{"scenario": text, "step": text, "mismatches": [mismatch]}],
        "request_headers": {text: text},
        "request_body": text * 20,
        "response_body": text * 20,
    }
    rows = [create_journal_row(**columns), create_unmatched_row(**columns)]
    base = "scenarios_app"
    return [
        "",
        f"{base}/scenario/",
        f"{base}/scenario/add/",
        f"{base}/scenario/import/",
        f"{base}/scenario/{scenario.pk}/change/",
        f"{base}/scenario/{scenario.pk}/history/",
        f"{base}/servedrequest/",
        *(f"{base}/servedrequest/{row.pk}/change/" for row in rows),
        f"{base}/servedrequest/sessions/",
        f"{base}/servedrequest/session/?name=nobody",
    ]


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_docs_pages_fit_the_screen(
    open_page: OpenPage, live: Live, width: int, height: int
) -> None:
    page = open_page(width=width, height=height)
    for path in ("", "admin/", "scenarios/", "benchmarks/", "overview/"):
        page.goto(f"{live.base_url}/docs/{path}")
        page_width = page.evaluate("document.documentElement.scrollWidth")
        assert page_width <= width, path


def test_help_opens_the_section_about_the_page(admin: Admin) -> None:
    admin.go("scenarios_app/servedrequest/sessions/")
    admin.page.get_by_role("link", name="Help").click()
    expect(admin.page.get_by_role("heading", name="Sessions", exact=True)).to_be_in_viewport()


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_pages_fit_and_run_no_injected_script(
    log_in: Callable[..., Admin], width: int, height: int
) -> None:
    admin = log_in(width=width, height=height)
    page = admin.page
    for path in paths():
        admin.go(path)
        page.wait_for_load_state("networkidle")
        for summary in page.locator(".sc-step > details > summary").all():
            summary.evaluate("element => element.parentElement.open = true")
        page_width = page.evaluate("document.documentElement.scrollWidth")
        assert page_width <= width, f"{path} is {page_width} wide"
        assert page.evaluate("window.hit") is None, path


def test_login_form_logs_in(open_page: OpenPage, live: Live) -> None:
    user = User.objects.create_user("tester", password=PASSWORD, is_staff=True)
    user.groups.add(Group.objects.get(name=READER))
    page = open_page()
    page.goto(f"{live.base_url}/admin/scenarios_app/scenario/")
    page.fill("#id_username", "tester")
    page.fill("#id_password", PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/admin/scenarios_app/scenario/")


def test_three_steps_fit_on_one_screen(admin: Admin) -> None:
    scenario = create_scenario(
        "three",
        {
            "name": "call the tool",
            "match.messages(user)": "weather " * 4,
            "match.tools": ["get_weather"],
        },
        {"match.messages(tool)": "sunny", "produce.text": "It is sunny. " * 20},
        {"produce.text": "I can only talk about the weather."},
        description="Asks for a tool, then answers",
    )
    admin.go(f"scenarios_app/scenario/{scenario.pk}/change/")
    end = admin.page.locator(".sc-add").bounding_box()
    bar = admin.page.locator("#submit-row").bounding_box()
    assert end and bar
    assert end["y"] + end["height"] <= bar["y"] and bar["y"] + bar["height"] <= 900


def test_reader_opens_rows_and_cannot_type(log_in: Callable[..., Admin]) -> None:
    scenario = create_scenario("one", {"produce.text": "a"})
    admin = log_in(READER)
    admin.go(f"scenarios_app/scenario/{scenario.pk}/change/")
    admin.page.locator(".sc-step summary").first.click()
    expect(admin.page.get_by_label("Answer text")).to_be_visible()
    expect(admin.page.get_by_label("Answer text")).to_be_disabled()
    expect(admin.page.get_by_role("button", name="Save")).to_have_count(0)
    select = admin.page.locator("select.sc-select:disabled").first
    expect(select).not_to_have_css("background-image", "none")


def test_session_is_reset_by_one_button(admin: Admin) -> None:
    create_journal_row(session="nightly")
    admin.go("scenarios_app/servedrequest/sessions/")
    admin.page.get_by_role("link", name="nightly").click()
    admin.page.get_by_role("button", name="Reset this session").click()
    expect(admin.page.get_by_text("Session “nightly” is reset.")).to_be_visible()
    expect(admin.page.get_by_role("link", name="nightly")).to_have_count(0)


def test_documents_are_imported_after_a_preview(admin: Admin) -> None:
    admin.go("scenarios_app/scenario/import/")
    document = '{"name": "pasted", "steps": [{"produce": {"text": "x"}}]}'
    admin.page.get_by_label("or pasted").fill(document)
    admin.page.get_by_role("button", name="Show what would change").click()
    expect(admin.page.get_by_role("row", name="pasted")).to_contain_text("new")
    admin.page.get_by_role("button", name="Import 1 scenario").click()
    expect(admin.page.get_by_text("Scenarios imported: 1 added.")).to_be_visible()
    expect(admin.page.get_by_role("link", name="pasted")).to_be_visible()
