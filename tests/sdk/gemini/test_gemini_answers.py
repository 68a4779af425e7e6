"""Scripted answers in google-genai, streamed and not."""

from base64 import b64encode
from typing import Any

import httpx2
import pytest
from google import genai
from google.genai import types

from scenarios_app.serving.sync_transport import SyncMockTransport
from scenarios_app.serving.transport import MockTransport
from tests.sdk.gemini.gemini_client import HELLO, GeminiClient
from tests.sdk.scripted import PARIS, PARIS_TEXT, City, load
from tests.serving.pipelines import Harness, scenario, text_step
from tests.support.live_server import Live

WEATHER = {"id": "call_1", "name": "get_weather", "arguments": {"city": "Paris", "days": [1, 2]}}
TIME = {"id": "call_2", "name": "get_time", "arguments": {}}


def calls_of(parts: Any) -> list[tuple[str, str, Any]]:
    calls = [part.function_call for part in parts if part.function_call]
    return [(call.id, call.name, call.args) for call in calls]


@pytest.mark.parametrize("version", ["v1", "v1beta", "v1alpha"])
def test_text(live: Live, gemini: GeminiClient, version: str) -> None:
    load(live, text="Grüße, one two three four five six 🙂.", pacing={"words_per_chunk": 2})
    gemini.options["api_version"] = version
    response = gemini.create(**HELLO)
    assert response.text == "Grüße, one two three four five six 🙂."
    assert response.model_version == "gemini-2.5-flash" and response.response_id
    (candidate,) = response.candidates or ()
    assert (candidate.index, candidate.finish_reason) == (0, types.FinishReason.STOP)
    streamed = gemini.stream(**HELLO)
    assert streamed.text == response.text
    assert [bool(part.text) for part in streamed.parts] == [True] * 4 + [False]
    assert streamed.finish_reasons == ["STOP"]
    usages = [chunk.usage_metadata for chunk in streamed.chunks]
    assert usages[-1] == response.usage_metadata
    totals = [usage.total_token_count for usage in usages if usage]
    assert len(totals) == 5 and totals == sorted(filter(None, totals))
    (path,) = {row.path.partition(":")[0] for row in live.requests()}
    assert path == f"/{version}/models/gemini-2.5-flash"


def test_thoughts_texts_and_calls(live: Live, gemini: GeminiClient) -> None:
    load(
        live,
        reasoning=[{"text": "I should look.", "signature": "sig-1"}, {"redacted": "hidden"}],
        text="Let me look.",
        tool_calls=[WEATHER, TIME],
        usage={"input_tokens": 64, "output_tokens": 32, "reasoning_tokens": 12},
    )
    response, streamed = gemini.create(**HELLO), gemini.stream(**HELLO)
    assert response.parts is not None
    thought, hidden, text, weather, time = response.parts
    assert (thought.thought, thought.text) == (True, "I should look.")
    assert thought.thought_signature == b"sig-1"
    assert (hidden.thought, hidden.text, hidden.thought_signature) == (True, "", b"hidden")
    assert (text.text, text.thought) == ("Let me look.", None)
    assert weather.thought_signature == b"hidden" and time.thought_signature is None
    expected = [(c["id"], c["name"], c["arguments"]) for c in (WEATHER, TIME)]
    assert calls_of(response.parts) == calls_of(streamed.parts) == expected
    assert (streamed.thinking, streamed.text) == ("I should look.", "Let me look.")
    signatures = [p.thought_signature for p in streamed.parts if p.thought_signature]
    assert signatures == [b"sig-1", b"hidden", b"hidden"]
    # Calls finish with STOP: the API has no other reason.
    assert streamed.finish_reasons == ["STOP"]
    usage = response.usage_metadata
    assert usage is not None
    counts = (usage.prompt_token_count, usage.candidates_token_count, usage.thoughts_token_count)
    assert (*counts, usage.total_token_count) == (64, 20, 12, 96)


def test_a_signature_in_base64_arrives_as_its_bytes(live: Live, gemini: GeminiClient) -> None:
    data = b"\xff\xfe\xfd\x00 opaque"
    load(live, reasoning=[{"text": "Hm.", "signature": b64encode(data).decode()}])
    (thought,) = gemini.create(**HELLO).parts or ()
    assert thought.thought_signature == data


def test_ways_to_finish(live: Live, gemini: GeminiClient) -> None:
    load(live, text="Half of", finish_reason="length")
    assert gemini.stream(**HELLO).finish_reasons == ["MAX_TOKENS"]
    load(live, text="A", finish_reason="stop_sequence", stop_sequence="END")
    assert gemini.stream(**HELLO).finish_reasons == ["STOP"]
    load(live, refusal="I will not do that.")
    assert gemini.create(**HELLO).text == "I will not do that."
    assert gemini.stream(**HELLO).finish_reasons == ["SAFETY"]
    load(live, text="x", provider_metadata={"gemini": {"finishReason": "RECITATION"}})
    assert gemini.stream(**HELLO).finish_reasons == ["RECITATION"]


