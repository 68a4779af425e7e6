"""Parsing of Gemini requests in either spelling; invalid values are rejected with their path."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import Tool
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini.style import GeminiStyle
from tests.wire.gemini.gemini_cases import HELLO, MINIMAL_BODY, MODEL, parse

THINKING = "/v1beta/models/gemini-2.5-flash"

SCHEMA = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}
JSON_SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
CONFIG = {
    "temperature": 0.5,
    "topP": 0.9,
    "topK": 40,
    "maxOutputTokens": 100,
    "stopSequences": ["END", "###"],
    "candidateCount": 2,
    "responseMimeType": "application/json",
    "responseSchema": SCHEMA,
    "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 1024},
}
SNAKE_CONFIG = {
    "temperature": 0.5,
    "top_p": 0.9,
    "top_k": 40,
    "max_output_tokens": 100,
    "stop_sequences": ["END", "###"],
    "candidate_count": 2,
    "response_mime_type": "application/json",
    "response_schema": SCHEMA,
    "thinking_config": {"include_thoughts": True, "thinking_budget": 1024},
}
FUNCTION = {"name": "get_weather", "description": "Tells the weather.", "parameters": SCHEMA}


def body_with_config(**config: Any) -> dict[str, Any]:
    return {**MINIMAL_BODY, "generationConfig": config}


@pytest.mark.parametrize(
    ("key", "config"), [("generationConfig", CONFIG), ("generation_config", SNAKE_CONFIG)]
)
def test_generation_config_is_read_in_either_spelling(key: str, config: Any) -> None:
    request = parse({**MINIMAL_BODY, key: config})
    assert (request.temperature, request.top_p, request.max_tokens) == (0.5, 0.9, 100)
    assert (request.stop, request.n, request.reasoning) == (("END", "###"), 2, True)
    assert request.response_format == {
        "responseMimeType": "application/json",
        "responseSchema": SCHEMA,
    }


def test_numbers_may_be_strings_and_integers_may_be_floats() -> None:
    config = {
        "temperature": "0.5",
        "topP": "9e-1",
        "maxOutputTokens": "100",
        "candidateCount": 2.0,
        "seed": "-7",
        "topK": "40",
        "thinkingConfig": {"thinkingBudget": "1e1"},
    }
    request = parse({**MINIMAL_BODY, "generationConfig": config}, f"{THINKING}:generateContent")
    assert (request.temperature, request.top_p, request.max_tokens) == (0.5, 0.9, 100)
    assert (request.n, request.thought_tokens) == (2, 10)


def test_json_schema_of_parameters_may_be_true() -> None:
    declared = {"name": "f", "parametersJsonSchema": True}
    (tool,) = parse({**MINIMAL_BODY, "tools": [{"functionDeclarations": [declared]}]}).tools
    assert tool.schema is True


def test_minimal_request_has_the_defaults() -> None:
    request = parse(MINIMAL_BODY)
    assert (request.provider, request.model, request.n) == ("gemini", "gemini-x", 1)
    assert (request.path, request.route) == (
        f"{MODEL}:generateContent",
        "/v1beta/models/{model}:generateContent",
    )
    assert (request.stream, request.reasoning, request.response_format) == (False, False, None)
    assert (request.temperature, request.top_p, request.max_tokens) == (None, None, None)
    assert (request.tools, request.tool_choice, request.stop) == ((), None, ())
    assert (request.metadata, request.own) == ({}, GeminiStyle())
    assert (request.thought_tokens, request.cached_tokens) == (0, 0)
    assert request.headers["x-goog-api-key"] == "key-1"


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("/v1beta/models/gemini-2.5-flash", "gemini-2.5-flash"),
        ("/v1/models/gemini-2.5-flash", "gemini-2.5-flash"),
        ("/v1beta/tunedModels/mine-1", "tunedModels/mine-1"),
        ("/v1/tunedModels/mine-1", "tunedModels/mine-1"),
        ("/v1beta/models/test-llm/x", "test-llm/x"),
        ("/v1beta/models/test-llm%2Fx%20y", "test-llm/x y"),
    ],
)
@pytest.mark.parametrize("verb", ["generateContent", "streamGenerateContent"])
@pytest.mark.parametrize("colon", [":", "%3A", "%3a"])
def test_model_is_read_from_the_path(path: str, model: str, verb: str, colon: str) -> None:
    request = parse(MINIMAL_BODY, f"{path}{colon}{verb}")
    assert request.model == model
    assert request.route == "/v1beta/models/{model}:generateContent"
    assert request.stream == (verb == "streamGenerateContent")


@pytest.mark.parametrize(
    ("thinking", "reasoning"),
    [
        ({}, False),
        ({"includeThoughts": False}, False),
        ({"includeThoughts": True}, True),
        ({"includeThoughts": True, "thinkingBudget": 0}, False),
        ({"thinkingBudget": -1}, True),
        ({"thinkingBudget": 128}, True),
        ({"thinkingLevel": "low"}, True),
        ({"thinking_level": "HIGH", "include_thoughts": False}, True),
    ],
)
def test_thinking_config_switches_reasoning(thinking: Any, reasoning: bool) -> None:
    assert parse(body_with_config(thinkingConfig=thinking)).reasoning is reasoning


@pytest.mark.parametrize("declared", ["functionDeclarations", "function_declarations"])
def test_tools_are_functions_and_googles_hosted_tools(declared: str) -> None:
    minimal_function = {"name": "now"}
    json_schema_function = {"name": "then", "parametersJsonSchema": {"type": "object"}}
    tools = [
        {declared: [FUNCTION, minimal_function]},
        {declared: json_schema_function},
        {"googleSearch": {}},
    ]
    assert parse({**MINIMAL_BODY, "tools": tools}).tools == (
        Tool("get_weather", "Tells the weather.", JSON_SCHEMA),
        Tool("now"),
        Tool("then", "", {"type": "object"}),
        Tool("google_search", kind="hosted"),
    )


def test_null_tool_is_ignored() -> None:
    tools = {"functionDeclarations": [FUNCTION], "codeExecution": None}
    assert [tool.name for tool in parse({**MINIMAL_BODY, "tools": tools}).tools] == ["get_weather"]


def test_tool_config_labels_and_cached_content_are_read() -> None:
    config = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}
    request = parse(
        {
            **MINIMAL_BODY,
            "toolConfig": config,
            "labels": {"team": "qa"},
            "safetySettings": [{"category": "X", "threshold": "Y"}],
            "cachedContent": "cachedContents/1",
            "somethingNew": 1,
        }
    )
    assert request.tool_choice == config
    assert request.metadata == {"team": "qa"}
    assert request.cached_tokens > 0


@pytest.mark.parametrize("body", [{}, {"contents": None}, {"contents": []}])
def test_missing_contents_are_rejected(body: Any) -> None:
    with pytest.raises(WireError) as raised:
        parse(body)
    assert (raised.value.answer.status, raised.value.answer.param) == (400, "contents")


@pytest.mark.parametrize(
    ("path", "invalid_fields"),
    [
        ("contents", {"contents": "Hello"}),
        ("contents[0]", {"contents": ["Hello"]}),
        ("contents[0].role", {"contents": [{**HELLO, "role": 1}]}),
        ("contents[0].role", {"contents": [{**HELLO, "role": "assistant"}]}),
        ("contents[0].role", {"contents": [{**HELLO, "role": "system"}]}),
        ("contents[0].parts", {"contents": [{"parts": "Hello"}]}),
        ("contents[0].parts[0]", {"contents": [{"parts": ["Hello"]}]}),
        ("systemInstruction", {"systemInstruction": "Be brief."}),
        ("system_instruction.parts[0].text", {"system_instruction": {"parts": [{"text": 1}]}}),
        ("tools", {"tools": "f"}),
        ("tools[0]", {"tools": ["f"]}),
        ("tools[0].functionDeclarations[0].name", {"tools": [{"functionDeclarations": [{}]}]}),
        (
            "tools[0].functionDeclarations[0].parameters",
            {"tools": [{"functionDeclarations": [{"name": "f", "parameters": 1}]}]},
        ),
        ("toolConfig", {"toolConfig": "ANY"}),
        ("generationConfig", {"generationConfig": 1}),
        ("generationConfig.temperature", body_with_config(temperature="hot")),
        ("generation_config.top_p", {"generation_config": {"top_p": []}}),
        ("generationConfig.topK", body_with_config(topK="x")),
        ("generationConfig.topK", body_with_config(topK="9" * 5_000)),
        ("generationConfig.seed", body_with_config(seed=True)),
        ("generationConfig.maxOutputTokens", body_with_config(maxOutputTokens=1.5)),
        ("generationConfig.stopSequences", body_with_config(stopSequences="END")),
        ("generationConfig.stopSequences[1]", body_with_config(stopSequences=["END", 1])),
        ("generationConfig.candidateCount", body_with_config(candidateCount="two")),
        ("generationConfig.candidateCount", body_with_config(candidateCount=0)),
        ("generationConfig.candidateCount", body_with_config(candidateCount=9)),
        ("generationConfig.thinkingConfig", body_with_config(thinkingConfig=True)),
        (
            "generationConfig.thinkingConfig.thinkingBudget",
            body_with_config(thinkingConfig={"thinkingBudget": "1.5"}),
        ),
        (
            "generationConfig.thinkingConfig.thinkingLevel",
            body_with_config(thinkingConfig={"thinkingLevel": 1}),
        ),
        (
            "generationConfig.thinkingConfig.includeThoughts",
            body_with_config(thinkingConfig={"includeThoughts": 1}),
        ),
        ("generationConfig.responseMimeType", body_with_config(responseMimeType=1)),
        ("generationConfig.responseSchema", body_with_config(responseSchema="x")),
        ("generationConfig.seed", body_with_config(seed="x")),
        ("labels", {"labels": []}),
        ("labels.team", {"labels": {"team": 1}}),
        ("safetySettings", {"safetySettings": "none"}),
        ("safetySettings[0]", {"safetySettings": ["none"]}),
        ("cachedContent", {"cachedContent": {}}),
    ],
)
def test_invalid_value_is_rejected_with_its_path(path: str, invalid_fields: dict[str, Any]) -> None:
    assert_rejected({**MINIMAL_BODY, **invalid_fields}, path)


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("", {}),
        ("", {"thought": True}),
        (".text", {"text": 1}),
        (".thought", {"text": "x", "thought": "yes"}),
        (".thoughtSignature", {"text": "x", "thought": True, "thoughtSignature": 1}),
        (".functionCall", {"functionCall": "f"}),
        (".functionCall.name", {"functionCall": {"args": {}}}),
        (".functionCall.name", {"functionCall": {"name": 1}}),
        (".functionCall.id", {"functionCall": {"name": "f", "id": 1}}),
        (".function_call.args", {"function_call": {"name": "f", "args": "{}"}}),
        (".functionResponse.name", {"functionResponse": {"response": {}}}),
        (".functionResponse.response", {"functionResponse": {"name": "f", "response": "x"}}),
    ],
)
@pytest.mark.parametrize("role", ["user", "model"])
def test_invalid_part_is_rejected_with_its_path(role: str, path: str, part: Any) -> None:
    assert_rejected({"contents": [{"role": role, "parts": [part]}]}, f"contents[0].parts[0]{path}")


def assert_rejected(body: Any, path: str) -> None:
    with pytest.raises(WireError) as raised:
        parse(body)
    error = raised.value.answer
    assert (error.status, error.param, error.code) == (400, path, None)
    assert path in error.message
