"""Parsing of Ollama's requests; invalid fields are rejected with their path."""

from base64 import b64encode
from typing import Any

import pytest

from scenarios_app.engine.canonical import ANY_OBJECT, JsonFormat, Message
from scenarios_app.engine.parts import OpaquePart, TextPart
from scenarios_app.wire.ollama.request import GenerateFields
from tests.wire.ollama.ollama_cases import HELLO, catch_error, parse, parse_body, parse_generate

IMAGE = b64encode(b"\x89PNG").decode()
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "f", "description": "does", "parameters": {"type": "object"}},
}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


def test_every_field_of_a_chat_request_is_read() -> None:
    request = parse(
        HELLO,
        stream=False,
        tools=[TOOL],
        think="high",
        format=SCHEMA,
        keep_alive="5m",
        options={
            "temperature": 0.5,
            "top_p": 1,
            "num_predict": 64,
            "stop": ["END", "\n"],
            "seed": 7,
            "num_ctx": 2048,
            "mirostat": 1,
        },
    )
    assert (request.provider, request.path, request.route) == ("ollama", "/api/chat", "/api/chat")
    assert (request.model, request.stream, request.computed) == ("llama3.2", False, False)
    assert request.messages == (Message("user", (TextPart("Hello"),)),)
    assert (request.temperature, request.top_p, request.max_tokens) == (0.5, 1.0, 64)
    assert request.stop == ("END", "\n")
    assert request.reasoning is True
    assert request.response_format == SCHEMA
    (tool,) = request.tools
    assert (tool.name, tool.description, tool.schema) == ("f", "does", {"type": "object"})
    assert request.own == GenerateFields(unloads=False, raw=False)
    assert (request.n, request.metadata, request.tool_choice) == (1, {}, None)


def test_stream_defaults_to_true() -> None:
    assert parse().stream is True
    assert parse(stream=None).stream is True
    assert parse(stream=True).stream is True
    assert parse(stream=False).stream is False
    assert parse_generate().stream is True


def test_missing_fields_get_their_defaults() -> None:
    request = parse()
    assert (request.temperature, request.top_p, request.max_tokens) == (None, None, None)
    assert (request.stop, request.tools, request.response_format) == ((), (), None)
    assert request.reasoning is False
    empty = parse(options={}, tools=[], format="", think=None, keep_alive=None)
    assert (empty.stop, empty.tools, empty.response_format) == ((), (), None)


@pytest.mark.parametrize(
    ("think", "reasoning"),
    [(True, True), (False, False), ("low", True), ("max", True), ("", False), ("none", False)],
)
def test_think_is_a_flag_or_a_level(think: object, reasoning: bool) -> None:
    assert parse(think=think).reasoning is reasoning


@pytest.mark.parametrize(("num_predict", "limit"), [(0, 0), (9, 9), (-1, None), (-2, None)])
def test_negative_num_predict_means_no_limit(num_predict: int, limit: int | None) -> None:
    assert parse(options={"num_predict": num_predict}).max_tokens == limit


def test_tool_needs_only_a_name() -> None:
    (tool,) = parse(tools=[{"function": {"name": "f"}}]).tools
    assert (tool.name, tool.description, tool.schema) == ("f", "", None)


def test_json_is_a_format() -> None:
    assert parse(format="json").response_format == "json"


def test_prompt_is_the_user_message() -> None:
    request = parse_generate(
        "Why?", system="Be brief.", images=[IMAGE], suffix="!", template="{{ x }}"
    )
    assert request.route == "/api/generate"
    assert request.messages == (
        Message("system", (TextPart("Be brief."),)),
        Message("user", (TextPart("Why?"), OpaquePart("image"))),
    )
    assert request.own == GenerateFields()
    assert parse_generate("Why?", raw=True, keep_alive=0).own == GenerateFields(
        unloads=True, raw=True
    )


