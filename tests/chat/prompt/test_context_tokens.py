"""The estimate of a prompt's tokens."""

import pytest

from chat_app.prompt import length
from chat_app.values.events import ToolCall
from chat_app.values.model_call import (
    AssistantTurn,
    TextPart,
    ThinkingPart,
    Tool,
    ToolOutput,
    ToolResults,
    UserTurn,
)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], 0),
        ([""], 0),
        (["a"], 1),
        (["abcd"], 1),
        (["abcde"], 2),
        (["ab", "cd"], 1),
        (["日本語"], 1),
    ],
)
def test_the_estimate_is_a_token_for_four_characters(texts: list[str], expected: int) -> None:
    assert length.estimate_tokens(texts) == expected


def test_every_text_that_is_sent_is_counted() -> None:
    turns = (
        UserTurn("question"),
        AssistantTurn(
            (ThinkingPart("hmm", "sig", "c2Vj"), TextPart("I look."), ToolCall("a", "f", "{}"))
        ),
        ToolResults((ToolOutput("a", "f", "one"), ToolOutput("b", "g", "two"))),
    )
    tool = Tool("f", "does it", {"type": "object", "title": "é"})
    assert list(length.prompt_texts("be kind", [tool], turns)) == [
        *("be kind", "f", "does it", '{"type":"object","title":"é"}'),
        *("question", "hmm", "I look.", "f", "{}", "one", "two"),
    ]
