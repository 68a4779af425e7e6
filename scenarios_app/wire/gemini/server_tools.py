"""Google's server tools as response parts, and citations with byte offsets."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.parts import (
    AnswerPart,
    Citation,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
)

# Scripts may use Anthropic's tool names.
_TOOL_TYPES: Mapping[str, str] = {
    "web_search": "GOOGLE_SEARCH_WEB",
    "google_search": "GOOGLE_SEARCH_WEB",
    "web_fetch": "URL_CONTEXT",
    "url_context": "URL_CONTEXT",
    "google_maps": "GOOGLE_MAPS",
    "file_search": "FILE_SEARCH",
}
_WEB_SEARCHES = ("web_search", "google_search")
_CODE_EXECUTION, _IMAGE_GENERATION = "code_execution", "image_generation"
HOSTED_TOOLS = frozenset(
    {"web_search", "web_fetch", "file_search", "google_maps", "code_execution", "image_generation"}
)
_OUTPUT_KEYS = ("output", "stdout", "content")


def use_part(part: ServerToolUsePart) -> dict[str, Any] | None:
    """Return the use of a tool as a part; None for an MCP server's, or if Google lacks the tool."""
    if part.server:
        return None
    arguments: Json = json.loads(part.input)
    if part.name == _CODE_EXECUTION:
        code = arguments.get("code") if isinstance(arguments, dict) else None
        source = code if isinstance(code, str) else part.input
        return {"executableCode": {"id": part.id, "language": "PYTHON", "code": source}}
    if part.name not in _TOOL_TYPES:
        return None
    return {"toolCall": {"id": part.id, "toolType": _TOOL_TYPES[part.name], "args": arguments}}


def result_part(part: ServerToolResultPart) -> dict[str, Any] | None:
    """Return a tool's result as a part; None for an MCP server's, or if Google lacks the tool."""
    if part.server:
        return None
    result: Json = json.loads(part.content)
    if part.name == _IMAGE_GENERATION and isinstance(result, str):
        return {"inlineData": {"mimeType": "image/png", "data": result}}
    if part.name == _CODE_EXECUTION:
        outcome = "OUTCOME_OK" if part.error_code is None else "OUTCOME_FAILED"
        output = part.error_code or _output_text(result)
        executed = {"id": part.tool_use_id, "outcome": outcome, "output": output}
        return {"codeExecutionResult": executed}
    if part.name not in _TOOL_TYPES:
        return None
    response: Json = result if isinstance(result, dict) else {"result": result}
    if part.error_code is not None:
        response = {"error": part.error_code}
    returned = {"id": part.tool_use_id, "toolType": _TOOL_TYPES[part.name], "response": response}
    return {"toolResponse": returned}


def _output_text(result: Json) -> str:
    """Return the output of code as text: a known key of the result, else the whole result."""
    output = result
    if isinstance(result, dict):
        output = next((result[key] for key in _OUTPUT_KEYS if key in result), result)
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def citation_metadata(parts: Iterable[AnswerPart]) -> dict[str, Json]:
    """Return the field with the citations of web pages in a candidate; empty if it has none."""
    sources: list[Json] = []
    for part, before in _with_offsets(parts):
        if isinstance(part, TextPart):
            sources += citation_sources(part, before=before)
    return {"citationMetadata": {"citationSources": sources}} if sources else {}


def _with_offsets(parts: Iterable[AnswerPart]) -> Iterator[tuple[AnswerPart, int]]:
    """Yield each part of a candidate with the number of bytes of text before it."""
    before = 0
    for part in parts:
        yield part, before
        if isinstance(part, TextPart | RefusalPart):
            before += byte_length(part.text)


def citation_sources(part: TextPart | RefusalPart, *, before: int) -> list[Json]:
    """Return the web pages cited in a text that starts `before` bytes into its candidate. Each
    spans the cited words, or the whole text if they are not found in it. Offsets are in bytes."""
    citations = part.citations if isinstance(part, TextPart) and part.text else ()
    return [_citation_source(each, part.text, before) for each in citations if not each.document]


def grounding_metadata(parts: Iterable[AnswerPart]) -> dict[str, Json]:
    """Return the field with a candidate's sources, the texts that they support and its web
    searches; empty if it has neither."""
    chunks: list[Json] = []
    supports: list[Json] = []
    queries: list[Json] = []
    for part, before in _with_offsets(parts):
        match part:
            case TextPart():
                for citation in part.citations if part.text else ():
                    if (chunk := _grounding_chunk(citation)) not in chunks:
                        chunks.append(chunk)
                    start, end = citation.span_in(part.text)
                    segment = _segment(citation, part.text, before)
                    support = {**segment, "text": part.text[start:end]}
                    found_at: Json = [chunks.index(chunk)]
                    supports.append({"segment": support, "groundingChunkIndices": found_at})
            case ServerToolUsePart(server="") if part.name in _WEB_SEARCHES:
                queries += _list_queries(json.loads(part.input))
    fields = {"webSearchQueries": queries, "groundingChunks": chunks, "groundingSupports": supports}
    grounding: Json = {name: values for name, values in fields.items() if values}
    return {"groundingMetadata": grounding} if grounding else {}


def _grounding_chunk(citation: Citation) -> Json:
    """Return a citation as a source of grounding: a web page, or a document with the cited text."""
    if not citation.document:
        title = {} if citation.title is None else {"title": citation.title}
        return {"web": {"uri": citation.url, **title}}
    text = {"text": citation.cited_text} if citation.cited_text else {}
    return {"retrievedContext": {"title": citation.title or citation.document, **text}}


def _list_queries(fields: Json) -> list[Json]:
    """Return the queries in the input of a web search."""
    if not isinstance(fields, dict):
        return []
    query, queries = fields.get("query"), fields.get("queries")
    return queries if isinstance(queries, list) else [query] if isinstance(query, str) else []


def _segment(citation: Citation, text: str, before: int) -> dict[str, Json]:
    """Return the range of bytes in its candidate that a citation supports."""
    start, end = citation.span_in(text)
    return {
        "startIndex": before + byte_length(text[:start]),
        "endIndex": before + byte_length(text[:end]),
    }


def _citation_source(citation: Citation, text: str, before: int) -> Json:
    """Return a cited web page with the range of bytes that it supports."""
    title = {} if citation.title is None else {"title": citation.title}
    return {**_segment(citation, text, before), "uri": citation.url, **title}


def byte_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
