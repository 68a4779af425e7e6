"""Scripted answers of the Responses API in OpenAI's client, streamed and not, and its helpers."""

import json
from typing import Any

import openai
import pytest
from openai.types.responses import Response

from tests.sdk.openai.openai_client import OpenAIClient
from tests.sdk.scripted import PARIS, PARIS_TEXT, City, load
from tests.serving.pipelines import FROZEN
from tests.support.live_server import Live

WEATHER = {"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris", "days": [1, 2]}}
TIME = {"id": "call_2", "name": "get_time", "arguments": {}}
TOOLS: list[Any] = [
    {"type": "function", "name": "get_weather", "parameters": {"type": "object"}, "strict": False}
]
SEARCH: list[Any] = [{"type": "web_search"}]


def create_response(client: OpenAIClient, **params: Any) -> Response:
    params = {"model": "gpt-4o", "input": "Hello", **params}
    response: Response = client.ask(lambda c: c.responses.create(**params))
    return response


def read_stream_events(client: OpenAIClient, **params: Any) -> list[Any]:
    """Return the events of a stream, after checking that the stream helper gets the same."""
    params = {"model": "gpt-4o", "input": "Hello", **params}
    stream = client.read(lambda c: c.responses.create(stream=True, **params))
    assert stream.error is None, stream.error
    assert [event.sequence_number for event in stream.items] == list(range(len(stream.items)))
    events, final = client.stream_with_helper(**params)
    assert [event.type for event in events] == stream.types
    assert final.output_text == stream.items[-1].response.output_text
    return stream.items


def list_deltas(events: list[Any], kind: str) -> list[str]:
    return [event.delta for event in events if event.type == f"response.{kind}.delta"]


def test_text(live: Live, client: OpenAIClient) -> None:
    load(live, text="Grüße, one two three four 🙂.", pacing={"words_per_chunk": 2})
    answer = create_response(client)
    assert answer.output_text == "Grüße, one two three four 🙂."
    assert (answer.status, answer.model, answer.created_at) == ("completed", "gpt-4o", FROZEN)
    assert answer.usage is not None and answer.usage.total_tokens > 0
    events = read_stream_events(client)
    assert len(list_deltas(events, "output_text")) == 3
    assert "".join(list_deltas(events, "output_text")) == answer.output_text
    last = events[-1].response
    assert (last.output_text, last.usage) == (answer.output_text, answer.usage)


def test_request_without_fields_is_answered(live: Live, client: OpenAIClient) -> None:
    load(live, text="Hi")
    assert client.ask(lambda c: c.responses.create()).output_text == "Hi"


def test_tool_calls(live: Live, client: OpenAIClient) -> None:
    load(live, text="Looking.", tool_calls=[WEATHER, TIME])
    _, first, second = create_response(client, tools=TOOLS).output
    assert first.type == "function_call" and second.type == "function_call"
    assert (first.call_id, first.name) == ("call_1", "get_weather")
    assert json.loads(first.arguments) == WEATHER["arguments"]
    assert first.id is not None and first.id.startswith("fc_") and first.id != first.call_id
    events = read_stream_events(client, tools=TOOLS)
    pieces = [e for e in events if e.type == "response.function_call_arguments.delta"]
    assert sum(event.output_index == 1 for event in pieces) >= 2
    done = [e.arguments for e in events if e.type == "response.function_call_arguments.done"]
    assert [json.loads(text) for text in done] == [WEATHER["arguments"], {}]


def test_reasoning_comes_first(live: Live, client: OpenAIClient) -> None:
    load(live, reasoning=[{"text": "I think.", "signature": "sig"}], text="So it is.")
    thought, _ = create_response(client, reasoning={"effort": "low", "summary": "auto"}).output
    assert thought.type == "reasoning"
    assert [part.text for part in thought.summary] == ["I think."]
    assert thought.encrypted_content == "sig"
    events = read_stream_events(client)
    assert "".join(list_deltas(events, "reasoning_summary_text")) == "I think."
    kinds = [event.type for event in events]
    assert kinds.index("response.reasoning_summary_text.done") < kinds.index(
        "response.output_text.delta"
    )


def test_a_refusal(live: Live, client: OpenAIClient) -> None:
    load(live, refusal="I will not do that.")
    (message,) = create_response(client).output
    assert message.type == "message" and message.content[0].type == "refusal"
    assert message.content[0].refusal == "I will not do that."
    assert "".join(list_deltas(read_stream_events(client), "refusal")) == "I will not do that."


