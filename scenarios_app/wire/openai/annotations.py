"""Decodes recorded annotations of a text, of OpenAI's chat and Responses, to citations."""

from typing import Any, Final

from scenarios_app.engine.canonical import Json
from scenarios_app.wire.decoded import dict_items

_PAGE_KEYS: Final = {"start_index": "start", "end_index": "end", "title": "title", "url": "url"}


def decode_annotations(content: dict[str, Any], text: Any) -> tuple[list[Json], bool]:
    """Return the citations of a text for a document, and whether they hold all annotations."""
    annotations = content.get("annotations")
    length = len(text) if isinstance(text, str) else 0
    citations = [_citation(annotation, length) for annotation in dict_items(annotations)]
    exact: list[Json] = [citation for citation in citations if citation]
    return exact, len(exact) == len(annotations or ())


def _citation(annotation: dict[str, Any], length: int) -> dict[str, Json]:
    """Return a cited page or file; empty for anything else, and for a range outside the text."""
    kind = annotation.get("type")
    if kind == "file_citation" and annotation.get("filename") and annotation.get("file_id"):
        end = annotation.get("index")
        if not isinstance(end, int) or not 0 < end <= length:
            return {}
        named: dict[str, Json] = {"document": str(annotation["filename"])}
        return {**named, "file_id": str(annotation["file_id"]), "start": 0, "end": end}
    # Chat has the fields in an object of their own.
    fields = annotation.get("url_citation") or annotation
    if kind != "url_citation" or not fields.get("url") or set(fields) - {"type", *_PAGE_KEYS}:
        return {}
    citation = {into: fields[name] for name, into in _PAGE_KEYS.items() if fields.get(name)}
    start, end = fields.get("start_index"), fields.get("end_index")
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= length):
        return {}
    return {**citation, "start": start, "end": end}
