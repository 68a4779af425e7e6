"""Scenario documents made from recorded runs."""

import json
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_app.models import Message
from scenarios_app.engine.document import compile_scenario, load_documents
from scenarios_app.engine.producing.placeholders import fill_placeholders
from tests.serving.pipelines import Harness, chat
from tests.serving.reading import events_of
from traces_app.models import ModelCall, Trace
from traces_app.to_scenario import CannotReplay, RecordedRun, scenario_document

CALL = {"tool_call": {"id": "call_1", "name": "add", "arguments": '{"a":1,"b":2}'}}


def call_of(parts: list[Any], finish_reason: str = "", **others: Any) -> ModelCall:
    return ModelCall(parts=parts, finish_reason=finish_reason, **others)


HELLO = call_of([{"text": "Hi!"}], "stop", input_tokens=9, output_tokens=2)


def document_of(*runs: RecordedRun) -> dict[str, Any]:
    """Build the scenario document of runs and assert that it can be loaded."""
    document = scenario_document("trace", UUID(int=1), runs)
    for loaded_document in load_documents(json.loads(json.dumps(document))):
        compile_scenario(loaded_document)
    return document


def run_of(*calls: ModelCall, text: str = "hello", **others: Any) -> RecordedRun:
    message = Message(content=text)
    return RecordedRun(Trace(**{"user_message": message, "status": "completed", **others}), calls)


def test_a_run_of_one_call_is_one_step() -> None:
    document = document_of(run_of(HELLO))
    assert document["steps"] == [
        {
            "turn": 1,
            "match": {"messages": [{"role": "user", "which": "last", "equals": "hello"}]},
            "produce": {
                "parts": [{"text": "Hi!"}],
                "finish_reason": "stop",
                "usage": {"input_tokens": 9, "output_tokens": 2},
            },
            "consume": False,
        }
    ]


def test_each_call_of_a_run_is_a_turn() -> None:
    document = document_of(run_of(call_of([{"text": "Let me see."}, CALL], "tool_calls"), HELLO))
    assert [step["turn"] for step in document["steps"]] == [1, 2]
    assert document["steps"][0]["produce"]["parts"][1] == {
        "tool_call": {"id": "call_1", "name": "add", "arguments": {"a": 1, "b": 2}}
    }


def test_turns_are_numbered_through_a_conversation() -> None:
    first = run_of(call_of([CALL], "tool_calls"), HELLO)
    document = document_of(first, run_of(HELLO, text="and now?"))
    assert [step["turn"] for step in document["steps"]] == [1, 2, 3]
    assert not any(step["consume"] for step in document["steps"])


@pytest.mark.parametrize("arguments", ['{"a": 1}', "not json", "", "[1]", '{"a":1,"a":2}'])
def test_arguments_in_other_notation_are_kept_as_text(arguments: str) -> None:
    call = {"tool_call": {"id": "c", "name": "add", "arguments": arguments}}
    document = document_of(run_of(call_of([call]), HELLO))
    assert document["steps"][0]["produce"]["parts"][0]["tool_call"]["arguments"] == arguments


def test_thinking_keeps_signature_and_redaction() -> None:
    parts = [{"thinking": "Hm.", "signature": "sig"}, {"redacted": "xyz"}, {"text": "Yes."}]
    document = document_of(run_of(call_of(parts)))
    assert document["steps"][0]["produce"]["parts"] == [
        {"reasoning": "Hm.", "signature": "sig"},
        {"reasoning": "xyz", "redacted": True},
        {"text": "Yes."},
    ]


@pytest.mark.parametrize("status", ["running", "cancelled"])
def test_running_or_cancelled_run_is_refused(status: str) -> None:
    with pytest.raises(CannotReplay, match=r"^The run (is still going on|was cancelled)"):
        document_of(run_of(HELLO, status=status))


def test_the_refusal_names_the_run_of_a_conversation() -> None:
    with pytest.raises(CannotReplay, match=r"^Run 2 was cancelled"):
        document_of(run_of(HELLO), run_of(HELLO, status="cancelled"))


def test_run_without_model_calls_is_refused() -> None:
    with pytest.raises(CannotReplay, match="before its first model call"):
        document_of(run_of(status="failed", code="UNAUTHORIZED", error="Invalid API key"))


def test_interrupted_run_is_refused() -> None:
    interrupted = {"status": "failed", "code": "SERVICE_UNAVAILABLE", "error": "interrupted"}
    with pytest.raises(CannotReplay, match="not the model's: interrupted"):
        document_of(run_of(HELLO, **interrupted))


