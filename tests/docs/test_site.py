"""The documentation site as it is built: complete, whole, and with nothing from elsewhere."""

import re
import shutil
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs import site
from tests.docs.blocks import ROOT, pages

# What a browser fetches by itself; links to follow may lead anywhere.
FETCHED = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}


class Links(HTMLParser):
    """What a page fetches, where its links lead, and what can be linked on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.followed: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if place := given.get(FETCHED.get(tag, "")):
            self.fetched.append(place)
        if tag == "a" and (place := given.get("href")):
            self.followed.append(place)
        self.names |= {name for name in (given.get("id"), given.get("name")) if name}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "docs"
    site.build(folder)
    return folder


@pytest.fixture(scope="module")
def read(built: Path) -> Mapping[Path, Links]:
    return {path: Links(path.read_text(encoding="utf-8")) for path in built.rglob("*.html")}


def copy(folder: Path) -> Path:
    """The pages of the project, to be spoilt."""
    shutil.copytree(ROOT / "docs", folder / "docs")
    for name in site.PAGES:
        shutil.copy(ROOT / name, folder / name)
    return folder


def test_every_page_is_in_it(built: Path) -> None:
    there = {site.PAGES.get(page, page.removeprefix("docs/")) for page in pages()}
    wanted = {name.replace("README.md", "index.md").replace(".md", ".html") for name in there}
    assert {name for name in wanted if not (built / name).is_file()} == set()


def test_nothing_of_it_is_fetched_from_elsewhere(built: Path, read: Mapping[Path, Links]) -> None:
    outside = {one for page in read.values() for one in page.fetched if urlsplit(one).netloc}
    assert outside == set()
    styles = "".join(path.read_text(encoding="utf-8") for path in built.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?:https?:)?//[^)]+\)|@import[^;]+", styles) == []


def test_every_link_of_it_leads_to_something_in_it(read: Mapping[Path, Links]) -> None:
    assert sorted(astray(read)) == []


def astray(read: Mapping[Path, Links]) -> Iterator[str]:
    for path, page in read.items():
        if path.name == "404.html":
            # Its links begin at the root of a server.
            continue
        for link in page.fetched + page.followed:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            names = read[target].names if target in read else set()
            if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in names):
                yield f"{path.name}: {link}"


@pytest.mark.parametrize(
    ("page", "text", "said"),
    [
        ("docs/index.md", "[a page](nowhere.md)", "nowhere.md"),
        ("docs/index.md", "[a heading](admin.md#no-such-heading)", "no-such-heading"),
        ("README.md", "[a heading](docs/admin.md#no-such-heading)", "no-such-heading"),
        ("docs/forgotten.md", "# Forgotten", "forgotten.md"),
    ],
)
def test_what_is_broken_stops_it(tmp_path: Path, page: str, text: str, said: str) -> None:
    with (copy(tmp_path) / page).open("a", encoding="utf-8") as file:
        file.write(f"\n\n{text}\n")
    before = tmp_path / "built"
    with pytest.raises(site.SiteFailed, match=said):
        site.build(before, source=tmp_path)
    assert not before.exists()


def test_links_lead_to_where_pages_stand_in_it() -> None:
    text = "[a](../README.md#settings) [b](admin.md) [c](https://x.test/README.md) [d](#here)"
    assert site.moved(text, source="docs/operating.md", page="operating.md") == (
        "[a](overview.md#settings) [b](admin.md) [c](https://x.test/README.md) [d](#here)"
    )
    text = "[a](docs/admin.md) [b](CONTRIBUTING.md) ![c](docs/screenshots/try-light.png)"
    assert site.moved(text, source="README.md", page="overview.md") == (
        "[a](admin.md) [b](contributing.md) ![c](screenshots/try-light.png)"
    )
    assert site.moved("[a](../../README.md)", source="docs/a/b.md", page="a/b.md") == (
        "[a](../overview.md)"
    )
