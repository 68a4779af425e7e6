"""Conversations over OpenAI's Responses API: tools, stored responses and conversations."""

import json
from typing import Any

import openai
import pytest

from tests.engine.turn_scripts import shipped_scripts
from tests.sdk.openai.openai_client import OpenAIClient
from tests.sdk.openai.test_openai_responses_answers import TOOLS
from tests.sdk.scripted import load
from tests.serving.pipelines import scenario, text_step
from tests.support.live_server import Live

SCRIPTS = {document["id"]: document for document in shipped_scripts()}
PARIS = scenario(
    "paris",
    {
        "name": "ask",
        "turn": 1,
        "match": {"path": "/v1/responses", "tools": ["get_weather"]},
        "produce": {
            "reasoning": [{"text": "I need the tool.", "signature": "sig"}],
            "text": "Let me look.",
            "tool_calls": [{"id": "call_w", "name": "get_weather", "arguments": {"city": "Paris"}}],
        },
    },
    {
        "name": "tell",
        "turn": 2,
        "match": {
            "messages": [{"role": "user", "which": "first", "contains": "Paris"}],
            "tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}],
            "tool_results": [{"tool_call_id": "call_w", "name": "get_weather", "contains": "sun"}],
        },
        "produce": {"text": "It is sunny."},
    },
    {"name": "bye", "turn": 3, "produce": {"text": "Enjoy it."}},
)
RESULT = {"type": "function_call_output", "call_id": "call_w", "output": "sun"}


def create_response(client: OpenAIClient, mode: str, **params: Any) -> Any:
    params = {"model": "gpt-4o", "tools": TOOLS, **params}
    if mode == "streamed":
        return client.stream_with_helper(**params)[1]
    return client.ask(lambda c: c.responses.create(**params))


@pytest.mark.parametrize("mode", ["whole", "streamed"])
@pytest.mark.parametrize("memory", ["previous", "items", "references", "conversation"])
def test_tool_loop_continues_with_each_kind_of_memory(
    live: Live, client: OpenAIClient, mode: str, memory: str
) -> None:
    live.load(PARIS)
    history: list[Any] = []

    def send(answer: Any, *items: Any) -> Any:
        """Return the next answer; `memory` says how the request refers to earlier items."""
        if memory == "conversation":
            return create_response(client, mode, input=list(items), conversation="conv_1")
        if memory == "previous":
            previous = {"previous_response_id": answer.id} if answer else {}
            return create_response(client, mode, input=list(items), **previous)
        for item in answer.output if answer else ():
            reference = {"type": "item_reference", "id": item.id}
            history.append(
                reference if memory == "references" else item.model_dump(exclude_none=True)
            )
        history.extend(items)
        return create_response(client, mode, input=list(history))

    first = send(None, {"role": "user", "content": "How is Paris?"})
    assert [item.type for item in first.output] == ["reasoning", "message", "function_call"]
    second = send(first, RESULT)
    assert second.output_text == "It is sunny."
    third = send(second, {"role": "user", "content": "Thanks!"})
    assert third.output_text == "Enjoy it."
    assert [row.step for row in live.requests()] == ["ask", "tell", "bye"]


def test_unstored_response_cannot_be_continued_or_retrieved(
    live: Live, client: OpenAIClient
) -> None:
    load(live, text="Hi")
    first = client.ask(lambda c: c.responses.create(input="x", store=False))
    with pytest.raises(openai.BadRequestError) as raised:
        client.ask(lambda c: c.responses.create(input="y", previous_response_id=first.id))
    assert raised.value.code == "previous_response_not_found"
    assert raised.value.param == "previous_response_id"
    with pytest.raises(openai.NotFoundError):
        client.ask(lambda c: c.responses.retrieve(first.id))


