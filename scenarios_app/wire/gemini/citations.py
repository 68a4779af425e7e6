"""The sources that a candidate's texts name, placed in bytes."""

from collections.abc import Iterable

from scenarios_app.engine.canonical import Choice, Json
from scenarios_app.engine.parts import Citation, RefusalPart, TextPart


def citations_of(choices: Iterable[Choice]) -> dict[str, Json]:
    """The sources of all that a candidate says."""
    sources: list[Json] = []
    before = 0
    for choice in choices:
        for part in choice.parts:
            if isinstance(part, TextPart | RefusalPart):
                sources += sources_of(part, before=before)
                before += byte_length(part.text)
    return {"citationMetadata": {"citationSources": sources}} if sources else {}


def sources_of(part: TextPart | RefusalPart, *, before: int) -> list[Json]:
    """The sources of a text that has `before` bytes of text before it in its candidate.

    Each spans the words it cites, or all of the text where those are not found in it. Places are
    counted in bytes.
    """
    if isinstance(part, RefusalPart) or not (part.text and part.citations):
        return []
    return [_source(citation, part.text, before) for citation in part.citations]


def _source(citation: Citation, text: str, before: int) -> Json:
    cited = citation.cited_text
    start = text.find(cited) if cited else -1
    words = text if start < 0 else cited
    begin = before + byte_length(text[: max(start, 0)])
    source: dict[str, Json] = {
        "startIndex": begin,
        "endIndex": begin + byte_length(words),
        "uri": citation.url,
    }
    if citation.title is not None:
        source["title"] = citation.title
    return source


def byte_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
