"""Ollama's embeddings: how many numbers, of how much of the text, and the same every time."""

import math
from typing import Any

import pytest

from scenarios_app.wire.embedding import unit_vector
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.ollama.models import CONTEXT_LENGTH, MAX_EMBEDDED_CHARS
from scenarios_app.wire.ollama.request import MAX_INPUTS
from tests.wire.ollama.ollama_cases import computed

LONGEST = 4 * CONTEXT_LENGTH


def embed(**fields: Any) -> dict[str, Any]:
    told: dict[str, Any] = computed("embed", {"model": "nomic-embed-text", **fields})
    return told


def test_a_vector_for_each_text() -> None:
    told = embed(input=["one two", "three"])
    assert told["model"] == "nomic-embed-text"
    assert told["embeddings"] == [list(unit_vector(t, 768)) for t in ("one two", "three")]
    assert told["prompt_eval_count"] == 4
    assert told["total_duration"] > told["load_duration"] > 0


def test_a_single_text_has_a_list_of_its_own() -> None:
    (vector,) = embed(input="one")["embeddings"]
    assert len(vector) == 768 and math.isclose(math.hypot(*vector), 1)


@pytest.mark.parametrize("nothing", [[], "", None])
def test_nothing_has_no_vector(nothing: object) -> None:
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
    old = computed("embeddings", {"model": model, "prompt": "x"})
    assert len(old["embedding"]) == dimensions


@pytest.mark.parametrize(("asked", "got"), [(4, 4), (768, 768), (5_000, 768), (0, 768), (-1, 768)])
def test_dimensions_make_a_vector_shorter(asked: int, got: int) -> None:
    (vector,) = embed(input="one two", dimensions=asked)["embeddings"]
    assert len(vector) == got and math.isclose(math.hypot(*vector), 1)


def test_a_text_is_read_as_far_as_the_context_goes() -> None:
    long, short = "word " * 10_000, ("word " * 10_000)[:LONGEST]
    told = embed(input=long)
    assert told["embeddings"] == embed(input=short, truncate=False)["embeddings"]
    assert told["prompt_eval_count"] == CONTEXT_LENGTH
    narrow = embed(input="one two three", options={"num_ctx": 2})
    assert narrow["embeddings"] == embed(input="one two ")["embeddings"]
    assert embed(input=short, options={"num_ctx": 10**9})["prompt_eval_count"] == CONTEXT_LENGTH
    assert embed(input="one two", options={"num_ctx": 0})["prompt_eval_count"] == 1


def test_a_text_that_is_too_long_can_be_refused() -> None:
    with pytest.raises(WireError) as raised:
        embed(input=["x", "y" * (LONGEST + 1)], truncate=False)
    assert raised.value.answer.status == 400
    assert raised.value.answer.message == "input[1]: the input length exceeds the context length"


def test_all_texts_together_have_a_limit() -> None:
    with pytest.raises(WireError, match="at most 1000000 characters"):
        embed(input=["x" * LONGEST] * (MAX_EMBEDDED_CHARS // LONGEST + 1))


def test_number_of_embedded_texts_is_limited() -> None:
    assert len(embed(input=["x"] * MAX_INPUTS)["embeddings"]) == MAX_INPUTS
    with pytest.raises(WireError, match="at most 2048 texts"):
        embed(input=["x"] * (MAX_INPUTS + 1))


def test_the_older_form_gives_one_vector() -> None:
    told = computed("embeddings", {"model": "nomic-embed-text", "prompt": "one"})
    assert told == {"embedding": list(unit_vector("one", 768))}
    assert computed("embeddings", {"model": "m"}) == {"embedding": []}
