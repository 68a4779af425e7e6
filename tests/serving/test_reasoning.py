"""Signature preservation: reasoning without a signature is dropped from later turns."""

import pytest

from scenarios_app.engine.canonical import CanonicalRequest, Message
from scenarios_app.engine.parts import ReasoningPart, TextPart, ToolCallPart
from scenarios_app.serving.read import without_unsigned
from tests.engine.match_builders import chat_request, text_message, tool_result_message

CALL = ToolCallPart("c", "f", "{}")
UNSIGNED = ReasoningPart("Hm.")
SIGNED = ReasoningPart("Hm.", signature="sig")
HIDDEN = ReasoningPart("", redacted="xyz")


def request_with(*parts: ReasoningPart | TextPart | ToolCallPart) -> CanonicalRequest:
    return chat_request(
        "go", Message("assistant", parts), tool_result_message("sunny"), reasoning=True
    )


def test_unsigned_thinking_before_a_call_goes_and_reasoning_counts_as_disabled() -> None:
    text = TextPart("Let me look.")
    stripped = without_unsigned(request_with(UNSIGNED, text, CALL, UNSIGNED))
    assert stripped == chat_request(
        "go", Message("assistant", (text, CALL)), tool_result_message("sunny"), reasoning=False
    )


@pytest.mark.parametrize(
    "request_",
    [
        chat_request("go", reasoning=True),
        request_with(CALL),
        request_with(SIGNED, CALL),
        request_with(HIDDEN, CALL),
        request_with(UNSIGNED, SIGNED, CALL),
        request_with(UNSIGNED, TextPart("no call")),
        chat_request(
            Message("user", (CALL, UNSIGNED)), text_message("assistant", "x"), reasoning=True
        ),
    ],
    ids=[
        *("first turn", "no thinking", "signed", "encrypted", "one of two signed", "no call"),
        "not the assistant's",
    ],
)
def test_other_requests_are_unchanged(request_: CanonicalRequest) -> None:
    assert without_unsigned(request_) is request_


def test_each_message_is_checked_separately() -> None:
    stripped = without_unsigned(
        chat_request(
            Message("assistant", (SIGNED, CALL)),
            Message("assistant", (UNSIGNED, CALL)),
            Message("assistant", (UNSIGNED, TextPart("x"))),
            reasoning=True,
        )
    )
    message_parts = [message.parts for message in stripped.messages]
    assert message_parts == [(SIGNED, CALL), (CALL,), (UNSIGNED, TextPart("x"))]
    assert not stripped.reasoning
