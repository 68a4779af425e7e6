"""Reasoning in turn scripts, in each form and for each kind of response."""

from typing import Any

import pytest

from scenarios_app.engine.parts import ReasoningPart, TextPart, ToolCallPart
from tests.engine.turn_scripts import (
    compile_answer,
    final_report_response,
    text_response,
    tool_call_response,
)

SIGNED = {"text": "Hm.", "providerMetadata": {"anthropic": {"signature": "sig"}}}
REDACTED = {"text": "", "providerMetadata": {"anthropic": {"redactedData": "xyz"}}}
REASONING_FORMS: list[tuple[dict[str, Any], list[ReasoningPart]]] = [
    (
        {"reasoning": [{"type": "reasoning", "text": "a"}, SIGNED]},
        [ReasoningPart("a"), ReasoningPart("Hm.", signature="sig")],
    ),
    ({"reasoning": [REDACTED]}, [ReasoningPart("", redacted="xyz")]),
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


@pytest.mark.parametrize(("reasoning_fields", "blocks"), REASONING_FORMS)
@pytest.mark.parametrize("call_text", [None, "Now."])
def test_reasoning_in_any_form_comes_before_text_and_calls(
    reasoning_fields: dict[str, Any], blocks: list[ReasoningPart], call_text: str | None
) -> None:
    call = {"toolName": "f", "assistantText": call_text}
    parts = (
        compile_answer(tool_call_response(call, assistantText="Text.", **reasoning_fields))
        .choices[0]
        .parts
    )
    call_text_parts = (TextPart(call_text),) if call_text else ()
    assert parts == (
        *blocks,
        TextPart("Text."),
        *call_text_parts,
        ToolCallPart("call-1", "f", "{}"),
    )


@pytest.mark.parametrize("response", [text_response("Text."), final_report_response("Text.")])
def test_every_kind_of_response_may_have_reasoning(response: dict[str, Any]) -> None:
    parts = compile_answer({**response, "reasoningContent": "Hm."}).choices[0].parts
    assert parts[0] == ReasoningPart("Hm.")