def test_stored_response_is_retrieved(live: Live, client: OpenAIClient) -> None:
    load(live, text="Hi there")
    stream = client.read(lambda c: c.responses.create(input="x", stream=True, background=True))
    response = stream.items[-1].response
    assert client.ask(lambda c: c.responses.retrieve(response.id)) == response
    again = client.read(lambda c: c.responses.retrieve(response.id, stream=True, starting_after=2))
    assert again.error is None and again.items == stream.items[3:]
    assert client.ask(lambda c: c.responses.cancel(response.id)) == response
    page = client.ask(lambda c: c.responses.input_items.list(response.id))
    assert [item.content[0].text for item in page.data] == ["x"]
    assert client.ask(lambda c: c.responses.delete(response.id)) is None
    with pytest.raises(openai.NotFoundError):
        client.ask(lambda c: c.responses.retrieve(response.id))


def test_conversation_is_created_extended_and_read(live: Live, client: OpenAIClient) -> None:
    paris = {"match": {"messages": [{"which": "first", "equals": "Paris?"}]}}
    live.load(scenario("one", {**text_step("Rome."), **paris}))
    items = [{"role": "user", "content": "Paris?"}, {"role": "assistant", "content": "Paris."}]
    conversation = client.ask(lambda c: c.conversations.create(items=items, metadata={"a": "b"}))
    assert client.ask(lambda c: c.conversations.retrieve(conversation.id)) == conversation
    answer = client.ask(lambda c: c.responses.create(input="Rome?", conversation=conversation.id))
    assert (answer.output_text, answer.conversation.id) == ("Rome.", conversation.id)
    client.ask(lambda c: c.conversations.items.create(conversation.id, items=[RESULT]))
    page = client.ask(lambda c: c.conversations.items.list(conversation.id, order="asc", limit=5))
    *messages, last = page.data
    assert [message.content[0].text for message in messages] == [
        "Paris?",
        "Paris.",
        "Rome?",
        "Rome.",
    ]
    assert client.ask(
        lambda c: c.conversations.items.retrieve(last.id, conversation_id=conversation.id)
    )
    client.ask(lambda c: c.conversations.items.delete(last.id, conversation_id=conversation.id))
    with pytest.raises(openai.NotFoundError):
        client.ask(
            lambda c: c.conversations.items.retrieve(last.id, conversation_id=conversation.id)
        )
    assert client.ask(lambda c: c.conversations.delete(conversation.id)).deleted


def test_stream_helper_resumes_a_stored_stream(live: Live, client: OpenAIClient) -> None:
    load(live, text="Hi there")
    stream = client.read(lambda c: c.responses.create(input="x", stream=True))
    events, final = client.stream_with_helper(
        response_id=stream.items[0].response.id, starting_after=4
    )
    assert [event.sequence_number for event in events] == list(range(5, len(stream.items)))
    assert final.output_text == "Hi there"


def test_input_tokens_are_counted_and_conversations_compacted(
    live: Live, client: OpenAIClient
) -> None:
    remember = {"match": {"messages": [{"which": "first", "equals": "Remember 7."}]}}
    live.load(scenario("one", {**text_step("I do."), **remember}))
    token_count = client.ask(lambda c: c.responses.input_tokens.count(input="12345678"))
    assert token_count.input_tokens == 2
    first = client.ask(lambda c: c.responses.create(input="Remember 7."))
    compacted = client.ask(
        lambda c: c.responses.compact(model="gpt-4o", previous_response_id=first.id)
    )
    (item,) = compacted.output
    items = [item.model_dump(exclude_none=True), {"role": "user", "content": "And?"}]
    assert client.ask(lambda c: c.responses.create(input=items)).output_text == "I do."


def test_failed_expectation_is_reported(live: Live, client: OpenAIClient) -> None:
    live.load(SCRIPTS["careful-settings"])
    request: dict[str, Any] = {"temperature": 1, "top_p": 0.95, "input": "careful-settings"}
    answer = client.ask(lambda c: c.responses.create(model="test-llm", **request))
    report = json.loads(answer.output[1].arguments)
    assert report["report_content"].endswith("Expected reasoning to remain enabled")
    request["reasoning"] = {"effort": "low"}
    answer = client.ask(lambda c: c.responses.create(model="test-llm", **request))
    assert answer.output_text == "Settings as agreed."
