"""Turn scripts of requirement 003 for tests: shipped examples, small documents and random ones."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from scenarios_app.engine.document import compile_scenario, dump, load_documents
from scenarios_app.engine.scenario import Scenario, ScriptedAnswer, Step
from tests.support.requirement_samples import TURN_SCRIPTS

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/scenarios/turns.json"


def shipped_scripts() -> list[dict[str, Any]]:
    """Return the turn scripts that are shipped with the product."""
    scenarios: list[dict[str, Any]] = json.loads(EXAMPLES.read_text())["scenarios"]
    return scenarios


COLLECTIONS = {**TURN_SCRIPTS, "shipped": shipped_scripts()}
"""Turn scripts by their origin."""

each_collection = pytest.mark.parametrize("documents", COLLECTIONS.values(), ids=COLLECTIONS)


def script(*turns: dict[str, Any], id: str = "script", **keys: Any) -> dict[str, Any]:
    return {"id": id, **keys, "turns": list(turns)}


def turn(response: dict[str, Any] | None = None, number: float = 1, **keys: Any) -> dict[str, Any]:
    return {"turn": number, **keys, "response": response or text_response("fine")}


def text_response(text: str, **keys: Any) -> dict[str, Any]:
    return {"kind": "text", "assistantText": text, **keys}


def tool_call_response(*tool_calls: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"kind": "tool-call", "toolCalls": list(tool_calls), **keys}


def final_report_response(content: str, **keys: Any) -> dict[str, Any]:
    return {"kind": "final-report", "reportContent": content, **keys}


def convert(document: dict[str, Any]) -> dict[str, Any]:
    """Convert a turn script to the scenario format."""
    (loaded_document,) = load_documents(document)
    return dump(loaded_document)


def convert_turn(response: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """Return the step in the scenario format that one turn is converted to."""
    step: dict[str, Any] = convert(script(turn(response, **keys)))["steps"][0]
    return step


def compile_script(document: dict[str, Any]) -> Scenario:
    (loaded_document,) = load_documents(document)
    return compile_scenario(loaded_document)


def compile_turn(response: dict[str, Any] | None = None, **keys: Any) -> Step:
    return compile_script(script(turn(response, **keys))).steps[0]


def compile_answer(response: dict[str, Any]) -> ScriptedAnswer:
    answer = compile_turn(response).produce.streaming
    assert isinstance(answer, ScriptedAnswer)
    return answer


TEXT = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["{{ city }}", "{{request.model}} {{", "{{ braces }}", "{{\nx }}", "{{{{ a.b }}}}", "<|x|>"]
)
NAME = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e9, 1e9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OPEN_OBJECT = st.dictionaries(NAME, JSON, max_size=3)
WHOLE_NUMBER = st.integers(0, 99_999)


def fixed_dict(needed: dict[str, Any], **optional: st.SearchStrategy[Any]) -> Any:
    return st.fixed_dictionaries(needed, optional=optional)


SEGMENT = fixed_dict(
    {"text": TEXT},
    type=st.just("reasoning"),
    providerMetadata=OPEN_OBJECT
    | fixed_dict(
        {}, anthropic=fixed_dict({}, signature=TEXT | WHOLE_NUMBER, redactedData=TEXT) | TEXT
    ),
)
RESPONSE_FIELDS = {
    "reasoning": st.lists(SEGMENT, max_size=2),
    "reasoningContent": TEXT | SEGMENT | st.lists(TEXT | SEGMENT, max_size=2),
    "finishReason": st.sampled_from(
        ["stop", "other", "content-filter", "refusal", "tool-calls", "max_tokens", "length", ""]
    ),
    "tokenUsage": fixed_dict(
        {},
        inputTokens=WHOLE_NUMBER,
        outputTokens=WHOLE_NUMBER,
        totalTokens=WHOLE_NUMBER,
        cachedTokens=WHOLE_NUMBER,
        cachedInputTokens=WHOLE_NUMBER,
        cacheReadInputTokens=WHOLE_NUMBER,
        cacheWriteInputTokens=WHOLE_NUMBER,
        reasoningTokens=WHOLE_NUMBER,
    ),
    "providerMetadata": OPEN_OBJECT,
}
RESPONSE = st.one_of(
    fixed_dict(
        {
            "kind": st.just("tool-call"),
            "toolCalls": st.lists(
                fixed_dict({"toolName": NAME}, callId=NAME, assistantText=TEXT, arguments=JSON),
                max_size=3,
            ),
        },
        assistantText=TEXT,
        **RESPONSE_FIELDS,
    ),
    fixed_dict(
        {"kind": st.just("final-report"), "reportContent": TEXT},
        assistantText=TEXT,
        reportFormat=TEXT,
        status=st.sampled_from(["success", "failure", "partial"]),
        reportContentJson=JSON,
        reportMessages=JSON,
        **RESPONSE_FIELDS,
    ),
    fixed_dict({"kind": st.just("text"), "assistantText": TEXT}, **RESPONSE_FIELDS),
)
THROWN_ERROR = st.one_of(
    OPEN_OBJECT.filter(lambda error: not {"status", "headers"} & error.keys()),
    fixed_dict(
        {},
        name=st.sampled_from(["NetworkError", "TimeoutError", "AuthError"]) | JSON,
        code=st.sampled_from(["ECONNRESET", "quota"]) | JSON,
        message=JSON,
        status=st.integers(400, 599) | st.none(),
        headers=st.dictionaries(
            st.sampled_from(["retry-after", "X-A"]), st.just("3") | WHOLE_NUMBER
        ),
        responseBody=JSON,
        stack=TEXT,
    ),
)
TURN = fixed_dict(
    {"response": RESPONSE},
    expectedTools=st.lists(NAME | st.just("agent__task_status"), max_size=2),
    allowMissingTools=st.booleans(),
    expectedTemperature=st.floats(0, 2) | st.integers(0, 2),
    expectedTopP=st.floats(0, 1),
    expectedReasoning=st.sampled_from(["enabled", "disabled"]),
    failuresBeforeSuccess=st.integers(0, 1_000),
    failureThrows=st.booleans(),
    failureStatus=st.sampled_from(
        ["timeout", "invalid_response", "network_error", "rate_limit", "model_error", "other"]
    ),
    failureMessage=TEXT,
    failureRetryable=st.booleans(),
    failureRetryAfterMs=WHOLE_NUMBER,
    failureError=THROWN_ERROR,
)
SCRIPTS = st.builds(
    lambda id, more, turns: {
        "id": id,
        **more,
        "turns": [{"turn": number, **t} for number, t in enumerate(turns, 1)],
    },
    NAME,
    fixed_dict({}, description=TEXT, systemPromptMustInclude=st.lists(TEXT, max_size=2)),
    st.lists(TURN, max_size=3),
)
"""Valid turn scripts."""
