"""Texts before and after tool calls are separate paragraphs.

That holds in streams, resumed streams, branches of a comparison and stored messages."""

from typing import Any

import pytest

from chat_app.models import ModelProfile
from tests.chat.api_client import Api, read_stream
from tests.chat.chat_helpers import scenario
from tests.chat.scripts import TOOL_CALL
from tests.support.live_server import Live

JOINED_TEXT = "Let me add.\n\nIt is 3."
ROUNDS: tuple[dict[str, Any], ...] = (
    {"text": "Let me add. ", **TOOL_CALL},
    {"text": " It is 3."},
)


def test_joined_chunks_equal_the_stored_text(live: Live, api: Api) -> None:
    live.load(scenario(*ROUNDS))
    stream = api.send()
    assert [event["content"] for event in stream.of("chunk")] == ["Let me add.", "\n\nIt is 3."]
    assert api.load_messages(stream.conversation_id)[1]["content"] == stream.text == JOINED_TEXT


def test_stream_resumed_between_rounds_gets_the_blank_line(live: Live, api: Api) -> None:
    live.load(scenario(*ROUNDS))
    stream = api.send()
    tool_end = next(event.id for event in stream.events if event.type == "tool_end")
    assert api.follow(stream.trace_id, after=tool_end).text == "\n\nIt is 3."


def test_instruction_chain_answers_in_paragraphs(api: Api) -> None:
    block = (
        '<|instruction_start|>{"instruction_chain":[{"id_message":"MARK","messages":'
        '[{"text_message":{"length":2}},{"tool_call":[{"name":"add","args":{"a":1,"b":2}}]}]}]}'
        "<|instruction_end|>"
    )
    stream = api.send(block)
    assert stream.text.endswith("MARK\n\nChain complete.")
    assert api.load_messages(stream.conversation_id)[1]["content"] == stream.text


@pytest.mark.parametrize("branch", ["a", "b"])
def test_branches_of_a_comparison_have_paragraphs(live: Live, api: Api, branch: str) -> None:
    for name in ("one", "two"):
        ModelProfile.objects.create(
            name=name,
            provider_id="openai",
            model_id=f"model-{name}",
            base_url="mock:",
            mcp_servers=["demo"],
        )
        live.load(
            {
                "name": name,
                "steps": [
                    {"match": {"model": f"model-{name}"}, "produce": answer} for answer in ROUNDS
                ],
            }
        )
    stream = read_stream(api.post("ab/stream", message="1 + 2?", profile_a="one", profile_b="two"))
    text = "".join(e["content"] for e in stream.of("chunk") if e["branch"] == branch)
    messages = api.load_messages(stream.conversation_id)
    assert (
        [message["content"] for message in messages if message["branch"] == branch]
        == [text]
        == [JOINED_TEXT]
    )
