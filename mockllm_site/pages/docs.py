"""Serves the documentation: Markdown files of the project as HTML pages, and their pictures."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from mimetypes import guess_type
from pathlib import Path
from posixpath import dirname, normpath
from typing import TYPE_CHECKING, Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.safestring import SafeString, mark_safe
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from mockllm_site import paths

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

ROOT: Final = "/docs/"
CACHE_SECONDS: Final = 300
# Pages outside `docs/`, with their names on the documentation site.
OTHER_PAGES: Final = {
    "README.md": "overview",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
}
_MARKDOWN: Final = "text/markdown; charset=utf-8"
_PICTURES: Final = {".png", ".svg"}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading in a page's table of contents; `anchor` is its id."""

    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class DocsPage:
    """A rendered page; `headings` are those of the second level."""

    title: str
    html: SafeString
    headings: tuple[Heading, ...]


@require_safe
@cache_control(max_age=CACHE_SECONDS)
def documentation_page(request: HttpRequest, name: str = "") -> HttpResponse:
    """Show one page, the index for an empty name. Raise Http404 for an unknown one."""
    if name not in page_files():
        raise Http404
    return render(request, "mockllm_site/docs.html", {"page": render_page(name), "root": ROOT})


@require_safe
@cache_control(max_age=CACHE_SECONDS)
def docs_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """Send a picture below `docs/`, or redirect the path of a Markdown file to its page. Raise
    Http404 for any other."""
    file = picture_files().get(name)
    if file is not None:
        return HttpResponse(file.read_bytes(), content_type=guess_type(file.name)[0])
    target = page_name(f"docs/{name.removesuffix('.md')}.md")
    if target not in page_files():
        raise Http404
    return redirect(url_of_page(target))


@require_safe
@cache_control(max_age=CACHE_SECONDS)
def docs_text(request: HttpRequest, name: str = "") -> HttpResponse:
    """Send the Markdown of a page, or a 404: a light server's messages link to these URLs."""
    file = page_files().get(name)
    if file is None:
        return HttpResponse(f"There is no {request.path}.\n", status=404, content_type=_MARKDOWN)
    return HttpResponse(file.read_bytes(), content_type=_MARKDOWN)


@cache
def page_files() -> Mapping[str, Path]:
    """Return the Markdown files of all pages by `page_name`."""
    files = sorted((paths.PROJECT / "docs").rglob("*.md"))
    beside = [file for name in OTHER_PAGES if (file := paths.PROJECT / name).is_file()]
    return {page_name(_project_path(file)): file for file in (*files, *beside)}


@cache
def picture_files() -> Mapping[str, Path]:
    """Return the files of all pictures by path below `docs/`."""
    folder = paths.PROJECT / "docs"
    pictures = sorted(file for file in folder.rglob("*") if file.suffix in _PICTURES)
    return {file.relative_to(folder).as_posix(): file for file in pictures}


def page_name(source: str) -> str:
    """Return the name of a page, `admin` for `docs/admin.md`; empty for the index."""
    if source in OTHER_PAGES:
        return OTHER_PAGES[source]
    name = source.removeprefix("docs/").removesuffix(".md")
    return re.sub(r"(^|/)(index|README)$", "", name)


def url_of_page(name: str) -> str:
    return f"{ROOT}{name}/" if name else ROOT


def _project_path(file: Path) -> str:
    return file.relative_to(paths.PROJECT).as_posix()