def test_foreign_context_adds_no_messages() -> None:
    assert len(parse_generate(context=[1, 2, 3]).messages) == 1
    assert len(parse_generate(context=[10**9, -1]).messages) == 1


@pytest.mark.parametrize("fields", [{"template": "x"}, {"system": "x"}, {"context": [1]}])
def test_raw_prompt_rejects_template_system_and_context(fields: dict[str, Any]) -> None:
    assert parse_generate(raw=True).messages == parse_generate().messages
    error = catch_error("generate", raw=True, **fields)
    assert error.message == "raw mode does not support template, system, or context"


@pytest.mark.parametrize("operation", ["chat", "generate"])
@pytest.mark.parametrize("stream", [True, False])
def test_request_without_a_prompt_is_computed(operation: str, stream: bool) -> None:
    for extra in ({}, {"messages": [], "prompt": ""}, {"messages": None, "prompt": None}):
        request = parse_body({"model": "m", "stream": stream, **extra}, operation)
        assert (request.computed, request.stream, request.messages) == (True, False, ())


@pytest.mark.parametrize(
    ("operation", "texts"),
    [("embed", ("a", "b")), ("embeddings", ("a",))],
)
def test_texts_to_embed_are_parts_of_a_user_message(operation: str, texts: tuple[str, ...]) -> None:
    body = {"model": "m", "input": ["a", "b"], "prompt": "a", "keep_alive": 5}
    request = parse_body(body, operation)
    assert request.messages == (Message("user", tuple(map(TextPart, texts))),)
    assert (request.stream, request.computed) == (False, False)


@pytest.mark.parametrize(
    ("input_", "part_count"), [("a", 1), ([], 0), ("", 0), (None, 0), (["a"], 1)]
)
def test_input_is_a_text_or_several(input_: object, part_count: int) -> None:
    (message,) = parse_body({"model": "m", "input": input_}, "embed").messages
    assert len(message.parts) == part_count


def test_show_reads_model_or_name() -> None:
    assert parse_body({"model": "m"}, "show").model == "m"
    assert parse_body({"name": "m", "verbose": True}, "show").model == "m"
    for body in ({}, {"model": ""}, {"name": ""}):
        with pytest.raises(Exception, match="model is required"):
            parse_body(body, "show")


