"""Citations in the official clients, streamed and not."""

from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types

from tests.support.live_server import Live

TEXT = "Paris is the capital of France."
SOURCES = [
    {"url": "https://a.example", "title": "A", "start": 0, "end": 5},
    {"document": "guide.pdf", "quote": "The capital", "pages": [1, 2]},
]
PARTS = [{"text": "Well. "}, {"text": TEXT, "citations": SOURCES}]
REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture
def cited(live: Live) -> Live:
    step = {"consume": False, "produce": {"parts": PARTS, "pacing": {"words_per_chunk": 1}}}
    live.load({"name": "cited", "steps": [step]})
    return live


def options(live: Live, base_url: str) -> dict[str, Any]:
    return {"base_url": base_url, "api_key": live.key, "max_retries": 0}


def test_chat_client_shows_annotations_of_pages(cited: Live) -> None:
    strict = {**options(cited, cited.openai_base_url), "_strict_response_validation": True}
    with openai.OpenAI(**strict) as client:
        message = client.chat.completions.create(**REQUEST).choices[0].message
        with client.chat.completions.stream(**REQUEST) as stream:
            streamed = stream.get_final_completion().choices[0].message
    (annotation,) = message.annotations or ()
    page = annotation.url_citation
    assert (page.url, page.title, page.start_index, page.end_index) == (
        "https://a.example",
        "A",
        6,
        11,
    )
    assert streamed.content == message.content == f"Well. {TEXT}"
    assert streamed.to_dict()["annotations"] == message.to_dict()["annotations"]


def test_responses_client_shows_annotations_of_pages_and_files(cited: Live) -> None:
    strict = {**options(cited, cited.openai_base_url), "_strict_response_validation": True}
    with openai.OpenAI(**strict) as client:
        response = client.responses.create(model="m", input="Hello")
        with client.responses.stream(model="m", input="Hello") as stream:
            kinds = [event.type for event in stream]
            streamed = stream.get_final_response()
    content: Any = response.output[-1].content[0]
    assert [annotation.type for annotation in content.annotations] == [
        "url_citation",
        "file_citation",
    ]
    assert content.annotations[1].filename == "guide.pdf"
    assert kinds.count("response.output_text.annotation.added") == 2
    assert [_plain(item) for item in streamed.output] == [_plain(item) for item in response.output]


def _plain(item: Any) -> Any:
    """Return an item without its id and the client's parsed value."""
    values: dict[str, Any] = item.to_dict()
    for content in values["content"]:
        content.pop("parsed", None)
    return {**values, "id": ""}


def test_anthropic_client_shows_locations(cited: Live) -> None:
    strict = {**options(cited, cited.base_url), "_strict_response_validation": True}
    request = {**REQUEST, "max_tokens": 99}
    with anthropic.Anthropic(**strict) as client:
        message = client.messages.create(**request)
        with client.messages.stream(**request) as stream:
            streamed = stream.get_final_message()
    assert [block.to_dict() for block in streamed.content] == [b.to_dict() for b in message.content]
    text: Any = message.content[1]
    page, guide = text.citations
    assert (page.type, page.url) == ("web_search_result_location", "https://a.example")
    assert (guide.type, guide.document_title) == ("page_location", "guide.pdf")
    assert (guide.start_page_number, guide.end_page_number) == (1, 2)
    assert guide.cited_text == "The capital"


def test_gemini_client_shows_grounding(cited: Live) -> None:
    http = types.HttpOptions(base_url=cited.base_url)
    client = genai.Client(api_key=cited.key, http_options=http)
    request: dict[str, Any] = {"model": "g", "contents": "Hello"}
    candidate = (client.models.generate_content(**request).candidates or [])[0]
    *_, last = client.models.generate_content_stream(**request)
    grounding = candidate.grounding_metadata
    assert grounding is not None and grounding.grounding_chunks and grounding.grounding_supports
    page, guide = grounding.grounding_chunks
    assert page.web is not None and page.web.uri == "https://a.example"
    assert guide.retrieved_context is not None and guide.retrieved_context.title == "guide.pdf"
    segments = [support.segment for support in grounding.grounding_supports]
    assert [segment.text for segment in segments if segment] == ["Paris", TEXT]
    assert (last.candidates or [])[0].grounding_metadata == grounding
