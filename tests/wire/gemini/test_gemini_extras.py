"""What Gemini computes: token counts, embeddings, the models."""

import json
import math
from typing import Any

import pytest

from scenarios_app.wire.base import ComputeContext
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import find_target
from tests.wire.gemini.gemini_cases import CONTEXT, HELLO, LEAST, MODEL, call, computed, parse, read

EMBEDDING = "/v1beta/models/gemini-embedding-001"


def asked(path: str, body: Any) -> Any:
    return computed(call(path, json.dumps(body).encode()))


def count(body: Any) -> int:
    answer = asked(f"{MODEL}:countTokens", body)
    assert set(answer) == {"totalTokens"}
    return int(answer["totalTokens"])


def content(text: str) -> dict[str, Any]:
    return {"parts": [{"text": text}]}


def embed(text: str, path: str = EMBEDDING, **fields: Any) -> list[float]:
    answer = asked(f"{path}:embedContent", {"content": content(text), **fields})
    values: list[float] = answer["embedding"]["values"]
    return values


def likeness(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def refused(path: str, body: Any) -> WireError:
    with pytest.raises(WireError) as caught:
        asked(path, body)
    assert caught.value.answer.status == 400
    return caught.value


def test_tokens_are_counted_from_contents_or_from_a_whole_request() -> None:
    whole = {**LEAST, "systemInstruction": content("Answer in French, please.")}
    assert count(LEAST) == 2
    assert count({"generateContentRequest": {"model": "models/x", **whole}}) == count(whole) == 8
    assert count({"generate_content_request": whole}) == 8


def test_count_tokens_validates_its_request() -> None:
    assert refused(f"{MODEL}:countTokens", {}).answer.param == "contents"


def test_a_text_is_a_vector_of_length_one_and_always_the_same() -> None:
    values = embed("The weather in Paris")
    assert len(values) == 3072
    assert math.isclose(likeness(values, values), 1)
    assert embed("The weather in Paris") == values


def test_texts_that_are_alike_are_near() -> None:
    paris = embed("The weather in Paris is fine")
    near, far = embed("How fine is the weather in Paris"), embed("Sell all my stocks tomorrow")
    assert likeness(paris, near) > likeness(paris, far)


@pytest.mark.parametrize(
    ("model", "dimensions"),
    [("gemini-embedding-001", 3072), ("text-embedding-004", 768), ("else", 3072)],
)
def test_each_model_has_its_dimensions(model: str, dimensions: int) -> None:
    assert len(embed("x", f"/v1/models/{model}")) == dimensions


@pytest.mark.parametrize("key", ["outputDimensionality", "output_dimensionality"])
def test_fewer_dimensions_may_be_asked_for(key: str) -> None:
    values = embed("x y z", **{key: 64})
    assert len(values) == 64
    assert math.isclose(likeness(values, values), 1)


def test_several_are_embedded_in_order() -> None:
    requests = [
        {"model": "models/gemini-embedding-001", "content": content("one")},
        {"content": content("two"), "outputDimensionality": 8},
    ]
    answer = asked(f"{EMBEDDING}:batchEmbedContents", {"requests": requests})
    one, two = (embedding["values"] for embedding in answer["embeddings"])
    assert one == embed("one")
    assert two == embed("two", outputDimensionality=8)


def test_the_parts_of_a_content_are_one_text() -> None:
    parts = {"parts": [{"text": "one"}, {"inlineData": {"data": ""}}, {"text": "two"}]}
    answer = asked(f"{EMBEDDING}:embedContent", {"content": parts})
    assert answer["embedding"]["values"] == embed("one\ntwo")


def test_the_beginning_of_a_long_text_is_read() -> None:
    long = "word " * 2_000
    assert embed(long) == embed(long[:8_192]) != embed(long[:8_000])


@pytest.mark.parametrize(
    ("verb", "body", "place"),
    [
        ("embedContent", {}, "content"),
        ("embedContent", {"content": "x"}, "content"),
        (
            "embedContent",
            {"content": content("x"), "outputDimensionality": 0},
            "outputDimensionality",
        ),
        (
            "embedContent",
            {"content": content("x"), "outputDimensionality": 3073},
            "outputDimensionality",
        ),
        (
            "embedContent",
            {"content": content("x"), "outputDimensionality": "eight"},
            "outputDimensionality",
        ),
        ("batchEmbedContents", {}, "requests"),
        ("batchEmbedContents", {"requests": []}, "requests"),
        ("batchEmbedContents", {"requests": [{"content": content("x")}] * 101}, "requests"),
        ("batchEmbedContents", {"requests": [{}]}, "requests[0].content"),
    ],
)
def test_invalid_embedding_input_is_rejected_with_its_path(
    verb: str, body: Any, place: str
) -> None:
    assert refused(f"{EMBEDDING}:{verb}", body).answer.param == place


def test_a_step_can_match_what_is_embedded() -> None:
    body = json.dumps({"content": content("Hello")}).encode()
    request = read(call("/v1/models/m:embedContent", body))
    assert (request.last_user_text, request.model) == ("Hello", "m")
    assert request.route == "/v1beta/models/{model}:embedContent"


@pytest.mark.parametrize("version", ["v1beta", "v1"])
def test_models_are_listed(version: str) -> None:
    models = computed(call(f"/{version}/models", method="GET"))["models"]
    assert [model["name"] for model in models] == ["models/gemini-a", "tunedModels/b"]
    assert models[0]["supportedGenerationMethods"] == ["generateContent", "countTokens"]
    assert models[0]["displayName"] == "gemini-a"


@pytest.mark.parametrize("size", ["pageSize", "page_size"])
def test_models_come_in_pages(size: str) -> None:
    def page(**query: str) -> Any:
        return computed(call("/v1beta/models", method="GET", query={size: "1", **query}))

    first = page()
    second = page(pageToken=first["nextPageToken"])
    names = [model["name"] for found in (first, second) for model in found["models"]]
    assert names == ["models/gemini-a", "tunedModels/b"]
    assert "nextPageToken" not in second


@pytest.mark.parametrize("given", ["", "0", "1000000000000"])
def test_a_size_of_none_and_of_very_many_are_the_servers_own(given: str) -> None:
    found = computed(call("/v1beta/models", method="GET", query={"pageSize": given}))
    assert len(found["models"]) == 2


def test_the_servers_own_size_is_fifty() -> None:
    context = ComputeContext({f"m-{number}": "gemini" for number in range(1200)}, 0, "f00d")
    for query, size in (({}, 50), ({"pageSize": "2000"}, 1000)):
        sent = call("/v1beta/models", method="GET", query=query)
        target = find_target(sent)
        assert target is not None and target.endpoint is not None
        page = json.loads(target.endpoint.compute(read(sent), context))
        assert len(page["models"]) == size


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ({"pageSize": "-1"}, "pageSize"),
        ({"pageSize": "x"}, "pageSize"),
        ({"pageSize": "²"}, "pageSize"),
        ({"pageToken": "x"}, "pageToken"),
        ({"pageToken": "eHh4"}, "pageToken"),
        ({"pageToken": "LTE="}, "pageToken"),
        ({"pageToken": "é"}, "pageToken"),
    ],
)
def test_a_page_that_there_is_not(query: dict[str, str], place: str) -> None:
    sent = call("/v1beta/models", method="GET", query=query)
    with pytest.raises(WireError) as caught:
        computed(sent)
    assert (caught.value.answer.status, caught.value.answer.param) == (400, place)


