"""Calls of the official SDK with every parameter, handled by the wire without a server."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import types
from google.genai.errors import ClientError

from scenarios_app.engine.canonical import Usage
from scenarios_app.engine.parts import ReasoningPart, TextPart, ToolCallPart
from tests.wire.gemini.gemini_cases import response, transport

ANSWER = response(
    ReasoningPart("I should look.", signature="sig"),
    TextPart("Looking."),
    ToolCallPart("c-1", "weather", '{"city":"Paris"}'),
    reason="tool_calls",
    usage=Usage(20, 10, 4, 5),
)
SCHEMA = types.Schema(
    type=types.Type.OBJECT,
    properties={"city": types.Schema(type=types.Type.STRING)},
    required=["city"],
)
TOOLS = [
    types.Tool(
        function_declarations=[
            types.FunctionDeclaration(
                name="weather",
                description="Tells the weather.",
                parameters=SCHEMA,
                behavior=types.Behavior.BLOCKING,
            ),
            types.FunctionDeclaration(name="time", parameters_json_schema={"type": "object"}),
        ]
    ),
    types.Tool(google_search=types.GoogleSearch()),
    types.Tool(code_execution=types.ToolCodeExecution()),
    types.Tool(url_context=types.UrlContext()),
]
CONVERSATION = [
    types.Content(
        role="user",
        parts=[
            types.Part(text="What is this, and how is the weather there?"),
            types.Part.from_bytes(data=b"\x89PNG", mime_type="image/png"),
            types.Part.from_uri(file_uri="files/1", mime_type="video/mp4"),
        ],
    ),
    types.Content(
        role="model",
        parts=[
            types.Part(text="Hm.", thought=True, thought_signature=b"\xff\xfe"),
            types.Part(executable_code=types.ExecutableCode(code="1", language="PYTHON")),
            types.Part(
                code_execution_result=types.CodeExecutionResult(outcome="OUTCOME_OK", output="1")
            ),
            types.Part(
                function_call=types.FunctionCall(name="weather", args={"city": "Oslo"}),
                thought_signature=b"\xff\xfe",
            ),
        ],
    ),
    types.Content(
        role="user",
        parts=[types.Part.from_function_response(name="weather", response={"result": "cold"})],
    ),
]
CONFIG = types.GenerateContentConfig(
    system_instruction="Answer in French.",
    temperature=0.2,
    top_p=0.9,
    top_k=40,
    candidate_count=1,
    max_output_tokens=512,
    stop_sequences=["END"],
    response_logprobs=True,
    logprobs=3,
    presence_penalty=0.1,
    frequency_penalty=0.1,
    seed=7,
    response_mime_type="application/json",
    response_schema=SCHEMA,
    safety_settings=[
        types.SafetySetting(category="HARM_CATEGORY_HARASSMENT", threshold="BLOCK_NONE")
    ],
    tools=TOOLS,
    tool_config=types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode="ANY")),
    labels={"team": "qa"},
    cached_content="cachedContents/1",
    response_modalities=["TEXT"],
    media_resolution="MEDIA_RESOLUTION_LOW",
    thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_budget=1024),
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)
GENERATE_ARGUMENTS: dict[str, Any] = {
    "model": "gemini-x",
    "contents": CONVERSATION,
    "config": CONFIG,
}


@pytest.fixture(params=["v1", "v1beta"])
def client(request: pytest.FixtureRequest) -> Iterator[genai.Client]:
    with httpx2.Client(transport=transport([ANSWER])) as http:
        options = types.HttpOptions(
            base_url="http://test",
            api_version=request.param,
            httpx_client=http,
            httpx_async_client=httpx2.AsyncClient(),
        )
        yield genai.Client(api_key="k", http_options=options)


def test_response_has_the_scripted_content_and_usage(client: genai.Client) -> None:
    answer = client.models.generate_content(**GENERATE_ARGUMENTS)
    assert answer.text == "Looking."
    (call,) = answer.function_calls or ()
    assert (call.id, call.name, call.args) == ("c-1", "weather", {"city": "Paris"})
    assert answer.parts is not None
    assert [part.thought_signature for part in answer.parts] == [b"sig", None, b"sig"]
    assert answer.parts[0].thought and answer.parts[0].text == "I should look."
    assert answer.usage_metadata is not None
    assert answer.usage_metadata.thoughts_token_count == 4
    assert answer.usage_metadata.cached_content_token_count == 5
    assert answer.model_version == "gemini-x"


def test_stream_adds_up_to_the_text_and_finishes_once(client: genai.Client) -> None:
    chunks = list(client.models.generate_content_stream(**GENERATE_ARGUMENTS))
    assert "".join(chunk.text or "" for chunk in chunks) == "Looking."
    finished = [c.candidates[0].finish_reason for c in chunks if c.candidates]
    assert finished == [None] * (len(chunks) - 1) + [types.FinishReason.STOP]
    assert chunks[-1].usage_metadata is not None


def test_tuned_model_responds(client: genai.Client) -> None:
    answer = client.models.generate_content(**{**GENERATE_ARGUMENTS, "model": "tunedModels/mine"})
    assert answer.text == "Looking."


def test_longer_contents_have_more_tokens(client: genai.Client) -> None:
    short = client.models.count_tokens(model="m", contents="Hello").total_tokens
    longer = client.models.count_tokens(model="m", contents=CONVERSATION).total_tokens
    assert short is not None and longer is not None
    assert 0 < short < longer


def test_embeddings_have_the_requested_dimensions(client: genai.Client) -> None:
    config = types.EmbedContentConfig(
        task_type="RETRIEVAL_DOCUMENT", title="t", output_dimensionality=8
    )
    answer = client.models.embed_content(
        model="gemini-embedding-001", contents=["one", "two"], config=config
    )
    assert [len(e.values or ()) for e in answer.embeddings or ()] == [8, 8]


def test_models_are_listed_and_retrieved(client: genai.Client) -> None:
    for size in (None, 1):
        models = client.models.list(config={"page_size": size})
        assert [model.name for model in models] == ["models/gemini-a", "tunedModels/b"]
    model = client.models.get(model="gemini-a")
    assert model.supported_actions == ["generateContent", "countTokens"]
    with pytest.raises(ClientError, match="models/gemini-z"):
        client.models.get(model="gemini-z")


def test_chat_history_of_streamed_chunks_is_accepted(client: genai.Client) -> None:
    chat = client.chats.create(model="gemini-x")
    for _ in chat.send_message_stream("Hello"):
        pass
    # The user's message and each chunk; the client found none invalid.
    history = chat.get_history(curated=True)
    assert [content.role for content in history] == ["user"] + ["model"] * 9
    assert chat.send_message("And?").text == "Looking."