@pytest.mark.parametrize("operation", ["tags", "ps", "version"])
def test_list_requests_have_no_model_and_no_messages(operation: str) -> None:
    request = parse_body({}, operation)
    assert (request.model, request.messages, request.stream) == ("", (), False)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": None}, "model is required"),
        ({"model": ""}, "model is required"),
        ({"model": 7}, "'model': expected a string"),
        ({"messages": "x"}, "'messages': expected an array"),
        ({"messages": ["x"]}, "'messages[0]': expected an object"),
        ({"messages": [{"content": "x"}]}, "messages[0].role is required"),
        ({"messages": [{"role": "robot"}]}, "messages[0].role: invalid role 'robot'"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, "'messages[0].content'"),
        ({"messages": [{"role": "assistant", "thinking": 1}]}, "'messages[0].thinking'"),
        ({"messages": [{"role": "assistant", "tool_calls": {}}]}, "'messages[0].tool_calls'"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{}]}]},
            "messages[0].tool_calls[0].function is required",
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}]},
            "messages[0].tool_calls[0].function.name is required",
        ),
        (
            {
                "messages": [
                    {
                        "role": "assistant",
                        "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}],
                    }
                ]
            },
            "'messages[0].tool_calls[0].function.arguments': expected an object",
        ),
        ({"messages": [{"role": "tool", "tool_name": 1}]}, "'messages[0].tool_name'"),
        ({"messages": [{"role": "user", "images": ["%%"]}]}, "messages[0].images[0] is not valid"),
        ({"messages": [{"role": "user", "images": [1]}]}, "'messages[0].images[0]'"),
        ({"messages": [{"role": "user", "images": IMAGE}]}, "'messages[0].images'"),
        ({"stream": "no"}, "'stream': expected a boolean"),
        ({"options": []}, "'options': expected an object"),
        ({"options": {"temperature": "hot"}}, "'options.temperature': expected a number"),
        ({"options": {"top_p": True}}, "'options.top_p'"),
        ({"options": {"num_predict": 1.5}}, "'options.num_predict': expected an integer"),
        ({"options": {"stop": "END"}}, "'options.stop': expected an array"),
        ({"options": {"stop": [1]}}, "'options.stop[0]'"),
        ({"options": {"seed": "x"}}, "'options.seed'"),
        ({"options": {"num_ctx": "x"}}, "'options.num_ctx'"),
        ({"think": 1}, "'think': expected a boolean or a string"),
        ({"format": "xml"}, 'invalid format: "xml"; expected "json" or a valid JSON Schema object'),
        ({"format": 1}, "'format': expected a string or an object"),
        ({"keep_alive": "soon"}, 'keep_alive: invalid duration "soon"'),
        ({"keep_alive": []}, "'keep_alive': expected a number"),
        ({"tools": {}}, "'tools': expected an array"),
        ({"tools": [{"type": 1, "function": {"name": "f"}}]}, "'tools[0].type'"),
        ({"tools": [{"type": "function"}]}, "tools[0].function is required"),
        ({"tools": [{"function": {}}]}, "tools[0].function.name is required"),
        ({"tools": [{"function": {"name": "f", "parameters": []}}]}, "function.parameters'"),
        ({"logprobs": 1}, "'logprobs': expected a boolean"),
        ({"top_logprobs": 21}, "top_logprobs must be between 0 and 20"),
        ({"top_logprobs": -1}, "top_logprobs must be between 0 and 20"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_invalid_field_is_rejected_with_its_path(fields: dict[str, Any], message: str) -> None:
    assert message in catch_error(**fields).message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"prompt": 1}, "'prompt': expected a string"),
        ({"system": []}, "'system'"),
        ({"template": 1}, "'template'"),
        ({"suffix": {}}, "'suffix'"),
        ({"context": "x"}, "'context': expected an array"),
        ({"context": ["x"]}, "'context[0]': expected an integer"),
        ({"raw": "yes"}, "'raw'"),
        ({"images": ["data:image/png;base64,AA=="]}, "images[0] is not valid base64"),
        ({"top_logprobs": 99}, "top_logprobs"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_invalid_prompt_field_is_rejected_with_its_path(
    fields: dict[str, Any], message: str
) -> None:
    assert message in catch_error("generate", **fields).message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"input": 1}, "'input': expected a string or an array of strings"),
        ({"input": ["a", 1]}, "'input[1]': expected a string"),
        ({"input": [[1, 2]]}, "'input[0]'"),
        ({"input": ["a"] * 2_049}, "input: at most 2048 texts are taken"),
        ({"truncate": 1}, "'truncate'"),
        ({"dimensions": "4"}, "'dimensions': expected an integer"),
        ({"options": 1}, "'options'"),
        ({"keep_alive": "x"}, "keep_alive"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_invalid_embedding_field_is_rejected_with_its_path(
    fields: dict[str, Any], message: str
) -> None:
    assert message in catch_error("embed", **fields).message


@pytest.mark.parametrize("operation", ["embeddings", "show"])
def test_other_routes_validate_their_fields(operation: str) -> None:
    assert "expected" in catch_error(operation, model=1).message
    if operation == "show":
        assert "'verbose'" in catch_error(operation, verbose=1).message
    else:
        assert "'prompt'" in catch_error(operation, prompt=1).message


def test_format_is_parsed() -> None:
    assert parse(HELLO, format=SCHEMA).json == JsonFormat(SCHEMA, "format")
    assert parse(format="json").json == JsonFormat(ANY_OBJECT, "format")
    assert parse().json is None