@pytest.mark.parametrize(
    ("reason", "incomplete_reason"),
    [("length", "max_output_tokens"), ("content_filter", "content_filter")],
)
def test_an_answer_cut_short(
    live: Live, client: OpenAIClient, reason: str, incomplete_reason: str
) -> None:
    load(live, text="One two", finish_reason=reason)
    answer = create_response(client)
    assert (answer.status, answer.output_text) == ("incomplete", "One two")
    assert (
        answer.incomplete_details is not None
        and answer.incomplete_details.reason == incomplete_reason
    )
    request = {"model": "gpt-4o", "input": "Hello"}
    stream = client.read(lambda c: c.responses.create(stream=True, **request))
    assert stream.types[-1] == "response.incomplete"
    # The helper only returns a final response that is completed.
    with pytest.raises(RuntimeError, match=r"response\.completed"):
        client.stream_with_helper(**request)


def test_an_answer_that_failed(live: Live, client: OpenAIClient) -> None:
    error = {"code": "server_error", "message": "The model fell over."}
    metadata = {"openai": {"status": "failed", "error": error}}
    load(live, text="One two", provider_metadata=metadata)
    answer = create_response(client)
    assert answer.status == "failed" and answer.error is not None
    assert (answer.error.code, answer.error.message) == ("server_error", "The model fell over.")
    read = client.read(lambda c: c.responses.create(stream=True, input="Hello"))
    assert read.error is None and read.types[-1] == "response.failed"
    assert read.items[-1].response.error == answer.error


def test_choices_are_items_in_order(live: Live, client: OpenAIClient) -> None:
    load(live, choices=[{"text": "Heads."}, {"text": "Tails."}])
    assert create_response(client).output_text == "Heads.Tails."
    assert read_stream_events(client)[-1].response.output_text == "Heads.Tails."


def test_chunks_arrive_part_by_part(live: Live, client: OpenAIClient) -> None:
    load(live, chunks=["One ", {"reasoning": "hm"}, "two", ""])
    events = read_stream_events(client)
    assert list_deltas(events, "output_text")[:2] == ["One ", "two"]
    assert create_response(client).output_text == "One two"


def test_calls_of_one_id_in_two_choices(live: Live, client: OpenAIClient) -> None:
    load(live, choices=[{"tool_calls": [TIME]}, {"tool_calls": [TIME]}])
    calls = read_stream_events(client, tools=TOOLS)[-1].response.output
    assert [call.call_id for call in calls] == ["call_2", "call_2_2"]


def test_structured_output_is_parsed(live: Live, client: OpenAIClient) -> None:
    load(live, text=PARIS_TEXT)
    request: dict[str, Any] = {"model": "gpt-4o", "input": "Hello", "text_format": City}
    assert client.ask(lambda c: c.responses.parse(**request)).output_parsed == PARIS
    _, final = client.stream_with_helper(**request)
    assert final.output_parsed == PARIS


def test_tools_are_parsed(live: Live, client: OpenAIClient) -> None:
    load(live, tool_calls=[{"id": "c", "name": "City", "arguments": {"name": "Rome", "people": 3}}])
    tool = openai.pydantic_function_tool(City)["function"]
    request: dict[str, Any] = {
        "input": "x",
        "tools": [{"type": "function", **tool, "strict": True}],
    }
    (call,) = client.ask(lambda c: c.responses.parse(model="gpt-4o", **request)).output
    assert call.parsed_arguments == {"name": "Rome", "people": 3}


def test_a_custom_tool_is_called_with_text(live: Live, client: OpenAIClient) -> None:
    load(live, tool_calls=[{"id": "c", "name": "sql", "arguments": "select 1"}])
    tools = [{"type": "custom", "name": "sql"}]
    (call,) = create_response(client, tools=tools).output
    assert call.type == "custom_tool_call" and call.input == "select 1"
    events = read_stream_events(client, tools=tools)
    assert "".join(list_deltas(events, "custom_tool_call_input")) == "select 1"


def test_a_search_and_its_sources(live: Live, client: OpenAIClient) -> None:
    block = {
        "id": "b",
        "messages": [
            {"server_tool_use": {"id": "s", "name": "web_search", "input": {"query": "rain"}}},
            {
                "text_with_citations": {
                    "text": "It rains.",
                    "citations": [{"url": "https://a", "title": "A", "cited_text": "rains"}],
                }
            },
        ],
    }
    prompt = f"<|instruction_start|>{json.dumps(block)}<|instruction_end|>"
    search, message = create_response(client, input=prompt, tools=SEARCH).output
    assert search.type == "web_search_call" and search.action.type == "search"
    assert search.action.query == "rain"
    assert message.type == "message" and message.content[0].type == "output_text"
    (source,) = message.content[0].annotations
    assert source.type == "url_citation" and source.url == "https://a"
    kinds = [event.type for event in read_stream_events(client, input=prompt, tools=SEARCH)]
    assert "response.web_search_call.completed" in kinds
    assert "response.output_text.annotation.added" in kinds
