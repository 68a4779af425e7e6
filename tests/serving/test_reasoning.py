"""Signature preservation: thinking that nobody signed is dropped from later turns."""

import pytest

from scenarios_app.engine.canonical import CanonicalRequest, Message
from scenarios_app.engine.parts import ReasoningPart, TextPart, ToolCallPart
from scenarios_app.serving.read import without_unsigned
from tests.engine.match_builders import chat_request, text_message, tool_result_message

CALL = ToolCallPart("c", "f", "{}")
BARE = ReasoningPart("Hm.")
SIGNED = ReasoningPart("Hm.", signature="sig")
HIDDEN = ReasoningPart("", redacted="xyz")


def asking(*parts: ReasoningPart | TextPart | ToolCallPart) -> CanonicalRequest:
    return chat_request(
        "go", Message("assistant", parts), tool_result_message("sunny"), reasoning=True
    )


def test_unsigned_thinking_before_a_call_goes_and_reasoning_counts_as_disabled() -> None:
    text = TextPart("Let me look.")
    stripped = without_unsigned(asking(BARE, text, CALL, BARE))
    assert stripped == chat_request(
        "go", Message("assistant", (text, CALL)), tool_result_message("sunny"), reasoning=False
    )


@pytest.mark.parametrize(
    "request_",
    [
        chat_request("go", reasoning=True),
        asking(CALL),
        asking(SIGNED, CALL),
        asking(HIDDEN, CALL),
        asking(BARE, SIGNED, CALL),
        asking(BARE, TextPart("no call")),
        chat_request(Message("user", (CALL, BARE)), text_message("assistant", "x"), reasoning=True),
    ],
    ids=[
        *("first turn", "no thinking", "signed", "encrypted", "one of two signed", "no call"),
        "not the assistant's",
    ],
)
def test_anything_else_stays_as_it_is(request_: CanonicalRequest) -> None:
    assert without_unsigned(request_) is request_


def test_each_message_is_looked_at_by_itself() -> None:
    stripped = without_unsigned(
        chat_request(
            Message("assistant", (SIGNED, CALL)),
            Message("assistant", (BARE, CALL)),
            Message("assistant", (BARE, TextPart("x"))),
            reasoning=True,
        )
    )
    kept = [message.parts for message in stripped.messages]
    assert kept == [(SIGNED, CALL), (CALL,), (BARE, TextPart("x"))]
    assert not stripped.reasoning
