"""Nothing typed in the admin is lost: logouts, restarts, crashes and Back, in a browser."""

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from playwright.sync_api import Browser, Page, Route, expect

from chat_app.models import ModelProfile
from scenarios_app.models import Scenario
from tests.admin.pages import create_scenario, texts
from tests.browser.conftest import OPERATOR, Admin, OpenPage
from tests.browser.editing import ADD, add_step, open_test, page_of, row
from tests.serving.processes.serve_process import run_server

pytestmark = pytest.mark.browser

PASSWORD = "a password of a test"
STEPS = (("weather", "It is sunny."), ("thanks", "You are welcome."), ("bye", "Goodbye."))


def type_step(page: Page, number: int) -> None:
    message, answer = STEPS[number]
    step = add_step(page)
    step.get_by_label("Last user message").last.fill(message)
    step.get_by_label("Answer text").fill(answer)


def save(page: Page) -> None:
    page.get_by_role("button", name="Save", exact=True).click()


def log_in_at(page: Page, name: str) -> None:
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def crash(page: Page) -> Page:
    """Close a tab without asking; return a new tab at its address."""
    context, url = page.context, page.url
    page.close(run_before_unload=False)
    page = context.new_page()
    page.goto(url)
    return page


def restore(page: Page) -> None:
    expect(page.locator("#typed")).to_contain_text("was not saved.")
    with page.expect_navigation():
        page.get_by_role("button", name="Restore what you typed").click()
    expect(page.locator("#typed")).to_contain_text("It is not saved yet.")


def test_scenario_is_saved_after_its_session_has_ended_twice(
    log_in: Any, open_page: OpenPage
) -> None:
    admin: Admin = log_in(OPERATOR, allow_failed_requests=True)
    user = User.objects.get(username=OPERATOR)
    user.set_password(PASSWORD)
    user.save()
    page, held = admin.page, admin.page.locator(".sc-held")
    # The new password ends the first session.
    admin.go()
    log_in_at(page, OPERATOR)
    admin.go(ADD)
    page.get_by_label("Name", exact=True).fill("weather")
    type_step(page, 0)
    expect(page.locator("#checked")).to_have_text("No warnings")
    Session.objects.all().delete()
    type_step(page, 1)
    # The check while typing meets the login page.
    expect(held).to_contain_text("You have been logged out.")
    expect(page.locator("#checked")).to_have_text("Not checked")
    save(page)
    expect(row(page, 1).get_by_label("Answer text")).to_have_value(STEPS[1][1])
    with page.expect_popup() as popup:
        held.get_by_role("link", name="Log in in another tab").click()
    log_in_at(popup.value, OPERATOR)
    popup.value.close()
    expect(held).to_contain_text("You can go on.")
    expect(page.locator("#checked")).to_have_text("No warnings")
    type_step(page, 2)
    expect(held).to_have_count(0)

    def end_session_after_answer(route: Route) -> None:
        response = route.fetch()
        Session.objects.all().delete()
        route.fulfill(response=response)

    # It ends once more, between the question and the post.
    page.route("**/admin/session/", end_session_after_answer)
    with page.expect_navigation():
        save(page)
    page.unroute("**/admin/session/")
    log_in_at(page, OPERATOR)
    restore(page)
    assert not Scenario.objects.exists()
    admin.save()
    assert texts(Scenario.objects.get(name="weather")) == [answer for _, answer in STEPS]
    # Back leads to the saved scenario, and nothing is offered again.
    admin.go(ADD)
    expect(page.get_by_label("Name", exact=True)).to_be_visible()
    expect(page.locator("#typed")).to_have_count(0)


def test_scenario_is_saved_after_its_server_has_restarted(browser: Browser, tmp_path: Path) -> None:
    variables = {"MOCKLLM_ENV": "dev", "MOCKLLM_ADMIN_PASSWORD": PASSWORD}
    page = browser.new_context().new_page()
    held = page.locator(".sc-held")
    with run_server(tmp_path, "--no-demo", warm=True, **variables) as server:
        port = str(server.port)
        page.goto(f"{server.base_url}/admin/{ADD}")
        log_in_at(page, "admin")
        page.get_by_label("Name", exact=True).fill("weather")
        type_step(page, 0)
        type_step(page, 1)
        expect(page.locator("#checked")).to_have_text("No warnings")
    save(page)
    expect(held).to_contain_text("The server does not answer. Do not leave this page")
    type_step(page, 2)
    with run_server(tmp_path, "--no-demo", "--port", port, warm=True, **variables) as server:
        # The login outlives the restart.
        expect(held).to_contain_text("You can go on.")
        page = crash(page)
        restore(page)
        with page.expect_navigation():
            save(page)
        page.get_by_role("link", name="weather", exact=True).first.click()
        expect(page.locator(".sc-list > .sc-step")).to_have_count(3)
        expect(row(page, 2)).to_contain_text(STEPS[2][1])
    page.context.close()


def test_scenario_is_tested_after_its_session_has_ended(log_in: Any) -> None:
    admin: Admin = log_in(OPERATOR, allow_failed_requests=True)
    User.objects.filter(username=OPERATOR).update(password=make_password(PASSWORD))
    page, held = admin.page, admin.page.locator(".sc-held")
    # The new password ends the session.
    admin.go()
    log_in_at(page, OPERATOR)
    admin.go(ADD)
    page.get_by_label("Name", exact=True).fill("weather")
    type_step(page, 0)
    expect(page.locator("#checked")).to_have_text("No warnings")
    Session.objects.all().delete()
    page.get_by_role("button", name="Test", exact=True).click()
    expect(held).to_contain_text("You have been logged out.")
    with page.expect_popup() as popup:
        held.get_by_role("link", name="Log in in another tab").click()
    log_in_at(popup.value, OPERATOR)
    popup.value.close()
    expect(held).to_contain_text("You can go on.")
    expect(open_test(page).locator("main")).to_contain_text(STEPS[0][1])


