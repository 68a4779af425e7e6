"""Finds words in the documentation: sections of its pages, the most telling first."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.http import require_safe

from mockllm_site.pages.docs import ROOT, anchor_of, page_files, unique_anchor, url_of_page

MAX_RESULTS: Final = 30
MAX_WORDS: Final = 10
EXCERPT_CHARS: Final = 200
# Decisions and changes tell why and when; other pages answer what to do.
LATER_PAGES: Final = ("decisions", "changelog", "contributing", "architecture")
_HEADING: Final = re.compile(r"#{1,4} ")
# The line below a table's heads, and the borders of code blocks.
_RULER: Final = re.compile(r"\| -|```")
_MARKS: Final = re.compile(r"[`*]|<!--.*?-->|\]\([^)\s]*\)|\[(?=[^\]]*\]\()")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading of a page with the text below it, without the marks of Markdown."""

    page: str
    title: str
    heading: str
    anchor: str
    text: str

    @property
    def url(self) -> str:
        """The address of the section; the first one of a page is the page's."""
        return url_of_page(self.page) + ("" if self.heading == self.title else f"#{self.anchor}")

    def count_score(self, words: Sequence[str]) -> float:
        """Return how well the section answers a search; 0 unless it has all the words."""
        title, heading, text = (part.casefold() for part in (self.title, self.heading, self.text))
        if not all(word in text or word in heading or word in title for word in words):
            return 0.0
        in_names = sum(8 * (word in heading) + 4 * (word in title) for word in words)
        in_text = sum(min(text.count(word), 5) for word in words)
        phrase = 6 * (len(words) > 1 and " ".join(words) in text)
        is_later = self.page.startswith(LATER_PAGES)
        return (1 + in_names + in_text + phrase) / (4 if is_later else 1)

    def excerpt(self, words: Sequence[str]) -> SafeString:
        """Return the text around the first word as HTML, with all words marked."""
        places = [place for word in words if (place := self.text.casefold().find(word)) >= 0]
        start = max(min(places, default=0) - EXCERPT_CHARS // 4, 0)
        start = self.text.rfind(" ", 0, start) + 1 if start else 0
        cut = self.text[start : start + EXCERPT_CHARS]
        before = "… " if start else ""
        after = " …" if start + EXCERPT_CHARS < len(self.text) else ""
        pattern = "|".join(re.escape(escape(word)) for word in words)
        marked = re.sub(pattern, r"<mark>\g<0></mark>", escape(cut), flags=re.IGNORECASE)
        return mark_safe(f"{before}{marked}{after}")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A found section as the page lists it."""

    url: str
    title: str
    heading: str
    excerpt: SafeString


@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    """Show the sections that have all words of the query `q`."""
    query = request.GET.get("q", "").strip()
    context = {"query": query, "results": search(query), "root": ROOT}
    return render(request, "mockllm_site/docs.html", context)


def search(query: str) -> list[SearchResult]:
    """Return the sections that have all words of the query, the best MAX_RESULTS of them."""
    words = list(dict.fromkeys(query.casefold().split()))[:MAX_WORDS]
    if not words:
        return []
    scored = {section: section.count_score(words) for section in all_sections()}
    matching = [section for section, score in scored.items() if score]
    # A page that has the words in many sections is about them.
    pages = Counter(section.page for section in matching)
    best = sorted(matching, key=lambda section: -scored[section] - pages[section.page])[
        :MAX_RESULTS
    ]
    return [
        SearchResult(
            section.url,
            section.title,
            "" if section.heading == section.title else section.heading,
            section.excerpt(words),
        )
        for section in best
    ]


@cache
def all_sections() -> tuple[Section, ...]:
    """Return the sections of all pages."""
    return tuple(
        section
        for name, file in page_files().items()
        for section in _sections_of(name, file.read_text(encoding="utf-8"))
    )


def _sections_of(page: str, markdown: str) -> Iterator[Section]:
    """Yield the sections of a page; lines in code blocks are text, not headings."""
    title = heading = ""
    anchor, lines, is_code = "", list[str](), False
    numbers: dict[str, int] = {}
    for line in (*markdown.splitlines(), "# "):
        is_code ^= line.startswith("```")
        if is_code or not _HEADING.match(line):
            if not _RULER.match(line):
                lines.append(line)
            continue
        if heading:
            yield Section(page, title, heading, anchor, _plain_text(" ".join(lines)))
        name = line.lstrip("#").strip()
        heading, lines = _plain_text(name), []
        title = title or heading
        anchor = unique_anchor(anchor_of(name), numbers)


def _plain_text(markdown: str) -> str:
    """Return Markdown without its marks, as one line."""
    return " ".join(_MARKS.sub("", markdown).replace("|", " ").split())