def test_a_page_beyond_the_last_is_empty() -> None:
    sent = call("/v1beta/models", method="GET", query={"pageToken": "MTA="})
    assert computed(sent)["models"] == []


def test_a_model_is_told_by_its_name() -> None:
    assert computed(call("/v1beta/models/gemini-a", method="GET"))["name"] == "models/gemini-a"
    models = {**CONTEXT.models, "text-embedding-9": "gemini"}
    sent = call("/v1/models/text-embedding-9", method="GET")
    target = find_target(sent)
    assert target is not None and target.endpoint is not None
    body = target.endpoint.compute(read(sent), ComputeContext(models, 0, "f00d"))
    assert json.loads(body)["supportedGenerationMethods"] == ["embedContent", "countTokens"]


@pytest.mark.parametrize("version", ["v1beta", "v1", "v1alpha"])
def test_an_unknown_model_is_not_found(version: str) -> None:
    with pytest.raises(WireError, match=f"models/gemini-z for api version {version}\\.") as caught:
        computed(call(f"/{version}/models/gemini-z", method="GET"))
    assert caught.value.answer.status == 404


def test_counting_reads_the_rest_as_well() -> None:
    assert parse({"contents": [HELLO]}, f"{MODEL}:countTokens").route.endswith(":countTokens")
