"""Other endpoints through OpenAI's client: completions, embeddings, moderations, models, Azure."""

import base64
import struct
from typing import Any

import openai
import pytest

from scenarios_app.wire.embedding import unit_vector
from tests.sdk.openai.openai_client import OpenAIClient
from tests.serving.pipelines import scenario, text_step
from tests.support.live_server import Live

SMALL = "text-embedding-3-small"
CHAT: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello"}]}


def test_a_completion(live: Live, client: OpenAIClient) -> None:
    prompted = {"match": {"messages": [{"role": "user", "equals": "Say hi"}]}}
    live.load(scenario("one", text_step("Hi there.", **prompted)))
    request: dict[str, Any] = {"model": "gpt-3.5-turbo-instruct", "prompt": "Say hi", "n": 2}
    completion = client.ask(lambda c: c.completions.create(**request, echo=True))
    assert [(o.index, o.text, o.finish_reason) for o in completion.choices] == [
        (0, "Say hiHi there.", "stop"),
        (1, "Say hiHi there.", "stop"),
    ]
    assert completion.usage is not None and completion.usage.total_tokens > 0
    # The reason is null until a choice ends, as in the real API; strict validation refuses that.
    client.options["_strict_response_validation"] = False
    stream = client.read(lambda c: c.completions.create(**request, stream=True))
    texts = ["", ""]
    for chunk in stream.items:
        for choice in chunk.choices:
            texts[choice.index] += choice.text
    assert (texts, stream.error) == (["Hi there.", "Hi there."], None)
    ends = [o.finish_reason for chunk in stream.items for o in chunk.choices if o.finish_reason]
    assert ends == ["stop", "stop"]


def test_a_completion_that_breaks(live: Live, client: OpenAIClient) -> None:
    fault = {"kind": "error_event", "message": "Broken.", "after_chunks": 0}
    live.load(scenario("one", {"consume": False, "produce": {"text": "x", "fault": fault}}))
    read = client.read(lambda c: c.completions.create(model="m", prompt="x", stream=True))
    assert isinstance(read.error, openai.APIError) and read.error.message == "Broken."
    with pytest.raises(openai.InternalServerError):
        client.ask(lambda c: c.completions.create(model="m", prompt="x"))


@pytest.mark.parametrize("form", ["float", "base64", None])
def test_embeddings(live: Live, client: OpenAIClient, form: str | None) -> None:
    # Strict validation runs before base64 is decoded, and requires floats.
    client.options["_strict_response_validation"] = form == "float"
    request: dict[str, Any] = {"model": SMALL, "input": ["Hello", "there"], "dimensions": 256}
    if form:
        request["encoding_format"] = form
    answer = client.ask(lambda c: c.embeddings.create(**request))
    assert [item.index for item in answer.data] == [0, 1]
    for item, text in zip(answer.data, request["input"], strict=True):
        vector = item.embedding
        if form == "base64":
            vector = struct.unpack("<256f", base64.b64decode(vector))
        assert list(vector) == pytest.approx(unit_vector(text, 256))
    assert answer.usage.total_tokens == 4


def test_a_step_that_names_the_path_answers_for_embeddings(
    live: Live, client: OpenAIClient
) -> None:
    match = {"path": "/v1/embeddings", "messages": [{"contains": "secret"}]}
    fault = {"kind": "http", "status": 403, "message": "No."}
    live.load(scenario("one", {"consume": False, "match": match, "produce": {"fault": fault}}))
    with pytest.raises(openai.PermissionDeniedError):
        client.ask(lambda c: c.embeddings.create(model=SMALL, input="a secret"))
    client.ask(lambda c: c.embeddings.create(model=SMALL, input="x", encoding_format="float"))
    assert [row.matched for row in live.requests()] == [True, True]


def test_moderations(live: Live, client: OpenAIClient) -> None:
    harmless, harmful = client.ask(
        lambda c: c.moderations.create(input=["Good morning!", "I want to kill them."])
    ).results
    assert (harmless.flagged, harmful.flagged) == (False, True)
    assert harmful.categories.violence and harmful.category_scores.violence > 0.9
    parts = [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "https://example.com/i.png"}},
    ]
    (both,) = client.ask(lambda c: c.moderations.create(input=parts)).results
    assert both.category_applied_input_types.violence == ["text", "image"]


