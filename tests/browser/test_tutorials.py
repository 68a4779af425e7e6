"""The bold words of each tutorial are on the pages that it leads to: in its numbered lists each is
clicked, or filled in with the text that follows it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Admin
from tests.browser.editing import request_answer

pytestmark = pytest.mark.browser

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
QUESTION = "I want a refund, please."
_CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_STEP = re.compile(
    r"`http://127\.0\.0\.1:8000(?P<path>/[^`]*)`"
    # The value may follow other words of the sentence, but no other bold ones.
    r"|\*\*(?P<name>[^*]+)\*\*"
    r"(?:(?:(?!\*\*|\. )[^\n`])*?: (?:`(?P<text>[^`]+)`|\*(?P<option>[^*]+)\*(?!\*)))?"
)


@dataclass(frozen=True)
class Step:
    """A page to open, or a bold word: a field with the text or choice for it, or what is clicked if
    it `is_instruction`."""

    path: str | None = None
    name: str = ""
    text: str | None = None
    option: str | None = None
    is_instruction: bool = False


def steps_of(markdown: str) -> Iterator[Step]:
    for line in _CODE_BLOCK.sub("", markdown).splitlines():
        is_instruction = bool(re.match(r"\s*\d+\. ", line))
        for match in _STEP.finditer(line):
            words = {key: value for key, value in match.groupdict().items() if value}
            yield Step(**words, is_instruction=is_instruction)


TUTORIALS = {path.stem: list(steps_of(path.read_text("utf-8"))) for path in FOLDER.glob("*.md")}
WITH_PAGES = {name: steps for name, steps in TUTORIALS.items() if any(s.name for s in steps)}


class Reader:
    """Follows a tutorial in a browser. A tab that a click opens becomes the current one."""

    def __init__(self, admin: Admin) -> None:
        self.base_url = admin.live.base_url
        self.page: Page = admin.page
        self.page.context.on("page", self._switch)

    def follow(self, step: Step) -> None:
        """Do what a step says; fail if its word is not on the page."""
        if step.path is not None:
            self.page.goto(f"{self.base_url}{step.path}")
        elif step.text is not None:
            self._find(self.page.get_by_label(step.name, exact=True), step).fill(step.text)
        elif step.option is not None:
            field = self._find(self.page.get_by_label(step.name, exact=True), step)
            field.select_option(label=step.option)
        else:
            target = self._find(self._named(step.name), step)
            if step.is_instruction:
                target.click()
                self.page.wait_for_load_state()

    def _named(self, name: str) -> Locator:
        """Return what has exactly this name: links and buttons, folded groups, any text."""
        page = self.page
        named = page.get_by_role("link", name=name, exact=True)
        named = named.or_(page.get_by_role("button", name=name, exact=True))
        named = named.or_(page.get_by_role("tab", name=name, exact=True))
        named = named.or_(page.locator("summary").filter(has=page.get_by_text(name, exact=True)))
        return named.or_(page.get_by_text(name, exact=True))

    def _find(self, candidates: Locator, step: Step) -> Locator:
        visible = candidates.locator("visible=true").first
        message = f"the tutorial's “{step.name}” is not on {self.page.url}"
        expect(visible, message).to_be_visible()
        return visible

    def _switch(self, page: Page) -> None:
        self.page = page


def test_steps_are_read_from_markdown() -> None:
    text = """# A
See **Shown**.
1. Open `http://127.0.0.1:8000/admin/`, then **Add**.
2. In **Text**, beside *contains*: `a b`.
3. **Kind**: *rate limit (429)*. Then **Save**: done.
```sh
**no step**
```
"""
    assert list(steps_of(text)) == [
        Step(name="Shown"),
        Step("/admin/", is_instruction=True),
        Step(name="Add", is_instruction=True),
        Step(name="Text", text="a b", is_instruction=True),
        Step(name="Kind", option="rate limit (429)", is_instruction=True),
        Step(name="Save", is_instruction=True),
    ]


def check_that_both_steps_answer(admin: Admin) -> None:
    assert request_answer(admin, QUESTION) == "You get your money back within 14 days."
    assert request_answer(admin, "Who are you?") == "I am your shop assistant."


def check_that_the_first_request_fails(admin: Admin) -> None:
    answers = [request_answer(admin, QUESTION) for _ in range(2)]
    assert answers == ["none", "You get your money back within 14 days."]


# What holds before a step, by tutorial and bold word.
CHECKS = {
    ("qa", "Failures"): check_that_both_steps_answer,
    ("qa", "History"): check_that_the_first_request_fails,
}


@pytest.mark.parametrize("tutorial", sorted(WITH_PAGES))
def test_bold_words_of_a_tutorial_lead_through_it(
    log_in: Callable[..., Admin], tutorial: str
) -> None:
    admin = log_in(allow_failed_requests=True)
    reader = Reader(admin)
    for step in WITH_PAGES[tutorial]:
        if check := CHECKS.get((tutorial, step.name)):
            check(admin)
        reader.follow(step)


def test_every_check_has_its_step() -> None:
    assert all(name in {s.name for s in WITH_PAGES[tutorial]} for tutorial, name in CHECKS)
