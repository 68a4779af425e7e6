"""Ollama's embeddings: dimensions, truncation and limits."""

import math
from typing import Any

import pytest

from scenarios_app.wire.embedding import unit_vector
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.ollama.models import CONTEXT_LENGTH, MAX_EMBEDDED_CHARS
from scenarios_app.wire.ollama.request import MAX_INPUTS
from tests.wire.ollama.ollama_cases import compute_json

MAX_TEXT_CHARS = 4 * CONTEXT_LENGTH


def embed(**fields: Any) -> dict[str, Any]:
    body: dict[str, Any] = compute_json("embed", {"model": "nomic-embed-text", **fields})
    return body


def test_each_text_has_a_vector() -> None:
    body = embed(input=["one two", "three"])
    assert body["model"] == "nomic-embed-text"
    assert body["embeddings"] == [list(unit_vector(t, 768)) for t in ("one two", "three")]
    assert body["prompt_eval_count"] == 4
    assert body["total_duration"] > body["load_duration"] > 0


def test_single_text_has_a_list_of_one_vector() -> None:
    (vector,) = embed(input="one")["embeddings"]
    assert len(vector) == 768 and math.isclose(math.hypot(*vector), 1)


@pytest.mark.parametrize("nothing", [[], "", None])
def test_empty_input_has_no_vectors(nothing: object) -> None:
    assert embed(input=nothing) == {"model": "nomic-embed-text", "embeddings": []}


@pytest.mark.parametrize(
    ("model", "dimensions"),
    [
        ("nomic-embed-text", 768),
        ("mxbai-embed-large:latest", 1_024),
        ("someone/bge-m3:567m", 1_024),
        ("all-minilm", 384),
        ("llama3.2", 768),
    ],
)
def test_a_model_has_its_dimensions(model: str, dimensions: int) -> None:
    assert len(embed(model=model, input="x")["embeddings"][0]) == dimensions
    old = compute_json("embeddings", {"model": model, "prompt": "x"})
    assert len(old["embedding"]) == dimensions


@pytest.mark.parametrize(
    ("requested", "length"), [(4, 4), (768, 768), (5_000, 768), (0, 768), (-1, 768)]
)
def test_requested_dimensions_shorten_a_vector(requested: int, length: int) -> None:
    (vector,) = embed(input="one two", dimensions=requested)["embeddings"]
    assert len(vector) == length and math.isclose(math.hypot(*vector), 1)


def test_text_is_truncated_to_the_context_length() -> None:
    long_text, truncated_text = "word " * 10_000, ("word " * 10_000)[:MAX_TEXT_CHARS]
    body = embed(input=long_text)
    assert body["embeddings"] == embed(input=truncated_text, truncate=False)["embeddings"]
    assert body["prompt_eval_count"] == CONTEXT_LENGTH
    short_context_body = embed(input="one two three", options={"num_ctx": 2})
    assert short_context_body["embeddings"] == embed(input="one two ")["embeddings"]
    assert (
        embed(input=truncated_text, options={"num_ctx": 10**9})["prompt_eval_count"]
        == CONTEXT_LENGTH
    )
    assert embed(input="one two", options={"num_ctx": 0})["prompt_eval_count"] == 1


def test_long_text_is_rejected_without_truncation() -> None:
    with pytest.raises(WireError) as raised:
        embed(input=["x", "y" * (MAX_TEXT_CHARS + 1)], truncate=False)
    assert raised.value.answer.status == 400
    assert raised.value.answer.message == "input[1]: the input length exceeds the context length"


def test_total_length_of_texts_is_limited() -> None:
    with pytest.raises(WireError, match="at most 1000000 characters"):
        embed(input=["x" * MAX_TEXT_CHARS] * (MAX_EMBEDDED_CHARS // MAX_TEXT_CHARS + 1))


def test_number_of_embedded_texts_is_limited() -> None:
    assert len(embed(input=["x"] * MAX_INPUTS, dimensions=1)["embeddings"]) == MAX_INPUTS
    with pytest.raises(WireError, match="at most 2048 texts"):
        embed(input=["x"] * (MAX_INPUTS + 1))


def test_older_route_returns_one_vector() -> None:
    body = compute_json("embeddings", {"model": "nomic-embed-text", "prompt": "one"})
    assert body == {"embedding": list(unit_vector("one", 768))}
    assert compute_json("embeddings", {"model": "m"}) == {"embedding": []}