def test_models_with_slashes(live: Live, client: OpenAIClient) -> None:
    live.load(scenario("named", {**text_step("Hi!"), "match": {"model": "meta/llama 3"}}))
    assert client.ask(lambda c: c.models.retrieve("meta/llama 3")).id == "meta/llama 3"
    with pytest.raises(openai.NotFoundError) as raised:
        client.ask(lambda c: c.models.retrieve("meta/none"))
    assert raised.value.code == "model_not_found"


def test_helpers_are_never_unmatched(live: Live, client: OpenAIClient) -> None:
    client.options["_strict_response_validation"] = False
    client.ask(lambda c: c.embeddings.create(model=SMALL, input="x"))
    client.ask(lambda c: c.moderations.create(input="x"))
    client.ask(lambda c: c.models.list())
    client.ask(lambda c: c.responses.input_tokens.count(input="x"))
    assert [row.outcome for row in live.requests()] == ["complete"] * 4


def test_azure_asks_a_deployment(live: Live, azure: OpenAIClient) -> None:
    match = {"path": "/v1/chat/completions", "model": "my-gpt"}
    live.load(scenario("one", text_step("Hello from Azure.", match=match)))
    completion = azure.ask(lambda c: c.chat.completions.create(model="my-gpt", **CHAT))
    assert completion.choices[0].message.content == "Hello from Azure."
    assert completion.model == "my-gpt"
    stream = azure.read(lambda c: c.chat.completions.create(model="my-gpt", stream=True, **CHAT))
    filtered, *items = stream.items
    assert filtered.choices == []
    assert "".join(c.choices[0].delta.content or "" for c in items) == "Hello from Azure."
    (first, _) = live.requests()
    assert first.path == "/openai/deployments/my-gpt/chat/completions"
    assert first.query == {"api-version": "2025-04-01-preview"}
    assert first.request_headers["api-key"] != live.key


def test_azures_own_path_is_matched_as_well(live: Live, azure: OpenAIClient) -> None:
    match = {"path": "/openai/deployments/my-gpt/chat/completions"}
    live.load(scenario("one", text_step("Here.", match=match)))
    completion = azure.ask(lambda c: c.chat.completions.create(model="my-gpt", **CHAT))
    assert completion.choices[0].message.content == "Here."


def test_azure_deployment_can_be_an_option_of_the_client(live: Live, azure: OpenAIClient) -> None:
    live.load(scenario("one", text_step("Hi.")))
    azure.options |= {"azure_deployment": "mine", "_strict_response_validation": False}
    azure.ask(lambda c: c.chat.completions.create(model="x", **CHAT))
    azure.ask(lambda c: c.embeddings.create(model="x", input="x"))
    azure.ask(lambda c: c.completions.create(model="x", prompt="x"))
    azure.ask(lambda c: c.responses.create(model="mine", input="x"))
    azure.ask(lambda c: c.models.list())
    assert [row.path.removeprefix("/openai") for row in live.requests()] == [
        "/deployments/mine/chat/completions",
        "/deployments/mine/embeddings",
        "/deployments/mine/completions",
        "/responses",
        "/models",
    ]


def test_plain_client_works_with_the_v1_api_of_azure(live: Live, client: OpenAIClient) -> None:
    live.load(scenario("one", text_step("Hi.")))
    client.options["base_url"] = f"{live.base_url}/openai/v1"
    assert client.ask(lambda c: c.responses.create(model="mine", input="x")).output_text == "Hi."
    completion = client.ask(lambda c: c.chat.completions.create(model="mine", **CHAT))
    assert completion.choices[0].message.content == "Hi."


def test_azure_errors_raise_openai_exceptions(live: Live, azure: OpenAIClient) -> None:
    fault = {"kind": "rate_limit", "message": "Slow down."}
    live.load(scenario("one", {"consume": False, "produce": {"fault": fault}}))
    with pytest.raises(openai.RateLimitError, match=r"Slow down\."):
        azure.ask(lambda c: c.chat.completions.create(model="my-gpt", **CHAT))
    with pytest.raises(openai.AuthenticationError):
        azure.ask(
            lambda c: c.chat.completions.create(
                model="my-gpt", extra_headers={"api-key": openai.Omit()}, **CHAT
            )
        )
