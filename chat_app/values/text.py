"""Cleans texts for display and storage: control characters, surrogates, outer white space."""

import re
from typing import Final

END_OF_TEXT: Final = "␄"
BLANK_LINE: Final = "\n\n"
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
# NUL and surrogates, which databases refuse in texts.
UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
_NOT_IN_JSON: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def remove_controls(text: str) -> str:
    """Return the text without C0 controls (but tab and newline stay), DEL and C1 controls."""
    return _CONTROLS.sub("", text)


def join_surrogates(text: str) -> str:
    """Return the text with surrogate pairs joined and lone surrogates removed, which UTF-8 cannot
    encode."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


def clean(text: str) -> str:
    """Return a complete text without control characters, lone surrogates and ␄."""
    return remove_controls(join_surrogates(text)).replace(END_OF_TEXT, "")


def clean_json(text: str) -> str:
    """Return JSON text, or a piece of it, without control characters that JSON forbids and without
    lone surrogates."""
    return _NOT_IN_JSON.sub("", join_surrogates(text))


class SurrogateJoiner:
    """Joins surrogate pairs that are split over two pieces, as servers that count UTF-16 do."""

    def __init__(self) -> None:
        self._high = ""

    def feed(self, piece: str) -> str:
        """Return the piece with pairs joined; a first half at its end waits for the next piece."""
        text = self._high + piece
        self._high = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._high, text = text[-1], text[:-1]
        return join_surrogates(text)

    def drop(self) -> None:
        """Drop the first half of a surrogate pair, if one is held back."""
        self._high = ""


class WhitespaceTrimmer:
    """Trims streamed text: drops leading white space, holds other back until text follows."""

    def __init__(self) -> None:
        self._begun = False
        self._in_paragraph = False
        self._held: list[str] = []

    def feed(self, piece: str) -> str:
        """Return the text to be shown now; white space at its end is held back."""
        text = piece if self._in_paragraph else piece.lstrip()
        solid = text.rstrip()
        if not solid:
            self._held.append(text)
            return ""
        visible, self._held = "".join((*self._held, solid)), [text[len(solid) :]]
        self._begun = self._in_paragraph = True
        return visible

    def end_paragraph(self) -> None:
        """Put a blank line before the next text, in place of white space held back."""
        self._in_paragraph = False
        self._held = [BLANK_LINE] if self._begun else []
