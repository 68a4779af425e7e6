"""Requirement 003's documents for tests: written ones, small ones, and as many as one likes."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from scenarios_app.engine.document import compile_scenario, dump, load_documents
from scenarios_app.engine.scenario import Scenario, ScriptedAnswer, Step
from tests.support.requirement_samples import TURN_SCRIPTS

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/scenarios/turns.json"


def examples() -> list[dict[str, Any]]:
    """The documents that come with the product."""
    scenarios: list[dict[str, Any]] = json.loads(EXAMPLES.read_text())["scenarios"]
    return scenarios


COLLECTIONS = {**TURN_SCRIPTS, "shipped": examples()}
"""Every list of documents that anyone wrote, by where it comes from."""

each_collection = pytest.mark.parametrize("documents", COLLECTIONS.values(), ids=COLLECTIONS)


def script(*turns: dict[str, Any], id: str = "script", **keys: Any) -> dict[str, Any]:
    return {"id": id, **keys, "turns": list(turns)}


def turn(response: dict[str, Any] | None = None, number: float = 1, **keys: Any) -> dict[str, Any]:
    return {"turn": number, **keys, "response": response or says("fine")}


def says(text: str, **keys: Any) -> dict[str, Any]:
    return {"kind": "text", "assistantText": text, **keys}


def calls(*given: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"kind": "tool-call", "toolCalls": list(given), **keys}


def reports(content: str, **keys: Any) -> dict[str, Any]:
    return {"kind": "final-report", "reportContent": content, **keys}


def written(document: dict[str, Any]) -> dict[str, Any]:
    """What a document in turns is in our own form."""
    (loaded,) = load_documents(document)
    return dump(loaded)


def step_of(response: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """The step that one turn becomes."""
    step: dict[str, Any] = written(script(turn(response, **keys)))["steps"][0]
    return step


def compiled(document: dict[str, Any]) -> Scenario:
    (loaded,) = load_documents(document)
    return compile_scenario(loaded)


def compiled_step(response: dict[str, Any] | None = None, **keys: Any) -> Step:
    return compiled(script(turn(response, **keys))).steps[0]


def answer_of(response: dict[str, Any]) -> ScriptedAnswer:
    answer = compiled_step(response).produce.streaming
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
OPEN = st.dictionaries(NAME, JSON, max_size=3)
WHOLE = st.integers(0, 99_999)


def maybe(needed: dict[str, Any], **optional: st.SearchStrategy[Any]) -> Any:
    return st.fixed_dictionaries(needed, optional=optional)


SEGMENT = maybe(
    {"text": TEXT},
    type=st.just("reasoning"),
    providerMetadata=OPEN
    | maybe({}, anthropic=maybe({}, signature=TEXT | WHOLE, redactedData=TEXT) | TEXT),
)
SHARED = {
    "reasoning": st.lists(SEGMENT, max_size=2),
    "reasoningContent": TEXT | SEGMENT | st.lists(TEXT | SEGMENT, max_size=2),
    "finishReason": st.sampled_from(
        ["stop", "other", "content-filter", "refusal", "tool-calls", "max_tokens", "length", ""]
    ),
    "tokenUsage": maybe(
        {},
        inputTokens=WHOLE,
        outputTokens=WHOLE,
        totalTokens=WHOLE,
        cachedTokens=WHOLE,
        cachedInputTokens=WHOLE,
        cacheReadInputTokens=WHOLE,
        cacheWriteInputTokens=WHOLE,
        reasoningTokens=WHOLE,
    ),
    "providerMetadata": OPEN,
}
RESPONSE = st.one_of(
    maybe(
        {
            "kind": st.just("tool-call"),
            "toolCalls": st.lists(
                maybe({"toolName": NAME}, callId=NAME, assistantText=TEXT, arguments=JSON),
                max_size=3,
            ),
        },
        assistantText=TEXT,
        **SHARED,
    ),
    maybe(
        {"kind": st.just("final-report"), "reportContent": TEXT},
        assistantText=TEXT,
        reportFormat=TEXT,
        status=st.sampled_from(["success", "failure", "partial"]),
        reportContentJson=JSON,
        reportMessages=JSON,
        **SHARED,
    ),
    maybe({"kind": st.just("text"), "assistantText": TEXT}, **SHARED),
)
THROWN = st.one_of(
    OPEN.filter(lambda error: not {"status", "headers"} & error.keys()),
    maybe(
        {},
        name=st.sampled_from(["NetworkError", "TimeoutError", "AuthError"]) | JSON,
        code=st.sampled_from(["ECONNRESET", "quota"]) | JSON,
        message=JSON,
        status=st.integers(400, 599) | st.none(),
        headers=st.dictionaries(st.sampled_from(["retry-after", "X-A"]), st.just("3") | WHOLE),
        responseBody=JSON,
        stack=TEXT,
    ),
)
TURN = maybe(
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
    failureRetryAfterMs=WHOLE,
    failureError=THROWN,
)
SCRIPTS = st.builds(
    lambda id, more, turns: {
        "id": id,
        **more,
        "turns": [{"turn": number, **t} for number, t in enumerate(turns, 1)],
    },
    NAME,
    maybe({}, description=TEXT, systemPromptMustInclude=st.lists(TEXT, max_size=2)),
    st.lists(TURN, max_size=3),
)
"""Documents of the requirement's kind that load."""
