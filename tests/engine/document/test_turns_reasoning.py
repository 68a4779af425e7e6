"""What a document in turns has thought, in every form and in every kind of answer."""

from typing import Any

import pytest

from scenarios_app.engine.parts import ReasoningPart, TextPart, ToolCallPart
from tests.engine.turn_scripts import (
    answer_of,
    calls,
    reports,
    says,
)

SIGNED = {"text": "Hm.", "providerMetadata": {"anthropic": {"signature": "sig"}}}
HIDDEN = {"text": "", "providerMetadata": {"anthropic": {"redactedData": "xyz"}}}
THOUGHTS: list[tuple[dict[str, Any], list[ReasoningPart]]] = [
    (
        {"reasoning": [{"type": "reasoning", "text": "a"}, SIGNED]},
        [ReasoningPart("a"), ReasoningPart("Hm.", signature="sig")],
    ),
    ({"reasoning": [HIDDEN]}, [ReasoningPart("", redacted="xyz")]),
    ({"reasoningContent": "a"}, [ReasoningPart("a")]),
    ({"reasoningContent": SIGNED}, [ReasoningPart("Hm.", signature="sig")]),
    (
        {"reasoningContent": ["a", SIGNED, {"text": "b"}]},
        [ReasoningPart("a"), ReasoningPart("Hm.", signature="sig"), ReasoningPart("b")],
    ),
    (
        {"reasoning": [{"text": "a"}], "reasoningContent": "b"},
        [ReasoningPart("a"), ReasoningPart("b")],
    ),
    ({"reasoning": [{"text": ""}], "reasoningContent": ["", {"text": ""}]}, []),
    ({"reasoning": []}, []),
    (
        {"reasoningContent": {"text": "a", "providerMetadata": {"anthropic": {"signature": 1}}}},
        [ReasoningPart("a")],
    ),
    (
        {"reasoningContent": {"text": "a", "providerMetadata": {"anthropic": "x", "z": [1]}}},
        [ReasoningPart("a")],
    ),
]


@pytest.mark.parametrize(("given", "blocks"), THOUGHTS)
@pytest.mark.parametrize("own_text", [None, "Now."])
def test_reasoning_comes_first_in_every_form_that_it_is_written_in(
    given: dict[str, Any], blocks: list[ReasoningPart], own_text: str | None
) -> None:
    call = {"toolName": "f", "assistantText": own_text}
    parts = answer_of(calls(call, assistantText="Text.", **given)).choices[0].parts
    said = (TextPart(own_text),) if own_text else ()
    assert parts == (*blocks, TextPart("Text."), *said, ToolCallPart("call-1", "f", "{}"))


@pytest.mark.parametrize("response", [says("Text."), reports("Text.")])
def test_every_kind_of_answer_may_think(response: dict[str, Any]) -> None:
    parts = answer_of({**response, "reasoningContent": "Hm."}).choices[0].parts
    assert parts[0] == ReasoningPart("Hm.")
