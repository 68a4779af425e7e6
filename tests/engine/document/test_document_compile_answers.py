"""Compilation of scripted answers."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import ScriptedUsage
from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.parts import (
    Chunk,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.engine.scenario import (
    Failures,
    Fault,
    Pacing,
    Produce,
    RawAnswer,
    ScriptedAnswer,
    ScriptedChoice,
    Step,
)
from tests.engine.documents import one_step_scenario


def compile_step(**keys: Any) -> Step:
    (document,) = load_documents(one_step_scenario(**keys))
    return compile_scenario(document).steps[0]


def compile_answer(**produce: Any) -> ScriptedAnswer:
    scripted = compile_step(produce=produce).produce.streaming
    assert isinstance(scripted, ScriptedAnswer)
    return scripted


def compile_choice(**produce: Any) -> ScriptedChoice:
    (choice,) = compile_answer(**produce).choices
    return choice


def test_failure_without_a_fault_is_a_model_error() -> None:
    assert compile_step(failures={"times": 3}).failures == Failures(3, Fault("model_error"))


def test_fault_with_all_its_keys_is_compiled() -> None:
    fault = compile_step(
        produce={
            "fault": {
                "kind": "http",
                "status": 503,
                "message": "down",
                "type": "t",
                "code": "c",
                "param": "p",
                "headers": {"X-A": "b"},
                "retry_after_ms": 5,
                "retryable": False,
            }
        }
    ).produce
    assert fault == Produce(
        fault=Fault(
            "http",
            status=503,
            message="down",
            type="t",
            code="c",
            param="p",
            headers=(("x-a", "b"),),
            retry_after_ms=5,
            retryable=False,
        )
    )


def test_fault_inside_an_answer_is_compiled_with_the_answer() -> None:
    produce = compile_step(produce={"text": "a", "fault": {"kind": "stall", "hold_ms": 5}}).produce
    assert produce.fault == Fault("stall", hold_ms=5)
    assert produce.streaming == ScriptedAnswer((ScriptedChoice((TextPart("a"),)),))


def test_reasoning_text_calls_and_refusal_come_in_that_order() -> None:
    choice = compile_choice(
        refusal="no",
        tool_calls=[{"name": "f"}, {"name": "g", "arguments": [1, {"b": 2.5}]}],
        text="a",
        reasoning=[{"text": "b"}, {"redacted": "x"}, {"text": "y", "redacted": True}],
    )
    assert choice.parts == (
        ReasoningPart("b"),
        ReasoningPart("", redacted="x"),
        ReasoningPart("", redacted="y"),
        TextPart("a"),
        ToolCallPart("", "f", "{}"),
        ToolCallPart("", "g", '[1,{"b":2.5}]'),
        RefusalPart("no"),
    )


def test_parts_come_in_their_own_order() -> None:
    choice = compile_choice(
        parts=[
            {"text": "a"},
            {"tool_call": {"id": "c", "name": "f", "arguments": "{broken"}},
            {"refusal": "no"},
            {"reasoning": "b", "signature": "s", "redacted": False},
            {"redacted": "x"},
            {"text": "c"},
        ]
    )
    assert choice.parts == (
        TextPart("a"),
        ToolCallPart("c", "f", "{broken"),
        RefusalPart("no"),
        ReasoningPart("b", "s"),
        ReasoningPart("", redacted="x"),
        TextPart("c"),
    )


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"b": 1, "a": {"ü": None}}, '{"b":1,"a":{"ü":null}}'),
        ("", ""),
        ("{broken", "{broken"),
        (5, "5"),
        (False, "false"),
        (None, "null"),
        ([], "[]"),
    ],
)
def test_arguments_are_compact_json_and_text_is_sent_as_it_is(arguments: Any, text: str) -> None:
    choice = compile_choice(tool_calls=[{"name": "f", "arguments": arguments}])
    assert choice.parts == (ToolCallPart("", "f", text),)


def test_finish_usage_and_metadata_of_an_answer_are_compiled() -> None:
    scripted = compile_answer(
        text="a",
        finish_reason="stop_sequence",
        stop_sequence="END",
        usage={"reasoning_tokens": 1, "cached_tokens": 2},
        provider_metadata={"openai": {"service_tier": "flex"}},
    )
    assert scripted == ScriptedAnswer(
        choices=(ScriptedChoice((TextPart("a"),), None, "stop_sequence", "END"),),
        usage=ScriptedUsage(reasoning_tokens=1, cached_tokens=2),
        provider_metadata={"openai": {"service_tier": "flex"}},
    )


def test_each_choice_has_its_own_answer() -> None:
    scripted = compile_answer(choices=[{"text": "a", "finish_reason": "length"}, {"refusal": "b"}])
    assert scripted == ScriptedAnswer(
        choices=(
            ScriptedChoice((TextPart("a"),), finish_reason="length"),
            ScriptedChoice((RefusalPart("b"),)),
        ),
        per_choice=True,
    )


def test_pacing_and_latency_are_compiled() -> None:
    pacing = {
        "first_ms": 1,
        "chunk_ms": 2,
        "words_per_chunk": 3,
        "jitter": 0.5,
    }
    produce = compile_step(produce={"text": "a", "latency_ms": 9, "pacing": pacing}).produce
    assert (produce.latency_ms, produce.pacing) == (9, Pacing(1, 0, 2, 3, 0.5))


@pytest.mark.parametrize(
    ("body", "encoded_body"),
    [(None, b""), ("", b""), ("ü", "ü".encode()), ({"a": [1]}, b'{"a":[1]}'), (0, b"0")],
)
def test_raw_body_is_unchanged_text_or_encoded_json(body: Any, encoded_body: bytes) -> None:
    produce = compile_step(
        produce={"raw": {"status": 418, "headers": {"X-A": "b"}, "body": body}}
    ).produce
    assert produce.streaming == RawAnswer(418, (("x-a", "b"),), encoded_body)


def test_raw_answer_without_a_body_may_have_a_status_that_forbids_one() -> None:
    assert compile_step(produce={"raw": {"status": 204}}).produce.streaming == RawAnswer(204)
    assert compile_step(
        produce={"raw": {"status": 304, "body": ""}}
    ).produce.streaming == RawAnswer(304)


ANSWER_A = ScriptedAnswer((ScriptedChoice((TextPart("a"),)),))
ANSWER_B = ScriptedAnswer((ScriptedChoice((TextPart("b"),)),))


@pytest.mark.parametrize(
    ("produce", "streaming", "non_streaming"),
    [
        ({"text": "a"}, ANSWER_A, ANSWER_A),
        ({"streaming": {"text": "a"}}, ANSWER_A, ANSWER_A),
        ({"non_streaming": {"text": "a"}}, ANSWER_A, ANSWER_A),
        ({"streaming": {"text": "a"}, "non_streaming": {"text": "b"}}, ANSWER_A, ANSWER_B),
        ({"fault": {"kind": "timeout"}}, None, None),
    ],
)
def test_mode_without_an_answer_uses_the_other_modes_answer(
    produce: dict[str, Any], streaming: Any, non_streaming: Any
) -> None:
    compiled_produce = compile_step(produce=produce).produce
    assert (compiled_produce.streaming, compiled_produce.non_streaming) == (
        streaming,
        non_streaming,
    )


CHUNKED_ANSWERS: list[tuple[list[Any], tuple[Any, ...], tuple[Chunk, ...]]] = [
    (["a", "b", ""], (TextPart("ab"),), (Chunk(0, "a"), Chunk(0, "b"), Chunk(0, ""))),
    (
        [{"reasoning": "a"}, {"reasoning": "b", "signature": "s"}, {"reasoning": "c"}, "d"],
        (ReasoningPart("ab", "s"), ReasoningPart("c"), TextPart("d")),
        (Chunk(0, "a"), Chunk(0, "b"), Chunk(1, "c"), Chunk(2, "d")),
    ),
    (
        [{"redacted": "x"}, {"reasoning": "a"}, {"redacted": "y"}],
        (ReasoningPart("", None, "x"), ReasoningPart("a"), ReasoningPart("", None, "y")),
        (Chunk(0, ""), Chunk(1, "a"), Chunk(2, "")),
    ),
    (
        [{"refusal": "a"}, {"refusal": "b"}, "c"],
        (RefusalPart("ab"), TextPart("c")),
        (Chunk(0, "a"), Chunk(0, "b"), Chunk(1, "c")),
    ),
    (
        [
            "a",
            {"tool_call": {"id": "c", "name": "f", "arguments": '{"x"'}},
            {"tool_call": {"index": 1, "name": "g"}},
            {"tool_call": {"index": 0, "arguments": ":1}"}},
            {"tool_call": {"index": 1, "arguments": "{}"}},
            "b",
        ],
        (
            TextPart("a"),
            ToolCallPart("c", "f", '{"x":1}'),
            ToolCallPart("", "g", "{}"),
            TextPart("b"),
        ),
        (
            Chunk(0, "a"),
            Chunk(1, '{"x"'),
            Chunk(2, ""),
            Chunk(1, ":1}"),
            Chunk(2, "{}"),
            Chunk(3, "b"),
        ),
    ),
    (
        [
            {"tool_call": {"name": "f"}},
            {"tool_call": {"name": "g", "arguments": {"a": 1}}},
            {"tool_call": {"name": "h", "arguments": ""}},
        ],
        (ToolCallPart("", "f", "{}"), ToolCallPart("", "g", '{"a":1}'), ToolCallPart("", "h", "")),
        (Chunk(1, '{"a":1}'), Chunk(2, "")),
    ),
]


@pytest.mark.parametrize(("chunks", "parts", "deltas"), CHUNKED_ANSWERS)
def test_chunks_are_joined_to_the_whole_answer(
    chunks: list[Any], parts: tuple[Any, ...], deltas: tuple[Chunk, ...]
) -> None:
    choice = compile_choice(chunks=chunks, finish_reason="length")
    assert (choice.parts, choice.chunks, choice.finish_reason) == (parts, deltas, "length")
