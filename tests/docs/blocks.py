"""The fenced code blocks of a page: language, text and place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCED = re.compile(r"^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"`([\w./-]+\.\w+)`:$")


@dataclass(frozen=True, slots=True)
class Block:
    """A code block. `line` is the line of its fence, from 1; `above` is the line before it."""

    page: str
    line: int
    language: str
    text: str
    above: str = ""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def file(self) -> str | None:
        """Return the file name from the line before it, which ends in "… as `NAME`:"."""
        named = _NAMED.search(self.above)
        return named[1] if named else None


def pages() -> list[str]:
    """Return the paths of all pages for users and contributors, from the project's root."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return [str(path.relative_to(ROOT)) for path in found]


def blocks_of(page: str) -> list[Block]:
    return list(read_blocks((ROOT / page).read_text(encoding="utf-8"), page=page))


def read_blocks(text: str, *, page: str) -> Iterator[Block]:
    """Yield the blocks of a page's text, in order."""
    for found in _FENCED.finditer(text):
        before = text[: found.start()].rstrip()
        yield Block(
            page=page,
            line=text.count("\n", 0, found.start()) + 1,
            language=found["language"].strip(),
            text=found["text"],
            above=before.rsplit("\n", 1)[-1],
        )
