"""What may not be in a text that is shown and stored, and white space at a text's edges."""

import re
from typing import Final

END_OF_TEXT: Final = "␄"
BLANK_LINE: Final = "\n\n"
# C0 without tab and newline, DEL, C1.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_NOT_IN_JSON: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")


def without_controls(text: str) -> str:
    return _CONTROLS.sub("", text)


def whole_characters(text: str) -> str:
    """The text with surrogate pairs made one character and lone surrogates, which neither UTF-8
    nor a database can hold, left out."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


def clean(text: str) -> str:
    """A whole text, fit to be shown and stored: no control characters, no ␄."""
    return without_controls(whole_characters(text)).replace(END_OF_TEXT, "")


def clean_json(text: str) -> str:
    """JSON text without the characters that no JSON text can hold; all others are data."""
    return _NOT_IN_JSON.sub("", whole_characters(text))


class Characters:
    """Whole characters out of pieces: servers that count in UTF-16 cut pairs of surrogates."""

    def __init__(self) -> None:
        self._high = ""

    def feed(self, piece: str) -> str:
        text = self._high + piece
        self._high = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._high, text = text[-1], text[:-1]
        return whole_characters(text)

    def drop(self) -> None:
        """The other half did not come."""
        self._high = ""


class Edges:
    """Drops white space before a text and holds white space back until more text follows."""

    def __init__(self) -> None:
        self._begun = False
        self._in_paragraph = False
        self._held: list[str] = []

    def feed(self, piece: str) -> str:
        text = piece if self._in_paragraph else piece.lstrip()
        solid = text.rstrip()
        if not solid:
            if text:
                self._held.append(text)
            return ""
        out = "".join((*self._held, solid))
        self._held = [text[len(solid) :]] if len(solid) < len(text) else []
        self._begun = self._in_paragraph = True
        return out

    def end_paragraph(self) -> None:
        """Have what follows begin after a blank line, in place of the white space there is."""
        self._in_paragraph = False
        self._held = [BLANK_LINE] if self._begun else []
