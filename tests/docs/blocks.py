"""The fenced code blocks of a page: language, text and place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCED = re.compile(r"^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_NAME = re.compile(r"`([\w./-]+\.\w+)`:$")


@dataclass(frozen=True, slots=True)
class Block:
    """A code block. `line` is the line of its fence, from 1; `line_above` is the line before it."""

    page: str
    line: int
    language: str
    text: str
    line_above: str = ""

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def file(self) -> str | None:
        """Return the file name from the line before it, which ends in "… as `NAME`:"."""
        match = _FILE_NAME.search(self.line_above)
        return match[1] if match else None


def pages() -> list[str]:
    """Return the paths of all pages for users and contributors, from the project's root."""
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
    return [str(path.relative_to(ROOT)) for path in paths]


def blocks_of(page: str) -> list[Block]:
    return list(read_blocks((ROOT / page).read_text(encoding="utf-8"), page=page))


def read_blocks(text: str, *, page: str) -> Iterator[Block]:
    """Yield the blocks of a page's text, in order."""
    for match in _FENCED.finditer(text):
        before = text[: match.start()].rstrip()
        yield Block(
            page=page,
            line=text.count("\n", 0, match.start()) + 1,
            language=match["language"].strip(),
            text=match["text"],
            line_above=before.rsplit("\n", 1)[-1],
        )
