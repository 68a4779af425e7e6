"""Citations of web pages and documents in each wire's format, rendered and decoded."""

from typing import Any

import pytest

from scenarios_app.engine.parts import Citation, ServerToolUsePart, TextPart
from tests.wire.exchanges import decode_body, encode_events, read_request, render_body

TEXT = "Größe: Paris is the capital."
PAGE = Citation("https://a.example", "A", "capital", span=(7, 12))
GUIDE = Citation(document="guide.pdf", cited_text="capital", document_index=1, place=(4, 11))
CITED = TextPart(TEXT, (PAGE, GUIDE))


def render_citation(citation: Citation) -> dict[str, Any]:
    block: dict[str, Any] = render_body("anthropic", TextPart("x", (citation,)))["content"][0]
    (rendered_citation,) = block["citations"]
    return dict(rendered_citation)


def test_chat_has_annotations_of_pages_only() -> None:
    message = render_body("chat", CITED)["choices"][0]["message"]
    fields = {"start_index": 7, "end_index": 12, "title": "A", "url": "https://a.example"}
    assert message["annotations"] == [{"type": "url_citation", "url_citation": fields}]
    assert "annotations" not in str(encode_events("chat", TextPart(TEXT, (GUIDE,))))


def test_responses_have_annotations_of_pages_and_files() -> None:
    (content,) = render_body("responses", CITED)["output"][0]["content"]
    page, file = content["annotations"]
    assert page == {
        "type": "url_citation",
        "start_index": 7,
        "end_index": 12,
        "title": "A",
        "url": "https://a.example",
    }
    file_id = file.pop("file_id")
    assert file_id.startswith("file-")
    assert file == {"type": "file_citation", "filename": "guide.pdf", "index": 27}
    events = encode_events("responses", CITED)
    annotation_events = [e for e in events if e["type"] == "response.output_text.annotation.added"]
    assert [e["annotation"] for e in annotation_events] == [page, {**file, "file_id": file_id}]
    assert [e["annotation_index"] for e in annotation_events] == [0, 1]


@pytest.mark.parametrize(
    ("citation", "location"),
    [
        (GUIDE, {"type": "char_location", "start_char_index": 4, "end_char_index": 11}),
        (
            Citation(document="guide.pdf", title="G", unit="pages", place=(1, 3)),
            {"type": "page_location", "start_page_number": 1, "end_page_number": 3},
        ),
        (
            Citation(document="guide.pdf", file_id="file_1", unit="blocks", place=(0, 1)),
            {"type": "content_block_location", "start_block_index": 0, "end_block_index": 1},
        ),
    ],
)
def test_anthropic_citation_has_its_location_in_the_document(
    citation: Citation, location: Any
) -> None:
    assert render_citation(citation) == {
        **location,
        "cited_text": citation.cited_text,
        "document_index": citation.document_index,
        "document_title": citation.title or "guide.pdf",
        "file_id": citation.file_id or None,
    }


def test_gemini_grounds_a_candidate_in_pages_and_documents() -> None:
    second_text = TextPart(
        " Yes.",
        (Citation("https://a.example", "A"), Citation("https://b.example"), Citation(document="d")),
    )
    search = ServerToolUsePart("s", "web_search", '{"query":"capital"}')
    search_without_query = ServerToolUsePart("s", "web_search", "{}")
    candidate = render_body("gemini", search, CITED, search_without_query, second_text)[
        "candidates"
    ][0]
    paris = {"startIndex": 9, "endIndex": 14, "text": "Paris"}
    capital = {"startIndex": 22, "endIndex": 29, "text": "capital"}
    yes = {"startIndex": 30, "endIndex": 35, "text": " Yes."}
    assert candidate["groundingMetadata"] == {
        "webSearchQueries": ["capital"],
        "groundingChunks": [
            {"web": {"uri": "https://a.example", "title": "A"}},
            {"retrievedContext": {"title": "guide.pdf", "text": "capital"}},
            {"web": {"uri": "https://b.example"}},
            {"retrievedContext": {"title": "d"}},
        ],
        "groundingSupports": [
            {"segment": paris, "groundingChunkIndices": [0]},
            {"segment": capital, "groundingChunkIndices": [1]},
            {"segment": yes, "groundingChunkIndices": [0]},
            {"segment": yes, "groundingChunkIndices": [2]},
            {"segment": yes, "groundingChunkIndices": [3]},
        ],
    }


