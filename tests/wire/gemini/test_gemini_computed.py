"""Responses that the Gemini wire computes: token counts, embeddings and models."""

import json
import math
from typing import Any

import pytest

from scenarios_app.wire.base import ComputeContext
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.registry import find_target
from tests.wire.gemini.gemini_cases import (
    CONTEXT,
    HELLO,
    MINIMAL_BODY,
    MODEL,
    call,
    compute_json,
    parse,
    read,
)

EMBEDDING = "/v1beta/models/gemini-embedding-001"


def post(path: str, body: Any) -> Any:
    return compute_json(call(path, json.dumps(body).encode()))


def count_tokens(body: Any) -> int:
    answer = post(f"{MODEL}:countTokens", body)
    assert set(answer) == {"totalTokens"}
    return int(answer["totalTokens"])


def content(text: str) -> dict[str, Any]:
    return {"parts": [{"text": text}]}


def embed(text: str, path: str = EMBEDDING, **fields: Any) -> list[float]:
    answer = post(f"{path}:embedContent", {"content": content(text), **fields})
    values: list[float] = answer["embedding"]["values"]
    return values


def dot_product(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def catch_error(path: str, body: Any) -> WireError:
    with pytest.raises(WireError) as raised:
        post(path, body)
    assert raised.value.answer.status == 400
    return raised.value


def test_tokens_are_counted_from_contents_or_a_full_request() -> None:
    full_request = {**MINIMAL_BODY, "systemInstruction": content("Answer in French, please.")}
    assert count_tokens(MINIMAL_BODY) == 2
    assert (
        count_tokens({"generateContentRequest": {"model": "models/x", **full_request}})
        == count_tokens(full_request)
        == 8
    )
    assert count_tokens({"generate_content_request": full_request}) == 8


def test_count_tokens_validates_its_request() -> None:
    assert catch_error(f"{MODEL}:countTokens", {}).answer.param == "contents"


def test_embedding_is_a_deterministic_unit_vector() -> None:
    values = embed("The weather in Paris")
    assert len(values) == 3072
    assert math.isclose(dot_product(values, values), 1)
    assert embed("The weather in Paris") == values


def test_similar_texts_have_near_embeddings() -> None:
    paris = embed("The weather in Paris is fine")
    near, far = embed("How fine is the weather in Paris"), embed("Sell all my stocks tomorrow")
    assert dot_product(paris, near) > dot_product(paris, far)


@pytest.mark.parametrize(
    ("model", "dimensions"),
    [("gemini-embedding-001", 3072), ("text-embedding-004", 768), ("else", 3072)],
)
def test_embedding_has_the_dimensions_of_its_model(model: str, dimensions: int) -> None:
    assert len(embed("x", f"/v1/models/{model}")) == dimensions


@pytest.mark.parametrize("key", ["outputDimensionality", "output_dimensionality"])
def test_embedding_has_the_requested_dimensions(key: str) -> None:
    values = embed("x y z", **{key: 64})
    assert len(values) == 64
    assert math.isclose(dot_product(values, values), 1)


def test_batch_is_embedded_in_order() -> None:
    requests = [
        {"model": "models/gemini-embedding-001", "content": content("one")},
        {"content": content("two"), "outputDimensionality": 8},
    ]
    answer = post(f"{EMBEDDING}:batchEmbedContents", {"requests": requests})
    first, second = (embedding["values"] for embedding in answer["embeddings"])
    assert first == embed("one")
    assert second == embed("two", outputDimensionality=8)


def test_parts_of_a_content_are_embedded_as_one_text() -> None:
    parts = {"parts": [{"text": "one"}, {"inlineData": {"data": ""}}, {"text": "two"}]}
    answer = post(f"{EMBEDDING}:embedContent", {"content": parts})
    assert answer["embedding"]["values"] == embed("one\ntwo")


def test_only_the_beginning_of_a_long_text_is_embedded() -> None:
    long_text = "word " * 2_000
    assert embed(long_text) == embed(long_text[:8_192]) != embed(long_text[:8_000])


@pytest.mark.parametrize(
    ("verb", "body", "param"),
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
    verb: str, body: Any, param: str
) -> None:
    assert catch_error(f"{EMBEDDING}:{verb}", body).answer.param == param


def test_embedded_text_is_the_last_user_text() -> None:
    body = json.dumps({"content": content("Hello")}).encode()
    request = read(call("/v1/models/m:embedContent", body))
    assert (request.last_user_text, request.model) == ("Hello", "m")
    assert request.route == "/v1beta/models/{model}:embedContent"


@pytest.mark.parametrize("version", ["v1beta", "v1"])
def test_models_are_listed(version: str) -> None:
    models = compute_json(call(f"/{version}/models", method="GET"))["models"]
    assert [model["name"] for model in models] == ["models/gemini-a", "tunedModels/b"]
    assert models[0]["supportedGenerationMethods"] == ["generateContent", "countTokens"]
    assert models[0]["displayName"] == "gemini-a"


@pytest.mark.parametrize("size", ["pageSize", "page_size"])
def test_models_are_listed_in_pages(size: str) -> None:
    def page(**query: str) -> Any:
        return compute_json(call("/v1beta/models", method="GET", query={size: "1", **query}))

    first = page()
    second = page(pageToken=first["nextPageToken"])
    names = [model["name"] for models_page in (first, second) for model in models_page["models"]]
    assert names == ["models/gemini-a", "tunedModels/b"]
    assert "nextPageToken" not in second


@pytest.mark.parametrize("page_size", ["", "0", "1000000000000"])
def test_empty_zero_and_huge_page_sizes_mean_the_default(page_size: str) -> None:
    models_page = compute_json(call("/v1beta/models", method="GET", query={"pageSize": page_size}))
    assert len(models_page["models"]) == 2


def test_default_page_size_is_fifty_and_the_maximum_1000() -> None:
    context = ComputeContext({f"m-{number}": "gemini" for number in range(1200)}, 0, "f00d")
    for query, size in (({}, 50), ({"pageSize": "2000"}, 1000)):
        request_call = call("/v1beta/models", method="GET", query=query)
        target = find_target(request_call)
        assert target is not None and target.endpoint is not None
        page = json.loads(target.endpoint.compute(read(request_call), context))
        assert len(page["models"]) == size


@pytest.mark.parametrize(
    ("query", "param"),
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
def test_invalid_page_is_rejected_with_its_field(query: dict[str, str], param: str) -> None:
    request_call = call("/v1beta/models", method="GET", query=query)
    with pytest.raises(WireError) as raised:
        compute_json(request_call)
    assert (raised.value.answer.status, raised.value.answer.param) == (400, param)


def test_a_page_beyond_the_last_is_empty() -> None:
    request_call = call("/v1beta/models", method="GET", query={"pageToken": "MTA="})
    assert compute_json(request_call)["models"] == []


def test_model_is_retrieved_by_its_name() -> None:
    assert compute_json(call("/v1beta/models/gemini-a", method="GET"))["name"] == "models/gemini-a"
    models = {**CONTEXT.models, "text-embedding-9": "gemini"}
    request_call = call("/v1/models/text-embedding-9", method="GET")
    target = find_target(request_call)
    assert target is not None and target.endpoint is not None
    body = target.endpoint.compute(read(request_call), ComputeContext(models, 0, "f00d"))
    assert json.loads(body)["supportedGenerationMethods"] == ["embedContent", "countTokens"]


@pytest.mark.parametrize("version", ["v1beta", "v1", "v1alpha"])
def test_an_unknown_model_is_not_found(version: str) -> None:
    with pytest.raises(WireError, match=f"models/gemini-z for api version {version}\\.") as raised:
        compute_json(call(f"/{version}/models/gemini-z", method="GET"))
    assert raised.value.answer.status == 404


def test_count_tokens_request_has_its_route() -> None:
    assert parse({"contents": [HELLO]}, f"{MODEL}:countTokens").route.endswith(":countTokens")
