"""The tutorial for QA, done as it says: what it calls a field, a button or a page is called so."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from scenarios_app.models import Scenario
from tests.browser.conftest import Admin
from tests.browser.editing import add_step, answer, open_fold, open_row, page_of

pytestmark = pytest.mark.browser

TUTORIAL = (Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "qa.md").read_text(
    encoding="utf-8"
)
# Bold text in the tutorial names elements of the page; this file uses these names.
BOLD = set(re.findall(r"\*\*([^*]+)\*\*", TUTORIAL))
QUESTION, REPLY = "I want a refund, please.", "You get your money back within 14 days."


def named(name: str) -> str:
    assert name in BOLD, f"the tutorial names no {name}"
    return name


def test_steps_of_the_qa_tutorial_work(admin: Admin) -> None:
    page = admin.page
    assert QUESTION in TUTORIAL and REPLY in TUTORIAL
    page.get_by_role("link", name=named("Scenarios")).first.click()
    page.get_by_role("link", name=named("Add Scenario")).first.click()
    page.get_by_label(named("Name"), exact=True).fill("refund")
    assert named("Add a step")
    step = add_step(page)
    step.get_by_label(named("Last user message")).last.fill("refund")
    step.get_by_label(named("Answer text")).fill(REPLY)
    assert named("Save")
    admin.save()
    expect(page.get_by_text("was added successfully")).to_be_visible()

    page.get_by_role("link", name=named("Try it")).first.click()
    page.get_by_label(named("User message")).fill(QUESTION)
    page.get_by_role("button", name=named("Try"), exact=True).click()
    wins = page.locator(".sc-tried-step[data-state=wins]")
    expect(wins.locator("h3")).to_contain_text("refund, step")

    assert answer(admin, QUESTION) == REPLY
    page.get_by_role("link", name=named("Journal")).first.click()
    expect(page.get_by_text("refund").first).to_be_visible()

    admin.go(page_of(Scenario.objects.get()))
    step = open_row(page, 0)
    open_fold(step, named("Failures"))
    first = "the first requests, then it answers"
    assert first in TUTORIAL
    step.get_by_label(named("When it fails")).select_option(first)
    step.get_by_label(named("Failure type")).select_option("rate limit (429)")
    admin.save()
    assert [answer(admin, QUESTION) for _ in range(2)] == ["none", REPLY]

    admin.go(page_of(Scenario.objects.get()))
    page_text = page.locator("body")
    for name in ("History", "Edit as draft", "Export"):
        expect(page_text).to_contain_text(named(name))
