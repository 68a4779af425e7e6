"""The sources of a text part in a scenario document."""

from collections.abc import Iterator
from typing import Annotated, TypeAlias

from pydantic import Field

from scenarios_app.engine.parts import Citation, SourceUnit
from scenarios_app.engine.shapes import Document, KeyProblem, expected, fields

Range: TypeAlias = Annotated[
    list[fields.Whole], Field(min_length=2, max_length=2), expected("two whole numbers")
]
_UNITS: tuple[SourceUnit, ...] = ("chars", "pages", "blocks")
_DOCUMENT_KEYS = ("document_index", "file_id", *_UNITS)


class CitationDocument(Document):
    """A source of a text: a web page or a document."""

    url: fields.SomeText | None = None
    """The address of a web page."""
    document: fields.SomeText | None = None
    """Instead of a page: the name of a document or file."""
    title: fields.Text | None = None
    """The title. That of a document is its name by default."""
    quote: fields.Text = ""
    """The quoted text of the source, word for word."""
    start: fields.Whole | None = None
    """The first character of the text that the source supports. By default the quote's place in the
    text, or the whole text."""
    end: fields.Whole | None = None
    """The character after the last one."""
    document_index: fields.Whole = 0
    """The document's number in the request, from 0."""
    file_id: fields.SomeText | None = None
    """The id of the file. By default generated."""
    chars: Range | None = None
    """The quote's place in the document: first character, and the one after the last. By default
    from 0."""
    pages: Range | None = None
    """The same in pages, the first of which is 1."""
    blocks: Range | None = None
    """The same in content blocks, the first of which is 0."""

    def find_key_problems(self) -> Iterator[KeyProblem]:
        if (self.url is None) == (self.document is None):
            yield (), "expected exactly one of url, document"
        if (self.start is None) != (self.end is None):
            yield ("start" if self.start is None else "end",), "missing: a range has both ends"
        elif self.start is not None and self.end is not None and self.end <= self.start:
            yield ("end",), f"expected more than {self.start}, the start"
        if self.document is None:
            keys = (key for key in _DOCUMENT_KEYS if getattr(self, key))
            yield from (((key,), "belongs to document") for key in keys)
        units = [unit for unit in _UNITS if getattr(self, unit) is not None]
        yield from (((unit,), f"cannot be combined with {units[0]}") for unit in units[1:])
        for unit in units:
            first, last = getattr(self, unit)
            if last <= first:
                yield (unit,), "expected the end after the start"
            elif unit == "pages" and first == 0:
                yield (unit,), "expected pages from 1"

    def compile(self) -> Citation:
        units = (unit for unit in _UNITS if getattr(self, unit) is not None)
        unit: SourceUnit = next(units, "chars")
        place: list[int] = getattr(self, unit) or [0, len(self.quote)]
        span = None if self.start is None or self.end is None else (self.start, self.end)
        return Citation(
            url=self.url or "",
            title=self.title,
            cited_text=self.quote,
            document=self.document or "",
            document_index=self.document_index,
            file_id=self.file_id or "",
            span=span,
            unit=unit,
            place=(place[0], place[1]),
        )


def check_citations(citations: list[CitationDocument], text: str) -> Iterator[KeyProblem]:
    """Yield a problem for each range that ends after the text; none for a text with templates."""
    for number, citation in enumerate(citations):
        if citation.end is not None and citation.end > len(text) and "{{" not in text:
            problem = f"expected at most {len(text)}, the length of the text"
            yield ("citations", number, "end"), problem
