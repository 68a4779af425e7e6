"""Signature preservation: thinking that nobody signed is dropped from later turns."""

import pytest

from scenarios_app.engine.canonical import CanonicalRequest, Message
from scenarios_app.engine.parts import ReasoningPart, TextPart, ToolCallPart
from scenarios_app.serving.read import without_unsigned
from tests.engine.asking import ask, result, say

CALL = ToolCallPart("c", "f", "{}")
BARE = ReasoningPart("Hm.")
SIGNED = ReasoningPart("Hm.", signature="sig")
HIDDEN = ReasoningPart("", redacted="xyz")


def asking(*parts: ReasoningPart | TextPart | ToolCallPart) -> CanonicalRequest:
    return ask("go", Message("assistant", parts), result("sunny"), reasoning=True)


def test_unsigned_thinking_before_a_call_goes_and_reasoning_counts_as_disabled() -> None:
    text = TextPart("Let me look.")
    stripped = without_unsigned(asking(BARE, text, CALL, BARE))
    assert stripped == ask(
        "go", Message("assistant", (text, CALL)), result("sunny"), reasoning=False
    )


@pytest.mark.parametrize(
    "request_",
    [
        ask("go", reasoning=True),
        asking(CALL),
        asking(SIGNED, CALL),
        asking(HIDDEN, CALL),
        asking(BARE, SIGNED, CALL),
        asking(BARE, TextPart("no call")),
        ask(Message("user", (CALL, BARE)), say("assistant", "x"), reasoning=True),
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
        ask(
            Message("assistant", (SIGNED, CALL)),
            Message("assistant", (BARE, CALL)),
            Message("assistant", (BARE, TextPart("x"))),
            reasoning=True,
        )
    )
    kept = [message.parts for message in stripped.messages]
    assert kept == [(SIGNED, CALL), (CALL,), (BARE, TextPart("x"))]
    assert not stripped.reasoning
