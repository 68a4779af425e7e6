"""Layout of the playground: screen sizes, Markdown, and details of the profile."""

import pytest
from playwright.sync_api import Browser, expect

from chat_app.models import ModelProfile
from tests.browser.axe import violations
from tests.browser.conftest import OpenPage
from tests.browser.playground.conftest import Playground
from tests.chat.chat_helpers import scenario
from tests.chat.scripts import TOOL_CALL
from tests.support.live_server import Live

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (420, False)])
def test_playground_fits_the_screen(
    open_page: OpenPage, live: Live, width: int, dark: bool
) -> None:
    live.load(scenario({"text": "word " * 200, **TOOL_CALL}, {"text": "a" * 500}))
    playground = Playground(open_page(width=width, dark=dark), live)
    playground.go()
    playground.say("Hello " * 40)
    expect(playground.answer()).to_be_visible()
    for path in (None, "/chat/leaderboard/"):
        if path:
            playground.page.goto(f"{live.base_url}{path}")
        assert playground.page.evaluate("document.documentElement.scrollWidth") <= width
        assert playground.page.evaluate(
            "[...document.querySelectorAll('button, select')].every("
            "e => e.getBoundingClientRect().right <= innerWidth + 1)"
        )


def test_feedback_is_large_enough_for_a_finger(browser: Browser, live: Live) -> None:
    live.load(scenario({"text": "Hi."}))
    screen = {"width": 420, "height": 800}
    context = browser.new_context(viewport=screen, has_touch=True, is_mobile=True)
    playground = Playground(context.new_page(), live)
    playground.go()
    playground.say("Hello")
    button = playground.answer().locator("[data-feedback=dislike]")
    box = button.bounding_box()
    assert box and min(box["width"], box["height"]) >= 44
    button.tap()
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(playground.page.get_by_label("Comment on your feedback")).to_be_in_viewport()
    assert violations(playground.page) == []
    context.close()


MARKDOWN = (
    "# Plan\n\nSome **bold** text.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    "```python\nprint(1)\n```\n\n<b>raw</b> [x](javascript:hit) ![y](http://evil.example/y.png)"
)


def test_markdown_is_laid_out_and_markup_stays_text(playground: Playground) -> None:
    playground.live.load(scenario({"text": MARKDOWN}))
    playground.go()
    playground.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    playground.say("Show me")
    text = playground.answer().locator(".text")
    expect(text.locator("h1")).to_have_text("Plan")
    expect(text.locator("strong")).to_have_text("bold")
    expect(text.locator("td").first).to_have_text("1")
    expect(text).to_contain_text("<b>raw</b>")
    expect(text.locator("b, img, a[href^=javascript]")).to_have_count(0)
    text.get_by_role("button", name="Copy code").click()
    expect(text.get_by_role("button", name="Copied")).to_be_visible()
    assert playground.page.evaluate("navigator.clipboard.readText()") == "print(1)\n"


def test_prompt_and_tools_of_the_profile_are_visible(playground: Playground) -> None:
    ModelProfile.objects.update_or_create(
        name="demo",
        defaults={
            "provider_id": "openai",
            "model_id": "gpt-4o",
            "base_url": "mock:",
            "system_prompt": "Be brief.",
            "mcp_servers": ["demo"],
        },
    )
    playground.go()
    expect(playground.page.locator("#about-short")).to_have_text("System prompt · tools on")
    playground.page.click("#about summary")
    expect(playground.page.locator("#about-long")).to_contain_text("Be brief.")
