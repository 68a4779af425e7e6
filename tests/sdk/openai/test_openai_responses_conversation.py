"""Conversations over OpenAI's Responses: tools, and what the server keeps."""

import json
from typing import Any

import openai
import pytest

from tests.engine.turn_scripts import examples
from tests.sdk.openai.openai_client import Client
from tests.sdk.openai.test_openai_responses_answers import TOOLS
from tests.sdk.scripted import load
from tests.serving.pipelines import says, scenario
from tests.support.live_server import Live

SCRIPTS = {document["id"]: document for document in examples()}
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


def told(client: Client, way: str, **asked: Any) -> Any:
    asked = {"model": "gpt-4o", "tools": TOOLS, **asked}
    if way == "streamed":
        return client.helped(**asked)[1]
    return client.ask(lambda c: c.responses.create(**asked))


@pytest.mark.parametrize("way", ["whole", "streamed"])
@pytest.mark.parametrize("memory", ["previous", "items", "references", "conversation"])
def test_a_tools_loop(live: Live, client: Client, way: str, memory: str) -> None:
    live.load(PARIS)
    said: list[Any] = []

    def say(answer: Any, *items: Any) -> Any:
        """The next answer; what was said before comes along in one of four ways."""
        if memory == "conversation":
            return told(client, way, input=list(items), conversation="conv_1")
        if memory == "previous":
            before = {"previous_response_id": answer.id} if answer else {}
            return told(client, way, input=list(items), **before)
        for item in answer.output if answer else ():
            given = {"type": "item_reference", "id": item.id}
            said.append(given if memory == "references" else item.model_dump(exclude_none=True))
        said.extend(items)
        return told(client, way, input=list(said))

    first = say(None, {"role": "user", "content": "How is Paris?"})
    assert [item.type for item in first.output] == ["reasoning", "message", "function_call"]
    second = say(first, RESULT)
    assert second.output_text == "It is sunny."
    third = say(second, {"role": "user", "content": "Thanks!"})
    assert third.output_text == "Enjoy it."
    assert [row.step for row in live.requests()] == ["ask", "tell", "bye"]


def test_an_answer_that_nobody_kept(live: Live, client: Client) -> None:
    load(live, text="Hi")
    first = client.ask(lambda c: c.responses.create(input="x", store=False))
    with pytest.raises(openai.BadRequestError) as raised:
        client.ask(lambda c: c.responses.create(input="y", previous_response_id=first.id))
    assert raised.value.code == "previous_response_not_found"
    assert raised.value.param == "previous_response_id"
    with pytest.raises(openai.NotFoundError):
        client.ask(lambda c: c.responses.retrieve(first.id))


def test_stored_response_is_retrieved(live: Live, client: Client) -> None:
    load(live, text="Hi there")
    read = client.read(lambda c: c.responses.create(input="x", stream=True, background=True))
    whole = read.items[-1].response
    assert client.ask(lambda c: c.responses.retrieve(whole.id)) == whole
    again = client.read(lambda c: c.responses.retrieve(whole.id, stream=True, starting_after=2))
    assert again.error is None and again.items == read.items[3:]
    assert client.ask(lambda c: c.responses.cancel(whole.id)) == whole
    page = client.ask(lambda c: c.responses.input_items.list(whole.id))
    assert [item.content[0].text for item in page.data] == ["x"]
    assert client.ask(lambda c: c.responses.delete(whole.id)) is None
    with pytest.raises(openai.NotFoundError):
        client.ask(lambda c: c.responses.retrieve(whole.id))


def test_a_conversation_is_made_filled_and_read(live: Live, client: Client) -> None:
    paris = {"match": {"messages": [{"which": "first", "equals": "Paris?"}]}}
    live.load(scenario("one", {**says("Rome."), **paris}))
    items = [{"role": "user", "content": "Paris?"}, {"role": "assistant", "content": "Paris."}]
    made = client.ask(lambda c: c.conversations.create(items=items, metadata={"a": "b"}))
    assert client.ask(lambda c: c.conversations.retrieve(made.id)) == made
    answer = client.ask(lambda c: c.responses.create(input="Rome?", conversation=made.id))
    assert (answer.output_text, answer.conversation.id) == ("Rome.", made.id)
    client.ask(lambda c: c.conversations.items.create(made.id, items=[RESULT]))
    page = client.ask(lambda c: c.conversations.items.list(made.id, order="asc", limit=5))
    *said, last = page.data
    assert [i.content[0].text for i in said] == ["Paris?", "Paris.", "Rome?", "Rome."]
    assert client.ask(lambda c: c.conversations.items.retrieve(last.id, conversation_id=made.id))
    client.ask(lambda c: c.conversations.items.delete(last.id, conversation_id=made.id))
    with pytest.raises(openai.NotFoundError):
        client.ask(lambda c: c.conversations.items.retrieve(last.id, conversation_id=made.id))
    assert client.ask(lambda c: c.conversations.delete(made.id)).deleted


def test_a_stream_helper_takes_up_a_stream(live: Live, client: Client) -> None:
    load(live, text="Hi there")
    read = client.read(lambda c: c.responses.create(input="x", stream=True))
    events, final = client.helped(response_id=read.items[0].response.id, starting_after=4)
    assert [event.sequence_number for event in events] == list(range(5, len(read.items)))
    assert final.output_text == "Hi there"


def test_input_tokens_are_counted_and_conversations_compacted(live: Live, client: Client) -> None:
    remember = {"match": {"messages": [{"which": "first", "equals": "Remember 7."}]}}
    live.load(scenario("one", {**says("I do."), **remember}))
    counted = client.ask(lambda c: c.responses.input_tokens.count(input="12345678"))
    assert counted.input_tokens == 2
    first = client.ask(lambda c: c.responses.create(input="Remember 7."))
    compacted = client.ask(
        lambda c: c.responses.compact(model="gpt-4o", previous_response_id=first.id)
    )
    (item,) = compacted.output
    items = [item.model_dump(exclude_none=True), {"role": "user", "content": "And?"}]
    assert client.ask(lambda c: c.responses.create(input=items)).output_text == "I do."


def test_failed_expectation_is_reported(live: Live, client: Client) -> None:
    live.load(SCRIPTS["careful-settings"])
    asked: dict[str, Any] = {"temperature": 1, "top_p": 0.95, "input": "careful-settings"}
    answer = client.ask(lambda c: c.responses.create(model="test-llm", **asked))
    report = json.loads(answer.output[1].arguments)
    assert report["report_content"].endswith("Expected reasoning to remain enabled")
    asked["reasoning"] = {"effort": "low"}
    answer = client.ask(lambda c: c.responses.create(model="test-llm", **asked))
    assert answer.output_text == "Settings as agreed."
