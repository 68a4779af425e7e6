"""Gemini requests as canonical ones, in either spelling; and what is refused, with its place."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import Tool
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.gemini.style import GeminiStyle
from tests.wire.gemini.gemini_cases import HELLO, LEAST, MODEL, parse

THINKING = "/v1beta/models/gemini-2.5-flash"

SCHEMA = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}
MEANT = {"type": "object", "properties": {"city": {"type": "string"}}}
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


def configured(**config: Any) -> dict[str, Any]:
    return {**LEAST, "generationConfig": config}


@pytest.mark.parametrize(
    ("key", "config"), [("generationConfig", CONFIG), ("generation_config", SNAKE_CONFIG)]
)
def test_the_configuration(key: str, config: Any) -> None:
    request = parse({**LEAST, key: config})
    assert (request.temperature, request.top_p, request.max_tokens) == (0.5, 0.9, 100)
    assert (request.stop, request.n, request.reasoning) == (("END", "###"), 2, True)
    assert request.response_format == {
        "responseMimeType": "application/json",
        "responseSchema": SCHEMA,
    }


def test_numbers_may_be_texts_and_whole_ones_have_a_point() -> None:
    config = {
        "temperature": "0.5",
        "topP": "9e-1",
        "maxOutputTokens": "100",
        "candidateCount": 2.0,
        "seed": "-7",
        "topK": "40",
        "thinkingConfig": {"thinkingBudget": "1e1"},
    }
    request = parse({**LEAST, "generationConfig": config}, f"{THINKING}:generateContent")
    assert (request.temperature, request.top_p, request.max_tokens) == (0.5, 0.9, 100)
    assert (request.n, request.thought_tokens) == (2, 10)


def test_a_schema_in_json_may_be_true() -> None:
    declared = {"name": "f", "parametersJsonSchema": True}
    (tool,) = parse({**LEAST, "tools": [{"functionDeclarations": [declared]}]}).tools
    assert tool.schema is True


def test_least() -> None:
    request = parse(LEAST)
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
def test_the_path_names_the_model(path: str, model: str, verb: str, colon: str) -> None:
    request = parse(LEAST, f"{path}{colon}{verb}")
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
def test_thinking_is_on_where_it_is_asked_for(thinking: Any, reasoning: bool) -> None:
    assert parse(configured(thinkingConfig=thinking)).reasoning is reasoning


@pytest.mark.parametrize("declared", ["functionDeclarations", "function_declarations"])
def test_tools_are_the_functions_and_googles_own(declared: str) -> None:
    plain = {"name": "now"}
    by_json = {"name": "then", "parametersJsonSchema": {"type": "object"}}
    tools = [{declared: [FUNCTION, plain]}, {declared: by_json}, {"googleSearch": {}}]
    assert parse({**LEAST, "tools": tools}).tools == (
        Tool("get_weather", "Tells the weather.", MEANT),
        Tool("now"),
        Tool("then", "", {"type": "object"}),
        Tool("google_search", kind="hosted"),
    )


def test_a_tool_that_is_null_is_none() -> None:
    tools = {"functionDeclarations": [FUNCTION], "codeExecution": None}
    assert [tool.name for tool in parse({**LEAST, "tools": tools}).tools] == ["get_weather"]


def test_the_rest_is_kept() -> None:
    config = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}
    request = parse(
        {
            **LEAST,
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
def test_contents_are_needed(body: Any) -> None:
    with pytest.raises(WireError) as caught:
        parse(body)
    assert (caught.value.answer.status, caught.value.answer.param) == (400, "contents")


@pytest.mark.parametrize(
    ("place", "broken"),
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
        ("generationConfig.temperature", configured(temperature="hot")),
        ("generation_config.top_p", {"generation_config": {"top_p": []}}),
        ("generationConfig.topK", configured(topK="x")),
        ("generationConfig.topK", configured(topK="9" * 5_000)),
        ("generationConfig.seed", configured(seed=True)),
        ("generationConfig.maxOutputTokens", configured(maxOutputTokens=1.5)),
        ("generationConfig.stopSequences", configured(stopSequences="END")),
        ("generationConfig.stopSequences[1]", configured(stopSequences=["END", 1])),
        ("generationConfig.candidateCount", configured(candidateCount="two")),
        ("generationConfig.candidateCount", configured(candidateCount=0)),
        ("generationConfig.candidateCount", configured(candidateCount=9)),
        ("generationConfig.thinkingConfig", configured(thinkingConfig=True)),
        (
            "generationConfig.thinkingConfig.thinkingBudget",
            configured(thinkingConfig={"thinkingBudget": "1.5"}),
        ),
        (
            "generationConfig.thinkingConfig.thinkingLevel",
            configured(thinkingConfig={"thinkingLevel": 1}),
        ),
        (
            "generationConfig.thinkingConfig.includeThoughts",
            configured(thinkingConfig={"includeThoughts": 1}),
        ),
        ("generationConfig.responseMimeType", configured(responseMimeType=1)),
        ("generationConfig.responseSchema", configured(responseSchema="x")),
        ("generationConfig.seed", configured(seed="x")),
        ("labels", {"labels": []}),
        ("labels.team", {"labels": {"team": 1}}),
        ("safetySettings", {"safetySettings": "none"}),
        ("safetySettings[0]", {"safetySettings": ["none"]}),
        ("cachedContent", {"cachedContent": {}}),
    ],
)
def test_invalid_value_is_rejected_with_its_path(place: str, broken: dict[str, Any]) -> None:
    assert_refused({**LEAST, **broken}, place)


@pytest.mark.parametrize(
    ("place", "part"),
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
def test_a_broken_part_is_named_by_its_place(role: str, place: str, part: Any) -> None:
    assert_refused({"contents": [{"role": role, "parts": [part]}]}, f"contents[0].parts[0]{place}")


def assert_refused(body: Any, place: str) -> None:
    with pytest.raises(WireError) as caught:
        parse(body)
    answer = caught.value.answer
    assert (answer.status, answer.param, answer.code) == (400, place, None)
    assert place in answer.message
