"""The built documentation site is complete, has no broken links and fetches nothing."""

import re
import shutil
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs import site
from tests.docs.blocks import ROOT, pages

# Attributes that a browser fetches automatically; followed links may go anywhere.
FETCHED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}


class Links(HTMLParser):
    """Collects what a page fetches, its links, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched_urls: list[str] = []
        self.link_urls: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if url := attributes.get(FETCHED.get(tag, "")):
            self.fetched_urls.append(url)
        if tag == "a" and (url := attributes.get("href")):
            self.link_urls.append(url)
        self.names |= {name for name in (attributes.get("id"), attributes.get("name")) if name}


@pytest.fixture(scope="module")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "docs"
    site.build(folder)
    return folder


@pytest.fixture(scope="module")
def links_by_page(site_folder: Path) -> Mapping[Path, Links]:
    return {path: Links(path.read_text(encoding="utf-8")) for path in site_folder.rglob("*.html")}


def copy(folder: Path) -> Path:
    """Copy the pages of the project, to break them."""
    shutil.copytree(ROOT / "docs", folder / "docs")
    for name in site.PAGES:
        shutil.copy(ROOT / name, folder / name)
    return folder


def test_site_contains_every_page(site_folder: Path) -> None:
    site_pages = {site.PAGES.get(page, page.removeprefix("docs/")) for page in pages()}
    expected_files = {
        name.replace("README.md", "index.md").replace(".md", ".html") for name in site_pages
    }
    assert {name for name in expected_files if not (site_folder / name).is_file()} == set()


def test_site_fetches_nothing_from_other_hosts(
    site_folder: Path, links_by_page: Mapping[Path, Links]
) -> None:
    foreign_urls = {
        url for page in links_by_page.values() for url in page.fetched_urls if urlsplit(url).netloc
    }
    assert foreign_urls == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in site_folder.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]+\)|@import[^;]+", styles) == []


def test_every_link_of_the_site_resolves(links_by_page: Mapping[Path, Links]) -> None:
    assert sorted(find_broken_links(links_by_page)) == []


def find_broken_links(links_by_page: Mapping[Path, Links]) -> Iterator[str]:
    for path, page in links_by_page.items():
        if path.name == "404.html":
            # Its links start at a server's root.
            continue
        for link in page.fetched_urls + page.link_urls:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            names = links_by_page[target].names if target in links_by_page else set()
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in names):
                yield f"{path.name}: {link}"


@pytest.mark.parametrize(
    ("page", "text", "error"),
    [
        ("docs/index.md", "[a page](nowhere.md)", "nowhere.md"),
        ("docs/index.md", "[a heading](admin.md#no-such-heading)", "no-such-heading"),
        ("README.md", "[a heading](docs/admin.md#no-such-heading)", "no-such-heading"),
        ("docs/forgotten.md", "# Forgotten", "forgotten.md"),
    ],
)
def test_broken_page_stops_the_build(tmp_path: Path, page: str, text: str, error: str) -> None:
    with (copy(tmp_path) / page).open("a", encoding="utf-8") as file:
        file.write(f"\n\n{text}\n")
    before = tmp_path / "built"
    with pytest.raises(site.SiteBuildError, match=error):
        site.build(before, source=tmp_path)
    assert not before.exists()


def test_links_are_rewritten_to_pages_of_the_site() -> None:
    text = "[a](../README.md#settings) [b](admin.md) [c](https://x.test/README.md) [d](#here)"
    assert site.rewrite_links(text, source="docs/operating.md", page="operating.md") == (
        "[a](overview.md#settings) [b](admin.md) [c](https://x.test/README.md) [d](#here)"
    )
    text = "[a](docs/admin.md) [b](CONTRIBUTING.md) ![c](docs/screenshots/try-light.png)"
    assert site.rewrite_links(text, source="README.md", page="overview.md") == (
        "[a](admin.md) [b](contributing.md) ![c](screenshots/try-light.png)"
    )
    assert site.rewrite_links("[a](../../README.md)", source="docs/a/b.md", page="a/b.md") == (
        "[a](../overview.md)"
    )