def test_ollama_sends_only_the_text() -> None:
    assert render_body("ollama", CITED)["message"] == {"role": "assistant", "content": TEXT}


@pytest.mark.parametrize("wire", ["chat", "responses", "anthropic"])
def test_recorded_citations_become_those_of_a_document(wire: str) -> None:
    spanned = wire != "anthropic"
    page = Citation("https://a.example", "A", "" if spanned else "capital", span=(7, 12))
    sources: list[dict[str, Any]] = [{"url": "https://a.example", "title": "A"}]
    sources[0] |= {"start": 7, "end": 12} if spanned else {"quote": "capital"}
    cited = (page,)
    if wire == "responses":
        cited += (Citation(document="guide.pdf", file_id="file-1", span=(0, 12)),)
        sources += [{"document": "guide.pdf", "file_id": "file-1", "start": 0, "end": 12}]
    if wire == "anthropic":
        pages = Citation(document="g", cited_text="c", document_index=1, unit="pages", place=(1, 2))
        cited += (Citation(document="guide.pdf", cited_text="capital", place=(0, 7)), pages)
        sources += [{"document": "guide.pdf", "quote": "capital", "chars": [0, 7]}]
        sources += [{"document": "g", "quote": "c", "document_index": 1, "pages": [1, 2]}]
    parts = TextPart(TEXT, cited), TextPart(" Yes.")
    expected = {"parts": [{"text": TEXT, "citations": sources}, {"text": " Yes."}]}
    if wire == "chat":
        expected = {"parts": [{"text": f"{TEXT} Yes.", "citations": sources}]}
    assert decode_body(wire, render_body(wire, *parts)) == (expected, ())
    assert decode_body(wire, encode_events(wire, *parts, stream=True)) == (expected, ())


def response_with_annotations(*annotations: Any) -> dict[str, Any]:
    content = {"type": "output_text", "text": "abc", "annotations": list(annotations)}
    return {"output": [{"type": "message", "content": [content]}]}


URL = {"type": "url_citation", "url": "u", "start_index": 0, "end_index": 2}
FILE = {"type": "file_citation", "filename": "f", "file_id": "i", "index": 2}


@pytest.mark.parametrize(
    "annotation",
    [
        {**URL, "end_index": 9},
        {**URL, "end_index": 0},
        {**URL, "start_index": None},
        {**URL, "url": ""},
        {**URL, "more": 1},
        {**FILE, "index": 0},
        {**FILE, "index": 4},
        {**FILE, "index": None},
        {**FILE, "file_id": None},
        {"type": "file_path", "file_id": "i", "index": 0},
    ],
)
def test_recorded_annotation_without_an_equivalent_is_lost(annotation: Any) -> None:
    assert decode_body("responses", response_with_annotations(annotation)) == (
        {"text": "abc"},
        ("annotations",),
    )


SEARCH = {"type": "web_search_result_location", "url": "u", "cited_text": "c"}
CHARS = {"type": "char_location", "document_title": "d", "cited_text": "c"}


@pytest.mark.parametrize(
    "citation",
    [
        {**SEARCH, "encrypted_index": "opaque"},
        {**SEARCH, "url": None},
        {**CHARS, "start_char_index": 3, "end_char_index": 3},
        {**CHARS, "start_char_index": None, "end_char_index": 3},
        {**CHARS, "document_title": None, "start_char_index": 0, "end_char_index": 3},
        {"type": "search_result_location", "source": "s"},
    ],
)
def test_recorded_citation_without_an_equivalent_is_lost(citation: Any) -> None:
    content = [{"type": "text", "text": "abc", "citations": [citation]}]
    assert decode_body("anthropic", {"content": content}) == ({"text": "abc"}, ("citations",))


@pytest.mark.parametrize("wire", ["responses", "anthropic"])
def test_returned_citations_are_read_as_text(wire: str) -> None:
    body = render_body(wire, CITED)
    user = {"role": "user", "content": "And then?"}
    if wire == "responses":
        _, request = read_request(wire, input=[*body["output"], user])
    else:
        answer = {"role": "assistant", "content": body["content"]}
        _, request = read_request(wire, messages=[user, answer, user])
    assert [m.text for m in request.messages if m.role == "assistant"] == [TEXT]
