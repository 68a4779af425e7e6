"""Hostile values of scenarios, requests and models are shown as text on every page."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Admin, OpenPage
from tests.browser.hostile_rows import CLIENT, HostilePage, write_hostile_pages
from tests.browser.payloads import ALL, MARKDOWN, PAYLOADS
from tests.support.live_server import Live

pytestmark = pytest.mark.browser

# The page's content: elements made by a payload, addresses that run code, and every text.
READ_PAGE = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const leads = ["href", "src", "action", "formaction"];
  const addresses = leads.flatMap((name) => all(`[${name}]`).map((one) => one.getAttribute(name)));
  const values = all("input, textarea, select").map((field) => field.value);
  return {
    elements: all("[data-hostile]").length,
    addresses: [
      ...addresses.filter((one) => /^\\s*(javascript|vbscript|data:text)/i.test(one)),
      // As the browser reads them.
      ...all("a[href]").filter((one) => !/^https?:|^blob:/.test(one.protocol)).map(String),
    ],
    text: [document.body.textContent, ...values].join("\\n"),
  };
}"""


@pytest.fixture
def hostile_pages(live: Live) -> list[HostilePage]:
    """Store hostile rows and return the pages that show them."""
    return write_hostile_pages()


@pytest.fixture
def script_calls() -> list[object]:
    """Return the list of calls and dialogs of injected scripts."""
    return []


def watch_scripts(page: Page, script_calls: list[object]) -> Page:
    page.expose_function("hit", lambda number: script_calls.append(number))
    page.on("dialog", lambda dialog: (script_calls.append(dialog.message), dialog.dismiss()))
    return page


def load_results(page: Page) -> None:
    """Wait until the page has loaded the content that its scripts fetch."""
    if "/test/" in page.url:
        page.get_by_role("button", name="Try", exact=True).click()
        expect(page.locator(".sc-tried-step").first).to_be_visible()
    elif "/chat/?c=" in page.url:
        expect(page.locator("article.assistant")).to_have_count(2)
        expect(page.locator("#conversations li")).to_have_count(len(PAYLOADS) + 1)


def text_forms(text: str) -> tuple[str, str]:
    """Return a text unchanged and with JSON escapes."""
    return text, json.dumps(text, ensure_ascii=False)[1:-1]


def assert_texts_are_inert(page: Page, texts: tuple[str, ...]) -> None:
    """Fail unless the page has the texts, without injected elements and links."""
    page_content = page.evaluate(READ_PAGE)
    assert (page_content["elements"], page_content["addresses"]) == (0, []), page.url
    missing = [
        text for text in texts if not any(form in page_content["text"] for form in text_forms(text))
    ]
    assert missing == [], page.url


def test_hostile_values_are_text_on_every_page(
    hostile_pages: list[HostilePage], script_calls: list[object], log_in: Callable[..., Admin]
) -> None:
    admin = log_in()
    page = watch_scripts(admin.page, script_calls)
    page.evaluate(f"localStorage.setItem('mockllm-client', '{CLIENT}')")
    for hostile_page in hostile_pages:
        answer = page.goto(f"{admin.live.base_url}{hostile_page.path}")
        assert answer is not None and answer.ok, hostile_page.path
        load_results(page)
        assert_texts_are_inert(page, hostile_page.texts)
    assert script_calls == []


def test_hostile_answer_is_text_while_it_streams(
    live: Live, script_calls: list[object], open_page: OpenPage
) -> None:
    call = {"name": "echo", "arguments": {"text": "{{ all }}"}}
    produce = {"text": "{{ all }}", "reasoning": "{{ all }}"}
    fault = {"kind": "http", "status": 400, "message": ALL}
    answers = [{**produce, "tool_calls": [call]}, produce, {"fault": fault}]
    steps = [{"produce": answer} for answer in answers]
    live.load({"name": "talk", "variables": {"all": ALL}, "steps": steps})
    page = watch_scripts(open_page(), script_calls)
    page.goto(f"{live.base_url}/chat/")
    page.fill("#message", ALL)
    page.keyboard.press("Enter")
    answer = page.locator("article.assistant[data-status=complete]")
    expect(answer.locator(".text")).to_have_count(2)
    expect(answer.locator("[data-tool=echo] .tag")).to_contain_text("success")
    assert_texts_are_inert(page, PAYLOADS)
    page.fill("#message", ALL)
    page.keyboard.press("Enter")
    expect(page.locator("#error-text")).not_to_be_empty()
    assert_texts_are_inert(page, PAYLOADS)
    assert script_calls == []


def test_markdown_of_a_model_runs_nothing_and_fetches_nothing(
    live: Live, script_calls: list[object], open_page: OpenPage
) -> None:
    # As answer, reasoning, tool call and tool result, while streaming and after a reload.
    corpus = (*MARKDOWN, *PAYLOADS)
    produce = {"text": "{{ one }}", "reasoning": "{{ one }}"}
    call = {"name": "echo", "arguments": {"text": "{{ one }}"}}
    # With blank lines, each is a separate block.
    variables = {"one": "\n\n".join(corpus)}
    steps = [{"produce": {**produce, "tool_calls": [call]}}, {"produce": produce}]
    live.load({"name": "talk", "variables": variables, "steps": steps})
    page = watch_scripts(open_page(), script_calls)
    page.goto(f"{live.base_url}/chat/")
    page.fill("#message", "\n\n".join(corpus))
    page.keyboard.press("Enter")
    answer = page.locator("article.assistant[data-status=complete]")
    expect(answer.locator(".text")).to_have_count(2)
    # The text is rendered as Markdown, with allowed links.
    expect(answer.locator(".text table").first).to_be_attached()
    expect(answer.locator(".text a[href^='http']").first).to_be_attached()
    for _ in range(2):
        assert_texts_are_inert(page, ())
        page.mouse.move(640, 400)
        page.reload()
        expect(answer.locator(".text")).to_have_count(2)
    assert_texts_are_inert(page, ())
    assert script_calls == []
