"""Parses the marks in a model's text: ␄, which ends it, and <think>…</think> around thinking.

An opening tag counts anywhere but within Markdown code, where a model writes about tags. The first
closing tag after it counts, in code or not: if one were missed, the whole answer would be thinking.
A closing tag without an opening one is text, because the text before it was sent already. Thinking
without a closing tag goes on to the end.
"""

import re
from enum import Enum
from typing import Final, TypeAlias

from chat_app.values.text import END_OF_TEXT

OPEN: Final = "<think>"
CLOSE: Final = "</think>"

_MARK: Final = re.compile(f"{OPEN}|{END_OF_TEXT}")
# In thinking, ␄ is ignored, within the tag too.
_CLOSE: Final = re.compile(f"{END_OF_TEXT}*".join(CLOSE))
_MARKDOWN: Final = re.compile(r"`+|~+|\n|[^`~\n]+")


class StretchKind(Enum):
    """The kind of a stretch of streamed text."""

    TEXT = "text"
    THINKING = "thinking"


Stretch: TypeAlias = tuple[StretchKind, str]


class MarkdownCode:
    """Tracks if streamed text is within Markdown code: a fenced block, or after an odd number of
    marker runs (of backticks) on its line."""

    def __init__(self) -> None:
        self._fence = ""
        self._span = False
        self._line_begins = True
        # An open run of backticks or tildes, and if it starts its line.
        self._run = ""
        self._run_length = 0
        self._run_begins_line = False

    def feed(self, piece: str) -> None:
        """Read the next piece of text."""
        for token in _MARKDOWN.findall(piece):
            if token[0] in "`~":
                self._extend_marker_run(token)
                continue
            self._end_marker_run()
            if token == "\n":
                self._span, self._line_begins = False, True
            elif not token.isspace():
                self._line_begins = False

    def is_inside(self) -> bool:
        """True if the text so far ends within code; closes an open marker run."""
        self._end_marker_run()
        return self._span or self._fence != ""

    def _extend_marker_run(self, token: str) -> None:
        if self._run != token[0]:
            self._end_marker_run()
            self._run, self._run_begins_line = token[0], self._line_begins
            self._line_begins = False
        self._run_length += len(token)

    def _end_marker_run(self) -> None:
        if self._run_length >= 3 and self._run_begins_line and self._fence in ("", self._run):
            self._fence = "" if self._fence else self._run
        elif self._run == "`" and not self._fence:
            self._span = not self._span
        self._run, self._run_length = "", 0


class MarkParser:
    """Splits one model call's text, already without control characters, into text and thinking.
    `ended` is true after ␄; all later text is dropped."""

    def __init__(self) -> None:
        self.ended = False
        self._thinking = False
        self._code = MarkdownCode()
        # A possible start of a tag.
        self._held = ""

    def feed(self, piece: str) -> list[Stretch]:
        text, at = self._held + piece, 0
        self._held = ""
        stretches: list[Stretch] = []
        while at < len(text) and not self.ended:
            read = self._read_thinking if self._thinking else self._read_text
            at = read(text, at, stretches)
        return stretches

    def flush(self) -> list[Stretch]:
        """Return the held-back start of a possible tag, because no more text comes."""
        kind = StretchKind.THINKING if self._thinking else StretchKind.TEXT
        stretches: list[Stretch] = []
        self._append_stretch(kind, self._held, stretches)
        self._held = ""
        return stretches

    def _read_text(self, text: str, at: int, stretches: list[Stretch]) -> int:
        """Add the text from `at` up to the next mark to the stretches; return where to go on."""
        mark = _MARK.search(text, at)
        if mark is None:
            end = text.rfind("<", max(at, len(text) - len(OPEN)))
            if end != -1 and OPEN.startswith(text[end:]):
                self._held = text[end:]
            self._append_stretch(
                StretchKind.TEXT, text[at : len(text) - len(self._held)], stretches
            )
            return len(text)
        self._append_stretch(StretchKind.TEXT, text[at : mark.start()], stretches)
        if mark[0] == END_OF_TEXT:
            self.ended = True
        elif self._code.is_inside():
            self._append_stretch(StretchKind.TEXT, OPEN, stretches)
        else:
            self._thinking = True
        return mark.end()

    def _read_thinking(self, text: str, at: int, stretches: list[Stretch]) -> int:
        """Add the thinking from `at` up to its closing tag to the stretches; return where to go
        on."""
        tag = _CLOSE.search(text, at)
        if tag is not None:
            self._thinking = False
            self._append_stretch(StretchKind.THINKING, text[at : tag.start()], stretches)
            return tag.end()
        end = text.rfind("<", at)
        if end != -1 and CLOSE.startswith(held := text[end:].replace(END_OF_TEXT, "")):
            self._held = held
        else:
            end = len(text)
        self._append_stretch(StretchKind.THINKING, text[at:end], stretches)
        return len(text)

    def _append_stretch(self, kind: StretchKind, text: str, stretches: list[Stretch]) -> None:
        """Append a stretch, unless it is empty; a text updates the state of Markdown code."""
        if kind is StretchKind.TEXT:
            self._code.feed(text)
        else:
            text = text.replace(END_OF_TEXT, "")
        if text:
            stretches.append((kind, text))
