"""The marks in a model's text: ␄, which ends it, and <think>…</think> around what it thought.

An opening tag counts wherever it stands, but not within Markdown code, where a model speaks about
tags. The first closing tag after it counts, in code or not: were one missed, the whole answer
would be taken for thinking. A closing tag that nothing opened is text: what came before it has
long been shown. Thinking that nothing closes goes on to the end.
"""

import re
from enum import Enum
from typing import Final, TypeAlias

from chat_app.values.text import END_OF_TEXT

OPEN: Final = "<think>"
CLOSE: Final = "</think>"

_MARK: Final = re.compile(f"{OPEN}|{END_OF_TEXT}")
# In thinking ␄ is dirt, within the tag too.
_CLOSE: Final = re.compile(f"{END_OF_TEXT}*".join(CLOSE))
_MARKDOWN: Final = re.compile(r"`+|~+|\n|[^`~\n]+")


class Kind(Enum):
    TEXT = "text"
    THINKING = "thinking"


Stretch: TypeAlias = tuple[Kind, str]


class MarkdownCode:
    """Whether a text that comes in pieces has got into Markdown code: into a fenced block, or
    behind an odd number of runs of backticks on its line."""

    def __init__(self) -> None:
        self._fence = ""
        self._span = False
        self._line_begins = True
        # Backticks or tildes that more of their kind may follow, and whether they begin their line.
        self._run = ""
        self._run_length = 0
        self._run_begins_line = False

    def feed(self, piece: str) -> None:
        for token in _MARKDOWN.findall(piece):
            if token[0] in "`~":
                self._extend(token)
                continue
            self._end_run()
            if token == "\n":
                self._span, self._line_begins = False, True
            elif not token.isspace():
                self._line_begins = False

    def inside(self) -> bool:
        """To be asked where something else than a backtick follows."""
        self._end_run()
        return self._span or self._fence != ""

    def _extend(self, token: str) -> None:
        if self._run != token[0]:
            self._end_run()
            self._run, self._run_begins_line = token[0], self._line_begins
            self._line_begins = False
        self._run_length += len(token)

    def _end_run(self) -> None:
        if self._run_length >= 3 and self._run_begins_line and self._fence in ("", self._run):
            self._fence = "" if self._fence else self._run
        elif self._run == "`" and not self._fence:
            self._span = not self._span
        self._run, self._run_length = "", 0


class Marks:
    """Splits one model call's text, whose control characters are gone, into text and thinking.

    `ended` is true once ␄ was seen: what follows is dropped.
    """

    def __init__(self) -> None:
        self.ended = False
        self._thinking = False
        self._code = MarkdownCode()
        # What may be the beginning of a tag.
        self._held = ""

    def feed(self, piece: str) -> list[Stretch]:
        text, at = self._held + piece, 0
        self._held = ""
        found: list[Stretch] = []
        while at < len(text) and not self.ended:
            at = self._think(text, at, found) if self._thinking else self._say(text, at, found)
        return found

    def flush(self) -> list[Stretch]:
        """What was held back, since no more of it comes."""
        found: list[Stretch] = []
        held, self._held = self._held, ""
        self._put(Kind.THINKING if self._thinking else Kind.TEXT, held, found)
        return found

    def _say(self, text: str, at: int, found: list[Stretch]) -> int:
        mark = _MARK.search(text, at)
        if mark is None:
            end = text.rfind("<", max(at, len(text) - len(OPEN)))
            if end != -1 and OPEN.startswith(text[end:]):
                self._held = text[end:]
            self._put(Kind.TEXT, text[at : len(text) - len(self._held)], found)
            return len(text)
        self._put(Kind.TEXT, text[at : mark.start()], found)
        if mark[0] == END_OF_TEXT:
            self.ended = True
        elif self._code.inside():
            self._put(Kind.TEXT, OPEN, found)
        else:
            self._thinking = True
        return mark.end()

    def _think(self, text: str, at: int, found: list[Stretch]) -> int:
        tag = _CLOSE.search(text, at)
        if tag is not None:
            self._thinking = False
            self._put(Kind.THINKING, text[at : tag.start()], found)
            return tag.end()
        end = text.rfind("<", at)
        if end != -1 and CLOSE.startswith(held := text[end:].replace(END_OF_TEXT, "")):
            self._held = held
        else:
            end = len(text)
        self._put(Kind.THINKING, text[at:end], found)
        return len(text)

    def _put(self, kind: Kind, text: str, found: list[Stretch]) -> None:
        if kind is Kind.TEXT:
            self._code.feed(text)
        else:
            text = text.replace(END_OF_TEXT, "")
        if text:
            found.append((kind, text))
