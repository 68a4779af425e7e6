"""Every method of the builder sets its key of the document."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scenarios_app.builder import (
    ScenarioBuilder,
    anthropic,
    any_provider,
    gemini,
    ollama,
    openai,
    provider,
    scenario,
)
from scenarios_app.engine.document import dump, load_documents


def step(builder: ScenarioBuilder) -> Any:
    document: Any = builder.build()
    (only_step,) = document["steps"]
    return only_step


BuilderCall: TypeAlias = Callable[[ScenarioBuilder], ScenarioBuilder]
S = scenario("s")
EXPECTATIONS: list[tuple[BuilderCall, dict[str, Any]]] = [
    (lambda s: s.named("first"), {"name": "first"}),
    (lambda s: s.on_turn(2), {"turn": 2}),
    (lambda s: s.once(), {}),
    (lambda s: s.always(), {"consume": False}),
    (lambda s: s.expect(anthropic()), {"match": {"provider": "anthropic"}}),
    (lambda s: s.expect(provider("gemini")), {"match": {"provider": "gemini"}}),
    (
        lambda s: s.expect(gemini(path="/v1beta/models/{model}:countTokens")),
        {"match": {"provider": "gemini", "path": "/v1beta/models/{model}:countTokens"}},
    ),
    (
        lambda s: s.expect(ollama(path="/api/generate")),
        {"match": {"provider": "ollama", "path": "/api/generate"}},
    ),
    (
        lambda s: s.expect(openai(path="/v1/embeddings"), anthropic()),
        {"match": {"provider": ["openai", "anthropic"], "path": "/v1/embeddings"}},
    ),
    (lambda s: s.expect(any_provider()), {}),
    (
        lambda s: s.expect(any_provider(path="/v1/a"), any_provider(path="/v1/b")),
        {"match": {"path": ["/v1/a", "/v1/b"]}},
    ),
    (lambda s: s.with_model("a", "b"), {"match": {"model": ["a", "b"]}}),
    (
        lambda s: s.with_model("a", regex="^gpt-", ignore_case=True),
        {"match": {"model": ["a", {"regex": "^gpt-", "ignore_case": True}]}},
    ),
    (lambda s: s.with_stream(), {"match": {"stream": True}}),
    (
        lambda s: s.with_recorded({"model": "m"}),
        {"match": {"recorded": {"body": {"model": "m"}}}},
    ),
    (
        lambda s: s.with_recorded("x", method="GET", exact=["ids"]),
        {"match": {"recorded": {"body": "x", "method": "GET", "exact": ["ids"]}}},
    ),
    (lambda s: s.with_stream(False), {"match": {"stream": False}}),
    (
        lambda s: s.with_messages("hi").with_messages(role="tool", which="any", startswith="a"),
        {"match": {"messages": ["hi", {"role": "tool", "which": "any", "startswith": "a"}]}},
    ),
    (
        lambda s: s.with_system(contains="polite"),
        {"match": {"messages": [{"role": "system", "which": "any", "contains": "polite"}]}},
    ),
    (
        lambda s: s.with_system("Be polite."),
        {"match": {"messages": [{"role": "system", "which": "any", "equals": "Be polite."}]}},
    ),
    (lambda s: s.with_tools("f", "g"), {"match": {"tools": ["f", "g"]}}),
    (
        lambda s: s.with_tool_count(max=0).with_max_tokens(min=1, max=99),
        {"match": {"tool_count": {"max": 0}, "max_tokens": {"min": 1, "max": 99}}},
    ),
    (lambda s: s.with_response_format("json"), {"match": {"response_format": "json"}}),
    (
        lambda s: s.with_response_format(schema="Route"),
        {"match": {"response_format": {"schema": "Route"}}},
    ),
    (
        lambda s: s.with_tool_call("exec", "ls"),
        {"match": {"tool_calls": [{"name": "exec", "input": "ls"}]}},
    ),
    (
        lambda s: s.with_tool_call("f").with_tool_call("g", name="x", n=1),
        {
            "match": {
                "tool_calls": [{"name": "f"}, {"name": "g", "arguments": {"name": "x", "n": 1}}]
            }
        },
    ),
    (
        lambda s: s.with_tool_result().with_tool_result("f", is_error=True, contains="no"),
        {"match": {"tool_results": [{}, {"name": "f", "is_error": True, "contains": "no"}]}},
    ),
    (
        lambda s: s.with_header("x-team", "qa").with_header("x-run", regex="^[0-9]+$"),
        {"match": {"headers": {"x-team": "qa", "x-run": {"regex": "^[0-9]+$"}}}},
    ),
    (
        lambda s: s.with_metadata("user", "ann").with_metadata("team", contains="q"),
        {"match": {"metadata": {"user": "ann", "team": {"contains": "q"}}}},
    ),
    (
        lambda s: s.expecting(tools=["f"]).expecting(temperature=0.5, reasoning="disabled"),
        {"expect": {"tools": ["f"], "temperature": 0.5, "reasoning": "disabled"}},
    ),
    (lambda s: s.failing(), {"failures": {"times": 1}}),
    (
        lambda s: s.failing(2, "rate_limit", retry_after_ms=5),
        {"failures": {"times": 2, "fault": {"kind": "rate_limit", "retry_after_ms": 5}}},
    ),
]


@pytest.mark.parametrize(("call", "expected"), EXPECTATIONS)
def test_each_expectation_method_sets_its_document_key(
    call: BuilderCall, expected: dict[str, Any]
) -> None:
    assert step(call(S).respond_with_text("ok")) == {**expected, "produce": {"text": "ok"}}


ANSWERS: list[tuple[BuilderCall, dict[str, Any]]] = [
    (lambda s: s.respond_with_text(""), {"text": ""}),
    (lambda s: s.respond_with_refusal("no"), {"refusal": "no"}),
    (lambda s: s.respond_with_json({"a": 1}), {"json": {"a": 1}}),
    (
        lambda s: s.respond_with_text("So.", citations=[{"url": "u"}]),
        {"parts": [{"text": "So.", "citations": [{"url": "u"}]}]},
    ),
    (
        lambda s: s.respond_with_hosted_tool("web_search", {"query": "q"}, result=[]),
        {"parts": [{"hosted_tool": {"tool": "web_search", "input": {"query": "q"}, "result": []}}]},
    ),
    (
        lambda s: s.respond_with_hosted_tool("mcp", server="w", name="f", error="gone"),
        {"parts": [{"hosted_tool": {"tool": "mcp", "server": "w", "name": "f", "error": "gone"}}]},
    ),
    (
        lambda s: s.respond_with_text("Here:").respond_with_json([]),
        {"parts": [{"text": "Here:"}, {"json": []}]},
    ),
    (
        lambda s: s.respond_with_reasoning("so").respond_with_text("a"),
        {"reasoning": "so", "text": "a"},
    ),
    (
        lambda s: s.respond_with_reasoning("so", signature="s").respond_with_reasoning(
            redacted="x"
        ),
        {"reasoning": [{"text": "so", "signature": "s"}, {"text": "", "redacted": "x"}]},
    ),
    (lambda s: s.respond_with_tool_call("f"), {"tool_calls": [{"name": "f"}]}),
    (
        lambda s: s.respond_with_tool_call("f", id="c", name="x", city="Rome"),
        {"tool_calls": [{"id": "c", "name": "f", "arguments": {"name": "x", "city": "Rome"}}]},
    ),
    (
        lambda s: s.respond_with_tool_call("f", arguments="{broken"),
        {"tool_calls": [{"name": "f", "arguments": "{broken"}]},
    ),
    (
        lambda s: s.respond_with_tool_call("f", arguments=None),
        {"tool_calls": [{"name": "f", "arguments": None}]},
    ),
    (
        lambda s: s.respond_with_chunks("a", {"tool_call": {"name": "f"}}),
        {"chunks": ["a", {"tool_call": {"name": "f"}}]},
    ),
    (
        lambda s: s.respond_with_choices("a", {"refusal": "b"}),
        {"choices": [{"text": "a"}, {"refusal": "b"}]},
    ),
    (
        lambda s: s.respond_with_raw({"a": 1}, status=418, headers={"x-a": "b"}),
        {"raw": {"status": 418, "headers": {"x-a": "b"}, "body": {"a": 1}}},
    ),
    (
        lambda s: s.respond_with_tool_call("exec", "ls", "shell"),
        {"tool_calls": [{"name": "exec", "input": "ls", "namespace": "shell"}]},
    ),
    (
        lambda s: s.respond_with_tool_call("wait", None, "shell", ms=5),
        {"tool_calls": [{"name": "wait", "arguments": {"ms": 5}, "namespace": "shell"}]},
    ),
    (lambda s: s.respond_with_lorem(), {"generate": {"kind": "lorem"}}),
    (lambda s: s.respond_with_auto(), {"generate": {"kind": "auto"}}),
    (lambda s: s.respond_with_raw("teapot"), {"raw": {"body": "teapot"}}),
    (
        lambda s: s.respond_with_error(503, "down", code="c", retry_after_ms=5),
        {
            "fault": {
                **{"kind": "http", "status": 503, "message": "down", "code": "c"},
                "retry_after_ms": 5,
            }
        },
    ),
    (
        lambda s: s.respond_with_error(500, body={"detail": "down"}),
        {"fault": {"kind": "http", "status": 500, "body": {"detail": "down"}}},
    ),
    (
        lambda s: s.respond_with_fault("timeout", hold_ms=5),
        {"fault": {"kind": "timeout", "hold_ms": 5}},
    ),
    (
        lambda s: s.respond_with_text("a").respond_with_fault("disconnect", after_chunks=2),
        {"text": "a", "fault": {"kind": "disconnect", "after_chunks": 2}},
    ),
    (
        lambda s: s.respond_to_streams(text="a").respond_to_whole(raw={"body": "b"}),
        {"streaming": {"text": "a"}, "non_streaming": {"raw": {"body": "b"}}},
    ),
    (
        lambda s: s.respond_with_text("a").as_stream(words_per_second=5, first_ms=10, jitter=0.5),
        {"text": "a", "pacing": {"first_ms": 10, "words_per_second": 5.0, "jitter": 0.5}},
    ),
    (
        lambda s: s.respond_with_text("a").with_finish_reason("length"),
        {"text": "a", "finish_reason": "length"},
    ),
    (
        lambda s: s.respond_with_text("a").with_finish_reason("stop_sequence", stop_sequence="."),
        {"text": "a", "finish_reason": "stop_sequence", "stop_sequence": "."},
    ),
    (
        lambda s: s.respond_with_text("a").with_usage(1, 2, reasoning_tokens=1),
        {"text": "a", "usage": {"input_tokens": 1, "output_tokens": 2, "reasoning_tokens": 1}},
    ),
    (
        lambda s: (
            s.respond_with_text("a")
            .with_provider_metadata("openai", service_tier="flex")
            .with_provider_metadata("anthropic", container=None)
        ),
        {
            "text": "a",
            "provider_metadata": {
                "openai": {"service_tier": "flex"},
                "anthropic": {"container": None},
            },
        },
    ),
    (lambda s: s.respond_with_text("a").with_latency(5), {"text": "a", "latency_ms": 5}),
    (
        lambda s: s.respond_with_text("a").with_unoffered_tools(),
        {"text": "a", "unoffered": "allow"},
    ),
]


@pytest.mark.parametrize(("call", "expected"), ANSWERS)
def test_each_answer_method_sets_its_document_key(
    call: BuilderCall, expected: dict[str, Any]
) -> None:
    assert step(call(S)) == {"produce": expected}


STEPS = st.tuples(
    st.lists(st.sampled_from([call for call, _ in EXPECTATIONS]), min_size=1, max_size=4),
    st.sampled_from([call for call, _ in ANSWERS]),
)


@settings(deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=4))
def test_random_builder_calls_give_a_dumped_document(
    step_calls: list[tuple[list[BuilderCall], BuilderCall]],
) -> None:
    scenario_builder = S
    for expectation_calls, answer_call in step_calls:
        scenario_builder = scenario_builder.then()
        for call in expectation_calls:
            scenario_builder = call(scenario_builder)
        scenario_builder = answer_call(scenario_builder)
    document = scenario_builder.build()
    (loaded_scenario,) = load_documents(document)
    assert dump(loaded_scenario) == document
