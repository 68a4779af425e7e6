"""`llms.txt` and `llms-full.txt` of the documentation site: its pages for language models."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.docs.blocks import ROOT
from tests.docs.site import CONFIGURATION, PAGES

_SOURCES = {site_page: source for source, site_page in PAGES.items()}
# Changelog and decisions do not help to use the product.
EXCLUDED_PAGES = {"changelog.md", "requirements.md", "decisions/README.md", "contributing.md"}


def write(folder: Path) -> None:
    """Write both files into the folder of the built site."""
    (folder / "llms.txt").write_text(index_text(), encoding="utf-8")
    (folder / "llms-full.txt").write_text(full_text(), encoding="utf-8")


def index_text() -> str:
    """Return the list of pages by section, each with its first sentence."""
    lines = ["# mockllm", "", f"> {_first_sentence('index.md')}"]
    for section, names in sections():
        lines += ["", f"## {section}", ""]
        for name in names:
            summary = _first_sentence(name)
            link = f"- [{_title(name)}]({name.removesuffix('.md')}.html)"
            lines.append(f"{link}: {summary}" if summary else link)
    return "\n".join(lines) + "\n"


def full_text() -> str:
    """Return all pages, one after the other."""
    return "\n\n".join(read_page(name).strip() for _, names in sections() for name in names) + "\n"


def sections() -> Iterator[tuple[str, list[str]]]:
    """Yield the sections of the navigation with their pages."""
    loader = type("Loader", (yaml.SafeLoader,), {})
    loader.add_multi_constructor("", lambda *_: None)
    navigation = yaml.load(CONFIGURATION.read_text(encoding="utf-8"), loader)["nav"]
    for entry in navigation:
        for section, pages in entry.items():
            yield section, [name for name in map(_name, pages) if name not in EXCLUDED_PAGES]


def _name(page: Any) -> str:
    return str(page if isinstance(page, str) else next(iter(page.values())))


def read_page(name: str) -> str:
    """Return the text of a page of the site."""
    source = ROOT / _SOURCES[name] if name in _SOURCES else ROOT / "docs" / name
    return source.read_text(encoding="utf-8")


def _title(name: str) -> str:
    return read_page(name).partition("\n")[0].removeprefix("# ")


def _first_sentence(name: str) -> str:
    paragraphs = re.split(r"\n\n+", read_page(name))[1:]
    first = next((text for text in paragraphs if re.match(r"[\w`*/]", text)), "")
    return re.split(r"(?<=[.:!?])\s", " ".join(first.split()))[0].rstrip(":")
