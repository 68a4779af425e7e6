"""Links in the pages resolve to existing files and headings."""

import re

import pytest

from tests.docs.blocks import ROOT, pages

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings: lower case, no punctuation, hyphens for spaces."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in _HEADING.findall(text)
    }


@pytest.mark.parametrize("page", pages())
def test_every_link_of_a_page_resolves(page: str) -> None:
    path = ROOT / page
    broken_links = []
    for link in _LINK.findall(path.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if "://" in link:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            broken_links.append(link)
    assert broken_links == []


def test_anchor_is_made_from_the_words_of_a_heading() -> None:
    text = "# A tool's result\n\n## Use it in tests\n"
    assert anchors(text) == {"a-tools-result", "use-it-in-tests"}
