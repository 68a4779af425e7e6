"""From a request that nothing answered to the step that answers it, by clicks."""

import httpx2
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Admin
from tests.live import Live

pytestmark = pytest.mark.browser


def ask(live: Live) -> httpx2.Response:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": 'Who are "you"?'}]}
    headers = {"Authorization": f"Bearer {live.key}"}
    return httpx2.post(f"{live.openai_base_url}/chat/completions", json=body, headers=headers)


def test_what_was_unmatched_is_matched_by_the_step_made_of_it(admin: Admin) -> None:
    page, live = admin.page, admin.live
    assert ask(live).status_code == 404
    page.goto(f"{live.base_url}/journal/")
    page.locator("#result_list tbody").get_by_role("link").first.click()
    page.get_by_role("button", name="Make a step from this request").click()
    step = page.locator(".sc-list > .sc-step")
    expect(step.locator(".sc-when")).to_have_text(
        'openai · model gpt-4o · user is “Who are "you"?”'
    )
    step.get_by_label("Answer text").fill("Nobody.")
    page.get_by_label("Enabled").check()
    admin.save()
    expect(page.get_by_text("was changed successfully")).to_be_visible()
    answer = ask(live)
    assert answer.json()["choices"][0]["message"]["content"] == "Nobody."
    assert [one.matched for one in live.requests()] == [False, True]