def test_a_blocked_prompt(live: Live, gemini: GeminiClient) -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    load(live, text="Never said.", provider_metadata={"gemini": blocked})
    response, streamed = gemini.create(**HELLO), gemini.stream(**HELLO)
    for answer in (response, *streamed.chunks):
        assert answer.prompt_feedback is not None
        assert answer.prompt_feedback.block_reason == types.BlockedReason.SAFETY
        assert answer.candidates is None and answer.text is None


def test_choices_are_candidates(live: Live, gemini: GeminiClient) -> None:
    load(live, choices=[{"text": "Heads."}, {"text": "Tails.", "finish_reason": "length"}])
    response = gemini.create(**HELLO)
    texts = [(c.index, c.content.parts[0].text) for c in response.candidates or () if c.content]
    assert texts == [(0, "Heads."), (1, "Tails.")]
    assert gemini.stream(**HELLO).finish_reasons == ["STOP", "MAX_TOKENS"]


def test_several_candidates_may_be_asked_for(live: Live, gemini: GeminiClient) -> None:
    load(live, text="The same.")
    response = gemini.create(**HELLO, config={"candidate_count": 3})
    assert [candidate.index for candidate in response.candidates or ()] == [0, 1, 2]


def test_structured_output_is_parsed(live: Live, gemini: GeminiClient) -> None:
    load(live, text=PARIS_TEXT)
    config = {"response_mime_type": "application/json", "response_schema": City}
    assert gemini.create(**HELLO, config=config).parsed == PARIS


def test_tokens_are_counted(live: Live, gemini: GeminiClient) -> None:
    short = gemini.ask("count_tokens", **HELLO).total_tokens
    longer = gemini.ask("count_tokens", **{**HELLO, "contents": "Hello there! " * 10}).total_tokens
    assert 0 < short < longer
    assert [(row.matched, row.outcome) for row in live.requests()] == [(True, "complete")] * 2


def test_texts_are_embedded(live: Live, gemini: GeminiClient) -> None:
    def embed(*texts: str, **config: Any) -> list[list[float]]:
        answer = gemini.ask(
            "embed_content", model="gemini-embedding-001", contents=[*texts], config=config
        )
        return [embedding.values for embedding in answer.embeddings]

    fine, how, stocks = embed(
        "The weather in Paris is fine", "How fine is the weather in Paris", "Sell all my stocks"
    )
    assert len(fine) == 3072
    assert dot_product(fine, how) > dot_product(fine, stocks)
    (short,) = embed("x", output_dimensionality=256)
    assert len(short) == 256 and dot_product(short, short) == pytest.approx(1)


def dot_product(first: list[float], second: list[float]) -> float:
    return sum(a * b for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("version", ["v1", "v1beta"])
def test_models_are_listed_and_retrieved(live: Live, gemini: GeminiClient, version: str) -> None:
    gemini.options["api_version"] = version
    live.load(scenario("named", {**text_step("Hi!"), "match": {"model": "gemini-of-mine"}}))
    names = [model.name for model in gemini.models()]
    assert "models/gemini-2.5-flash" in names and "models/gemini-of-mine" in names
    assert [model.name for model in gemini.models(config={"page_size": 5})] == names
    model = gemini.ask("get", model="gemini-embedding-001")
    assert model.supported_actions == ["embedContent", "countTokens"]


def test_a_tuned_model_is_asked_by_its_name(live: Live, gemini: GeminiClient) -> None:
    match = {"model": "tunedModels/mine", "path": "/v1beta/models/{model}:generateContent"}
    live.load(scenario("one", {**text_step("Tuned."), "match": match}))
    request = {**HELLO, "model": "tunedModels/mine"}
    assert gemini.create(**request).text == gemini.stream(**request).text == "Tuned."


async def test_in_process_the_client_needs_no_network() -> None:
    """The client keeps the provider's base URL; no name is resolved and no socket connected."""
    harness = Harness(scenario("one", text_step("Hello from here.")))
    http = httpx2.AsyncClient(transport=MockTransport(harness.running))
    options = types.HttpOptions(httpx_async_client=http)
    client = genai.Client(api_key="k", http_options=options).aio
    assert (await client.models.generate_content(**HELLO)).text == "Hello from here."
    chunks = [c.text async for c in await client.models.generate_content_stream(**HELLO)]
    assert "".join(text or "" for text in chunks) == "Hello from here."
    assert [entry.provider for entry in harness.journal] == ["gemini", "gemini"]
    await http.aclose()


def test_in_process_the_sync_client_needs_no_network() -> None:
    harness = Harness(scenario("one", text_step("Hello from here.")))
    with httpx2.Client(transport=SyncMockTransport(harness.running)) as http:
        client = genai.Client(api_key="k", http_options=types.HttpOptions(httpx_client=http))
        assert client.models.generate_content(**HELLO).text == "Hello from here."
