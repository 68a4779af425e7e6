"""Whatever scenarios, requests and models say is text on every page: nothing of it runs, becomes an
element or leads anywhere."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Admin, OpenPage
from tests.browser.hostile_rows import CLIENT, HostilePage, written
from tests.browser.payloads import ALL, MARKDOWN, PAYLOADS
from tests.support.live_server import Live

pytestmark = pytest.mark.browser

# The page's content: elements made by a payload, addresses that run code, and every text.
LOOK = """() => {
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
    """Pages with everything hostile in them."""
    return written()


@pytest.fixture
def hits() -> list[object]:
    """What ran."""
    return []


def watched(page: Page, hits: list[object]) -> Page:
    page.expose_function("hit", lambda number: hits.append(number))
    page.on("dialog", lambda dialog: (hits.append(dialog.message), dialog.dismiss()))
    return page


def ready(page: Page) -> None:
    """What scripts fetch is there too."""
    if "/try/" in page.url:
        page.get_by_role("button", name="Try", exact=True).click()
        expect(page.locator(".sc-tried-step").first).to_be_visible()
    elif "/chat/?c=" in page.url:
        expect(page.locator("article.assistant")).to_have_count(2)
        expect(page.locator("#conversations li")).to_have_count(len(PAYLOADS) + 1)


def forms(text: str) -> tuple[str, str]:
    """A text as it is, and as JSON writes it."""
    return text, json.dumps(text, ensure_ascii=False)[1:-1]


def look(page: Page, texts: tuple[str, ...]) -> None:
    """The texts are there, and nothing came of any."""
    seen = page.evaluate(LOOK)
    assert (seen["elements"], seen["addresses"]) == (0, []), page.url
    missing = [one for one in texts if not any(form in seen["text"] for form in forms(one))]
    assert missing == [], page.url


def test_hostile_values_are_text_on_every_page(
    hostile_pages: list[HostilePage], hits: list[object], log_in: Callable[..., Admin]
) -> None:
    admin = log_in()
    page = watched(admin.page, hits)
    page.evaluate(f"localStorage.setItem('mockllm-client', '{CLIENT}')")
    for one in hostile_pages:
        answer = page.goto(f"{admin.live.base_url}{one.path}")
        assert answer is not None and answer.ok, one.path
        ready(page)
        look(page, one.texts)
    assert hits == []


def test_hostile_answer_is_text_while_it_streams(
    live: Live, hits: list[object], open_page: OpenPage
) -> None:
    call = {"name": "echo", "arguments": {"text": "{{ all }}"}}
    said = {"text": "{{ all }}", "reasoning": "{{ all }}"}
    refused = {"kind": "http", "status": 400, "message": ALL}
    answers = [{**said, "tool_calls": [call]}, said, {"fault": refused}]
    steps = [{"produce": answer} for answer in answers]
    live.load({"name": "talk", "variables": {"all": ALL}, "steps": steps})
    page = watched(open_page(), hits)
    page.goto(f"{live.base_url}/chat/")
    page.fill("#message", ALL)
    page.keyboard.press("Enter")
    answer = page.locator("article.assistant[data-status=complete]")
    expect(answer.locator(".text")).to_have_count(2)
    expect(answer.locator("[data-tool=echo] .tag")).to_contain_text("success")
    look(page, PAYLOADS)
    page.fill("#message", ALL)
    page.keyboard.press("Enter")
    expect(page.locator("#error-text")).not_to_be_empty()
    look(page, PAYLOADS)
    assert hits == []


def test_markdown_of_a_model_runs_nothing_and_fetches_nothing(
    live: Live, hits: list[object], open_page: OpenPage
) -> None:
    """As answer, reasoning, tool call and tool result, while they stream and read again."""
    corpus = (*MARKDOWN, *PAYLOADS)
    said = {"text": "{{ one }}", "reasoning": "{{ one }}"}
    call = {"name": "echo", "arguments": {"text": "{{ one }}"}}
    # With blank lines, each is a separate block.
    variables = {"one": "\n\n".join(corpus)}
    steps = [{"produce": {**said, "tool_calls": [call]}}, {"produce": said}]
    live.load({"name": "talk", "variables": variables, "steps": steps})
    page = watched(open_page(), hits)
    page.goto(f"{live.base_url}/chat/")
    page.fill("#message", "\n\n".join(corpus))
    page.keyboard.press("Enter")
    answer = page.locator("article.assistant[data-status=complete]")
    expect(answer.locator(".text")).to_have_count(2)
    # The text is rendered as Markdown, with allowed links.
    expect(answer.locator(".text table").first).to_be_attached()
    expect(answer.locator(".text a[href^='http']").first).to_be_attached()
    for _ in range(2):
        look(page, ())
        page.mouse.move(640, 400)
        page.reload()
        expect(answer.locator(".text")).to_have_count(2)
    look(page, ())
    assert hits == []
