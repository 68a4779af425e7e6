"""With the keyboard alone: a scenario is written, tested and served, in spite of a logout or a
restart in the middle of it."""

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.editing import ADD, row
from tests.browser.measuring import disable_animations
from tests.browser.test_keyboard import tab_to
from tests.serving.processes.serve_process import ServerProcess, run_server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

PASSWORD = "a password of a test"
VARIABLES = {"MOCKLLM_ENV": "dev", "MOCKLLM_ADMIN_PASSWORD": PASSWORD}
STEPS = (("weather", "It is sunny."), ("thanks", "You are welcome."), ("bye", "Goodbye."))


def type_login(page: Page) -> None:
    expect(page.get_by_label("Username")).to_be_focused()
    page.keyboard.type("admin")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def type_step(page: Page, number: int) -> None:
    message, answer = STEPS[number]
    press(page, page.locator(".sc-steps").get_by_role("button", name="Add a step"))
    step = row(page, number)
    expect(step.get_by_label("Last user message").last).to_be_focused()
    page.keyboard.type(message)
    tab_to(page, step.get_by_label("Answer text"))
    page.keyboard.type(answer)


def press(page: Page, target: Locator) -> None:
    tab_to(page, target)
    page.keyboard.press("Enter")


def log_in_again(page: Page) -> None:
    held = page.locator(".sc-held")
    expect(held).to_contain_text("You have been logged out.")
    with page.expect_popup() as popup:
        press(page, held.get_by_role("link", name="Log in in another tab"))
    type_login(popup.value)
    popup.value.close()


def end_sessions(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "mockllm.sqlite3")) as database, database:
        database.execute("DELETE FROM django_session")


@pytest.mark.parametrize("interruption", ["logout", "restart"])
def test_scenario_is_written_tested_and_served_with_the_keyboard(
    browser: Browser, tmp_path: Path, interruption: str
) -> None:
    page = browser.new_context().new_page()
    page.set_default_timeout(30_000)
    with ExitStack() as servers:
        server = servers.enter_context(run_server(tmp_path, "--no-demo", warm=True, **VARIABLES))
        page.goto(f"{server.base_url}/admin/{ADD}")
        type_login(page)
        disable_animations(page)
        expect(page.get_by_label("Name", exact=True)).to_be_focused()
        page.keyboard.type("weather")
        type_step(page, 0)
        type_step(page, 1)
        expect(page.locator("#checked")).to_have_text("No warnings")
        if interruption == "logout":
            end_sessions(tmp_path)
        else:
            server.end()
        type_step(page, 2)
        page.keyboard.press("Control+s")
        if interruption == "logout":
            log_in_again(page)
        else:
            expect(page.locator(".sc-held")).to_contain_text("The server does not answer.")
            port = str(server.port)
            servers.enter_context(
                run_server(tmp_path, "--no-demo", "--port", port, warm=True, **VARIABLES)
            )
        expect(page.locator(".sc-held")).to_contain_text("You can go on.")
        with page.expect_popup() as popup:
            press(page, page.get_by_role("button", name="Test", exact=True))
        expect(popup.value.locator("main")).to_contain_text(STEPS[0][1])
        popup.value.close()
        with page.expect_navigation():
            page.keyboard.press("Control+s")
        assert [ask(server, message) for message, _ in STEPS] == [text for _, text in STEPS]
    page.context.close()


def ask(server: ServerProcess, text: str) -> str:
    response = httpx2.post(
        f"{server.base_url}/v1/chat/completions",
        json={"model": "gpt-4o", "messages": [{"role": "user", "content": text}]},
        headers={"authorization": "Bearer any"},
    )
    answer: str = response.json()["choices"][0]["message"]["content"]
    return answer
