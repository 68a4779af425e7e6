"""Hosted tools in the official clients, streamed and not, and sent back."""

from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types

from tests.support.live_server import Live

PNG = "aW1hZ2U="
SEARCH = {
    "tool": "web_search",
    "input": {"query": "rain"},
    "result": [{"url": "https://a.example", "title": "A"}],
}
CODE = {"tool": "code_execution", "input": {"code": "print(1)"}, "result": {"stdout": "1\n"}}
FILES = {
    "tool": "file_search",
    "input": {"query": "tower"},
    "result": [{"document": "a.txt", "text": "Tower."}],
}
IMAGE = {"tool": "image_generation", "input": {"prompt": "a cat"}, "result": PNG}
TOOLS = [{"name": "ask", "input_schema": {"type": "object"}}]
LIST = {"tool": "mcp_list_tools", "server": "wiki", "result": TOOLS}
ASK = {"tool": "mcp", "server": "wiki", "name": "ask", "input": {"q": "Who?"}, "result": "Me."}
HOSTED_TOOLS = (SEARCH, CODE, FILES, IMAGE, LIST, ASK)
REQUEST: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture
def hosted(live: Live) -> Live:
    parts = [*({"hosted_tool": tool} for tool in HOSTED_TOOLS), {"text": "All of it."}]
    first = {"match": {"messages": [{"contains": "Hello"}]}, "produce": {"parts": parts}}
    again = {"match": {"messages": ["And then?"]}, "produce": {"text": "Nothing."}}
    steps = [{**step, "consume": False} for step in (first, again)]
    live.load({"name": "hosted", "steps": steps})
    return live


def options(live: Live, base_url: str) -> dict[str, Any]:
    strict = {"max_retries": 0, "_strict_response_validation": True}
    return {"base_url": base_url, "api_key": live.key, **strict}


def test_responses_client_shows_the_items_of_hosted_tools(hosted: Live) -> None:
    include: Any = [
        "web_search_call.action.sources",
        "code_interpreter_call.outputs",
        "file_search_call.results",
    ]
    request: dict[str, Any] = {"model": "m", "input": "Hello", "include": include}
    with openai.OpenAI(**options(hosted, hosted.openai_base_url)) as client:
        response = client.responses.create(**request)
        with client.responses.stream(**request) as stream:
            kinds = {event.type for event in stream}
            streamed = stream.get_final_response()
        next_input: Any = [*response.output, {"role": "user", "content": "And then?"}]
        again = client.responses.create(model="m", input=next_input)
    search, code, files, image, listing, call, message = map(_plain, response.output)
    assert list(map(_plain, streamed.output)) == list(map(_plain, response.output))
    assert search["action"]["sources"] == [{"type": "url", "url": "https://a.example"}]
    assert (code["code"], code["outputs"][0]["logs"]) == ("print(1)", "1\n")
    assert files["results"][0]["filename"] == "a.txt"
    assert image["result"] == PNG
    assert listing["tools"][0]["name"] == "ask"
    assert (call["name"], call["output"], call["server_label"]) == ("ask", "Me.", "wiki")
    assert message["content"][0]["text"] == "All of it."
    assert {
        "response.web_search_call.completed",
        "response.code_interpreter_call_code.done",
        "response.file_search_call.searching",
        "response.image_generation_call.generating",
        "response.mcp_list_tools.completed",
        "response.mcp_call_arguments.done",
    } <= kinds
    assert again.output_text == "Nothing."


def _plain(item: Any) -> dict[str, Any]:
    """Return an item without the ids of its request and the client's parsed value."""
    values: dict[str, Any] = item.to_dict()
    for content in values.get("content", ()):
        content.pop("parsed", None)
    return {key: value for key, value in values.items() if key not in ("id", "container_id")}


def test_anthropic_client_shows_the_blocks_of_hosted_tools(hosted: Live) -> None:
    request: Any = {**REQUEST, "max_tokens": 99}
    with anthropic.Anthropic(**options(hosted, hosted.base_url)) as client:
        message = client.beta.messages.create(**request)
        with client.beta.messages.stream(**request) as stream:
            streamed = stream.get_final_message()
        answer: Any = {
            "role": "assistant",
            "content": [block.to_dict() for block in message.content],
        }
        question = {"role": "user", "content": "And then?"}
        again = client.beta.messages.create(
            **{**request, "messages": [*request["messages"], answer, question]}
        )
    blocks = [block.to_dict() for block in message.content]
    assert [block["type"] for block in blocks] == [
        "server_tool_use",
        "web_search_tool_result",
        "server_tool_use",
        "code_execution_tool_result",
        "mcp_tool_listing",
        "mcp_tool_use",
        "mcp_tool_result",
        "text",
    ]
    assert [_without_ids(b.to_dict()) for b in streamed.content] == list(map(_without_ids, blocks))
    results: Any = message.content
    assert results[1].content[0].url == "https://a.example"
    assert results[3].content.stdout == "1\n"
    call = results[5]
    assert (call.name, call.server_name, call.input) == ("ask", "wiki", {"q": "Who?"})
    assert results[6].content[0].text == "Me."
    assert [block.to_dict()["text"] for block in again.content] == ["Nothing."]


def _without_ids(block: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key not in ("id", "tool_use_id")}


def test_gemini_client_shows_code_images_and_searches(hosted: Live) -> None:
    http = types.HttpOptions(base_url=hosted.base_url)
    client = genai.Client(api_key=hosted.key, http_options=http)
    request: dict[str, Any] = {"model": "g", "contents": "Hello"}
    response = client.models.generate_content(**request)
    chunks = list(client.models.generate_content_stream(**request))
    candidate = (response.candidates or [])[0]
    parts = (candidate.content and candidate.content.parts) or []
    assert response.executable_code == "print(1)"
    assert response.code_execution_result == "1\n"
    assert [part.inline_data.data for part in parts if part.inline_data] == [b"image"]
    assert candidate.grounding_metadata is not None
    assert candidate.grounding_metadata.web_search_queries == ["rain"]
    streamed = [
        part
        for chunk in chunks
        for streamed_candidate in chunk.candidates or ()
        for part in (streamed_candidate.content and streamed_candidate.content.parts) or ()
        if part.text != ""
    ]
    *values, text = map(_values, parts)
    assert text == {"text": "All of it."}
    assert [_values(part) for part in streamed if not part.text] == values


def _values(part: types.Part) -> dict[str, Any]:
    """Return the values of a part without the id of its request."""
    values = part.model_dump(exclude_none=True)
    for value in values.values():
        if isinstance(value, dict):
            value.pop("id", None)
    return values


def test_chat_client_gets_the_text_alone(hosted: Live) -> None:
    with openai.OpenAI(**options(hosted, hosted.openai_base_url)) as client:
        message = client.chat.completions.create(**REQUEST).choices[0].message
    assert (message.content, message.tool_calls) == ("All of it.", None)
