"""The steps of the QA tutorial work, with the names of fields, buttons and pages it uses."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from scenarios_app.models import Scenario
from tests.browser.conftest import Admin
from tests.browser.editing import add_step, open_fold, open_row, page_of, request_answer

pytestmark = pytest.mark.browser

TUTORIAL = (Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "qa.md").read_text(
    encoding="utf-8"
)
# Bold text in the tutorial names elements of the page; this file uses these names.
BOLD = set(re.findall(r"\*\*([^*]+)\*\*", TUTORIAL))
QUESTION, REPLY = "I want a refund, please.", "You get your money back within 14 days."


def tutorial_name(name: str) -> str:
    """Return a name; fail if the tutorial does not print it in bold."""
    assert name in BOLD, f"the tutorial names no {name}"
    return name


def test_steps_of_the_qa_tutorial_work(admin: Admin) -> None:
    page = admin.page
    assert QUESTION in TUTORIAL and REPLY in TUTORIAL
    page.get_by_role("link", name=tutorial_name("Scenarios")).first.click()
    page.get_by_role("link", name=tutorial_name("Add Scenario")).first.click()
    page.get_by_label(tutorial_name("Name"), exact=True).fill("refund")
    assert tutorial_name("Add a step")
    step = add_step(page)
    step.get_by_label(tutorial_name("Last user message")).last.fill("refund")
    step.get_by_label(tutorial_name("Answer text")).fill(REPLY)
    assert tutorial_name("Save")
    admin.save()
    expect(page.get_by_text("was added successfully")).to_be_visible()

    page.get_by_role("link", name=tutorial_name("Try it")).first.click()
    page.get_by_label(tutorial_name("User message")).fill(QUESTION)
    page.get_by_role("button", name=tutorial_name("Try"), exact=True).click()
    winning_step = page.locator(".sc-tried-step[data-state=wins]")
    expect(winning_step.locator("h3")).to_contain_text("refund, step")

    assert request_answer(admin, QUESTION) == REPLY
    page.get_by_role("link", name=tutorial_name("Journal")).first.click()
    expect(page.get_by_text("refund").first).to_be_visible()

    admin.go(page_of(Scenario.objects.get()))
    step = open_row(page, 0)
    open_fold(step, tutorial_name("Failures"))
    first = "the first requests, then it answers"
    assert first in TUTORIAL
    step.get_by_label(tutorial_name("When it fails")).select_option(first)
    step.get_by_label(tutorial_name("Failure type")).select_option("rate limit (429)")
    admin.save()
    assert [request_answer(admin, QUESTION) for _ in range(2)] == ["none", REPLY]

    admin.go(page_of(Scenario.objects.get()))
    page_text = page.locator("body")
    for name in ("History", "Edit as draft", "Export"):
        expect(page_text).to_contain_text(tutorial_name(name))