def test_back_after_the_first_save_leads_to_the_saved_row(admin: Admin) -> None:
    page = admin.page
    for button in ("Save", "Save as a draft"):
        admin.go("scenarios_app/scenario/new/")
        page.get_by_role("link", name="Empty").click()
        page.get_by_label("Name", exact=True).fill(button)
        type_step(page, 0)
        with page.expect_navigation():
            page.get_by_role("button", name=button, exact=True).click()
        page.go_back()
        page.wait_for_url("**/change/")
        expect(page.get_by_label("Name", exact=True)).to_have_value(button)
        expect(page.locator(".sc-list > .sc-step")).to_have_count(1)


def test_forms_are_offered_after_a_crash_without_their_passwords(log_in: Any) -> None:
    profile = ModelProfile.objects.create(name="one", provider_id="openai", model_id="m")
    admin: Admin = log_in(OPERATOR)
    page = admin.page
    admin.go(f"chat_app/modelprofile/{profile.pk}/change/")
    page.get_by_label("System prompt").fill("Be brief.")
    page.get_by_label("System prompt").blur()
    page.wait_for_function("JSON.stringify(localStorage).includes('Be brief.')")
    ModelProfile.objects.update(model_id="newer")
    page = crash(page)
    expect(page.locator("#typed")).to_contain_text("What is stored has changed since then")
    restore(page)
    expect(page.get_by_label("System prompt")).to_have_value("Be brief.")
    with page.expect_navigation():
        save(page)
    profile.refresh_from_db()
    assert (profile.system_prompt, profile.model_id) == ("Be brief.", "m")

    page.goto(f"{admin.live.base_url}/admin/auth/user/add/")
    page.get_by_label("Username").fill("paula")
    page.locator("[type=password]").first.fill("a secret of paula")
    page.wait_for_function("JSON.stringify(localStorage).includes('paula')")
    assert "a secret" not in page.evaluate("JSON.stringify(localStorage)")
    page = crash(page)
    restore(page)
    expect(page.locator("#typed")).to_contain_text("Passwords and files were not kept.")
    expect(page.get_by_label("Username")).to_have_value("paula")
    page = crash(page)
    page.get_by_role("button", name="Discard it").click()
    expect(page.locator("#typed")).to_have_count(0)

    page.goto(f"{admin.live.base_url}/admin/scenarios_app/scenario/import/")
    page.get_by_label("or pasted").fill('{"name": "pasted"')
    page.wait_for_function("JSON.stringify(localStorage).includes('pasted')")
    page = crash(page)
    restore(page)
    expect(page.get_by_label("or pasted")).to_have_value('{"name": "pasted"')
    # The preview of a file does not offer what was pasted earlier.
    page = crash(page)
    expect(page.locator("#typed")).to_have_count(1)
    document = {"name": "file.yaml", "mimeType": "text/plain", "buffer": b"name: one\nsteps: []\n"}
    page.locator("[type=file]").set_input_files(document)  # type: ignore[arg-type]
    page.get_by_role("button", name="Show what would change").click()
    expect(page.get_by_role("button", name="Import 1 scenario")).to_be_visible()
    page.wait_for_function("history.state?.keptForm")
    expect(page.locator("#typed")).to_have_count(0)
    assert not User.objects.filter(username="paula").exists()


def test_form_that_is_open_in_another_tab_is_not_offered(log_in: Any) -> None:
    scenario = create_scenario("one", {})
    admin: Admin = log_in()
    first = admin.page
    admin.go(page_of(scenario))
    first.get_by_label("Description").fill("half a sentence")
    first.wait_for_function("JSON.stringify(localStorage).includes('half a sentence')")
    second = first.context.new_page()
    for offers in (0, 1):
        second.goto(first.url)
        second.wait_for_function("history.state?.keptForm")
        # The page reads the locks before it offers anything.
        second.evaluate("navigator.locks.query()")
        expect(second.locator("#typed")).to_have_count(offers)
        first.close(run_before_unload=False)


def test_form_of_another_user_or_of_last_week_is_not_offered(log_in: Any) -> None:
    scenario = create_scenario("one", {})
    admin: Admin = log_in()
    page = admin.page
    admin.go(page_of(scenario))
    page.get_by_label("Description").fill("half a sentence")
    page.wait_for_function("JSON.stringify(localStorage).includes('half a sentence')")
    page = crash(page)
    change = """([name, value]) => { for (const [key, text] of Object.entries(localStorage)) {
        if (!key.startsWith('mockllm:typed:')) continue;
        localStorage[key] = JSON.stringify({ ...JSON.parse(text), [name]: value });
    } }"""
    user = str(User.objects.get().pk)
    for name, value, offers in (("user", "0", 0), ("user", user, 1), ("at", 0, 0)):
        page.evaluate(change, [name, value])
        page.reload()
        # The page looks for earlier forms before its own has a name.
        page.wait_for_function("history.state?.keptForm")
        expect(page.get_by_label("Description")).to_have_value("")
        expect(page.locator("#typed")).to_have_count(offers)