@cache
def render_page(name: str) -> DocsPage:
    """Return the page of this name, rendered once; HTML in its Markdown is left out."""
    file = page_files()[name]
    markdown = _markdown_parser()
    tokens = markdown.parse(file.read_text(encoding="utf-8"))
    anchors: dict[str, int] = {}
    headings: list[tuple[str, Heading]] = []
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            text = tokens[place + 1]
            anchor = unique_anchor(anchor_of(text.content), anchors)
            token.attrSet("id", anchor)
            headings.append((token.tag, Heading(anchor, _plain_text(text))))
        elif token.type in ("th_open", "td_open"):
            # The content security policy allows no style attribute.
            if "right" in str(token.attrs.pop("style", "")):
                token.attrSet("class", "number")
            if not tokens[place + 1].content:
                # An empty corner cell heads no column.
                token.tag = tokens[place + 2].tag = "td"
        elif token.type == "inline":
            _rewrite_links(token, _project_path(file))
    html = markdown.renderer.render(tokens, markdown.options, {})
    title = next((heading.text for tag, heading in headings if tag == "h1"), name)
    contents = tuple(heading for tag, heading in headings if tag == "h2")
    return DocsPage(title, mark_safe(html), contents)


def anchor_of(heading: str) -> str:
    """Return the anchor of a heading as code hosts make it: lower case, hyphens, no punctuation."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def unique_anchor(anchor: str, last_numbers: dict[str, int]) -> str:
    """Return the anchor, with a number if the page has it already; update the last numbers."""
    number = last_numbers[anchor] = last_numbers.get(anchor, -1) + 1
    return f"{anchor}-{number}" if number else anchor


def _plain_text(inline: "Token") -> str:
    return "".join(child.content for child in inline.children or ())


def _rewrite_links(inline: "Token", source: str) -> None:
    """Translate the targets of a token's links and pictures in place (`translate_link`)."""
    for child in inline.children or ():
        for attribute in ("href", "src"):
            if isinstance(target := child.attrs.get(attribute), str):
                child.attrSet(attribute, translate_link(source, target))


def translate_link(source: str, target: str) -> str:
    """Return the URL on this server for a link in a file of the project."""
    path, mark, anchor = target.partition("#")
    if not path or "://" in path:
        return target
    file = normpath(f"{dirname(source)}/{path}").removeprefix("/")
    url = url_of_page(page_name(file)) if file.endswith(".md") else f"/{file}"
    return f"{url}{mark}{anchor}"


@cache
def _markdown_parser() -> "MarkdownIt":
    """Return the Markdown parser: CommonMark with scrolling tables and without HTML."""
    # Imported late: the import takes 0.1 s, and only the docs need it.
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    rules: dict[str, Any] = markdown.renderer.rules  # type: ignore[attr-defined]
    # Wide tables scroll inside the page, also with the keyboard.
    opened = '<div class="scroll" tabindex="0" role="group" aria-label="Table">\n<table>\n'
    rules["table_open"] = lambda *_: opened
    rules["table_close"] = lambda *_: "</table>\n</div>\n"
    rules["html_block"] = rules["html_inline"] = lambda *_: ""
    return markdown


# Docs pages for paths below `/admin/`; the first match counts.
HELP_PAGES: Final = (
    (r"scenarios_app/\w+/(.+/)?test/", "admin/#test"),
    (r"scenarios_app/\w+/.+/history/", "admin/#lint-and-history"),
    (r"scenarios_app/draft/", "admin/#drafts"),
    (r"scenarios_app/scenario/trash/", "admin/#the-trash"),
    (r"scenarios_app/scenario/new/", "admin/#a-new-scenario"),
    (r"scenarios_app/scenario/import/", "reference/scenario-format/#importing-recordings"),
    (r"scenarios_app/scenario/.+", "admin/#a-scenarios-page"),
    (r"scenarios_app/scenario/", "admin/#the-list-of-scenarios"),
    (r"scenarios_app/servedrequest/session", "admin/#sessions"),
    (r"scenarios_app/servedrequest/", "admin/#the-journal"),
    (r"chat_app/modelprofile/", "providers/"),
    (r"(chat_app|traces_app)/", "admin/#conversations-traces-comparisons"),
    (r"auth/", "admin/#who-may-do-what"),
    (r"", "admin/"),
)


def help_url(path: str) -> str:
    """Return the URL of the docs page that explains the page at this path."""
    pages = (page for pattern, page in HELP_PAGES if re.match(f"/admin/{pattern}", path))
    return f"{ROOT}{next(pages, '')}"