def test_export_without_runs_is_refused() -> None:
    with pytest.raises(CannotReplay, match="nothing"):
        document_of()


@pytest.mark.parametrize(
    ("code", "error", "fault"),
    [
        ("UNAUTHORIZED", "Invalid API key", {"kind": "http", "status": 401}),
        ("RATE_LIMITED", "Rate limited, try again", {"kind": "rate_limit"}),
        ("NETWORK_ERROR", "Connection failed", {"kind": "network_error"}),
        ("SERVICE_UNAVAILABLE", "Failed to parse response", {"kind": "invalid_response"}),
        ("SERVICE_UNAVAILABLE", "overloaded", {"kind": "http", "status": 500}),
    ],
)
def test_failure_before_any_text_becomes_a_fault(
    code: str, error: str, fault: dict[str, Any]
) -> None:
    failed_run = run_of(call_of([], code=code), status="failed", code=code, error=error)
    produce = document_of(failed_run)["steps"][0]["produce"]
    assert produce["fault"].items() >= fault.items()


@pytest.mark.parametrize(
    ("code", "error", "kind"),
    [
        ("NETWORK_ERROR", "Connection failed", "disconnect"),
        ("SERVICE_UNAVAILABLE", "Failed to parse response", "truncate"),
        ("SERVICE_UNAVAILABLE", "overloaded", "error_event"),
    ],
)
def test_failure_after_text_becomes_a_fault_after_chunks(code: str, error: str, kind: str) -> None:
    parts = [{"thinking": "Hm."}, {"text": "It is"}]
    failed_run = run_of(call_of(parts, code=code), status="failed", code=code, error=error)
    produce = document_of(failed_run)["steps"][0]["produce"]
    assert produce["chunks"] == [{"reasoning": "Hm."}, {"text": "It is"}]
    assert (produce["fault"]["kind"], produce["fault"]["after_chunks"]) == (kind, 2)


def test_a_failure_and_its_retry_come_in_order() -> None:
    limited = {"code": "RATE_LIMITED", "error": "Rate limited, try again"}
    failed_run = run_of(call_of([], code=limited["code"]), status="failed", **limited)
    steps = document_of(failed_run, run_of(HELLO))["steps"]
    assert [step["turn"] for step in steps] == [1, 1]
    assert all(step["consume"] for step in steps)


@given(
    st.lists(st.sampled_from(["{{", "}}", " ", "city", "a.b", "{", "7*7", "\n", "é"])).map("".join)
)
def test_braces_in_an_answer_are_literal(text: str) -> None:
    document = document_of(run_of(call_of([{"text": text}])))
    scripted_text = document["steps"][0]["produce"]["parts"][0]["text"]
    assert fill_placeholders(scripted_text, document.get("variables", {})) == text


BRACES = ["add", "{{ city }}", "{{ request.model }}{{braces}}", "a {{ b", "{{{{ c }}", "7}}"]


@pytest.mark.parametrize("braces", BRACES)
@pytest.mark.parametrize("template", ['{{"{0}":["{0}"]}}', "{0}", '{{"a": "{0}"}}'])
async def test_braces_in_a_call_are_literal(braces: str, template: str) -> None:
    arguments = template.format(braces)
    call = {"id": f"call_{braces}", "name": f"tool {braces}", "arguments": arguments}
    thinking = {"thinking": f"Hm, {braces}."}
    harness = Harness(document_of(run_of(call_of([thinking, {"tool_call": call}]))))
    status, _, body = await harness.ask(chat("hello"))
    assert status == 200
    message = json.loads(body)["choices"][0]["message"]
    assert message["reasoning"] == f"Hm, {braces}."
    (tool_call,) = message["tool_calls"]
    assert tool_call["id"] == call["id"]
    assert tool_call["function"] == {"name": call["name"], "arguments": arguments}


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("SERVICE_UNAVAILABLE", []),
        ("SERVICE_UNAVAILABLE", [{"text": "It is"}]),
        ("UNAUTHORIZED", []),
    ],
)
@pytest.mark.parametrize("braces", BRACES)
async def test_braces_in_an_error_are_literal(braces: str, code: str, parts: list[Any]) -> None:
    failure = {"code": code, "error": f"overloaded: {braces}"}
    failed_run = run_of(call_of(parts, code=code), status="failed", **failure)
    _, _, body = await Harness(document_of(failed_run)).ask(chat("hello", stream=bool(parts)))
    error_body = events_of(body)[-1] if parts else body
    assert json.loads(error_body)["error"]["message"] == failure["error"]
