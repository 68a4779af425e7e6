"""What a model says before and after its tools is two paragraphs: in the stream, for who follows it
again, for both branches of a comparison, and in what is stored."""

from typing import Any

import pytest

from chat_app.models import ModelProfile
from tests.chat.asking import Api, read
from tests.chat.chatting import scenario
from tests.chat.scripts import TOOL_CALL
from tests.support.live_server import Live

ADDED = "Let me add.\n\nIt is 3."
ROUNDS: tuple[dict[str, Any], ...] = (
    {"text": "Let me add. ", **TOOL_CALL},
    {"text": " It is 3."},
)


def test_chunks_joined_are_what_is_stored(live: Live, api: Api) -> None:
    live.load(scenario(*ROUNDS))
    stream = api.send()
    assert [event["content"] for event in stream.of("chunk")] == ["Let me add.", "\n\nIt is 3."]
    assert api.loaded(stream.conversation_id)[1]["content"] == stream.text == ADDED


def test_stream_resumed_between_rounds_gets_the_blank_line(live: Live, api: Api) -> None:
    live.load(scenario(*ROUNDS))
    whole = api.send()
    tool_end = next(event.id for event in whole.events if event.type == "tool_end")
    assert api.follow(whole.trace_id, after=tool_end).text == "\n\nIt is 3."


def test_an_instruction_chain_is_told_in_paragraphs(api: Api) -> None:
    block = (
        '<|instruction_start|>{"instruction_chain":[{"id_message":"MARK","messages":'
        '[{"text_message":{"length":2}},{"tool_call":[{"name":"add","args":{"a":1,"b":2}}]}]}]}'
        "<|instruction_end|>"
    )
    stream = api.send(block)
    assert stream.text.endswith("MARK\n\nChain complete.")
    assert api.loaded(stream.conversation_id)[1]["content"] == stream.text


@pytest.mark.parametrize("branch", ["a", "b"])
def test_branches_of_a_comparison_have_paragraphs_of_their_own(
    live: Live, api: Api, branch: str
) -> None:
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
    stream = read(api.post("ab/stream", message="1 + 2?", profile_a="one", profile_b="two"))
    told = "".join(e["content"] for e in stream.of("chunk") if e["branch"] == branch)
    messages = api.loaded(stream.conversation_id)
    assert [one["content"] for one in messages if one["branch"] == branch] == [told] == [ADDED]
