"""OpenAI's embeddings: inputs in their four forms, vectors as floats and as base64."""

import base64
import json
import math
import struct
import tracemalloc
from typing import Any

import msgspec
import pytest
from hypothesis import given
from openai._models import validate_type
from openai.types import CreateEmbeddingResponse
from openai.types.embedding_create_params import EmbeddingCreateParams

from scenarios_app.engine.canonical import CanonicalRequest, ErrorAnswer
from scenarios_app.engine.parts import OpaquePart, TextPart
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.embedding import unit_vector
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.models import compute_embeddings
from scenarios_app.wire.openai.wire import WIRE, WIRES
from scenarios_app.wire.registry import find_target
from tests.support.hypothesis_profiles import example_count
from tests.wire.json_strategies import relaxed, values_of
from tests.wire.openai.openai_cases import make_call
from tests.wire.openai.test_openai_computed import CONTEXT

PATH = "/v1/embeddings"
SMALL = "text-embedding-3-small"


def read(body: Any, path: str = PATH) -> CanonicalRequest:
    raw = msgspec.json.encode(body)
    target = find_target(make_call(path=path, body=raw))
    assert target is not None and target.endpoint is not None
    assert target.wire in WIRES
    assert target.endpoint.canonical == PATH
    call = make_call(path=path, body=raw)
    return target.endpoint.read(call, target.endpoint, target.params, read_body(raw, Limits()))


def embed(input_: Any = "Hello", *, model: str = SMALL, **fields: Any) -> dict[str, Any]:
    request = read({"model": model, "input": input_, **fields})
    route = next(route for route in WIRE.endpoints if route.pattern == PATH)
    answer: dict[str, Any] = json.loads(route.compute(request, CONTEXT))
    return answer


def embed_vectors(*args: Any, **fields: Any) -> list[Any]:
    return [item["embedding"] for item in embed(*args, **fields)["data"]]


def catch_error(input_: Any = "Hello", **fields: Any) -> ErrorAnswer:
    with pytest.raises(WireError) as raised:
        read({"model": SMALL, "input": input_, **fields})
    return raised.value.answer


def test_response_has_an_id_only_in_dialects() -> None:
    assert "id" not in embed()
    request = read({"model": SMALL, "input": "Hello"}, "/mistral/v1/embeddings")
    assert json.loads(compute_embeddings(request, CONTEXT))["id"] == f"embd-{CONTEXT.request_id}"


def test_response_is_built_without_a_second_copy() -> None:
    request = read({"model": SMALL, "input": [f"text {number}" for number in range(100)]})
    compute_embeddings(request, CONTEXT)
    tracemalloc.start()
    try:
        body = compute_embeddings(request, CONTEXT)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * len(body)


def test_a_text_gets_a_unit_vector() -> None:
    answer = embed(dimensions=4)
    validate_type(type_=CreateEmbeddingResponse, value=answer)
    (item,) = answer["data"]
    assert (item["object"], item["index"]) == ("embedding", 0)
    assert item["embedding"] == pytest.approx(unit_vector("Hello", 4))
    assert (answer["object"], answer["model"]) == ("list", SMALL)
    assert answer["usage"] == {"prompt_tokens": 2, "total_tokens": 2}


def test_each_input_has_its_vector() -> None:
    answer = embed(["Hello", "there"], dimensions=4)
    assert [item["index"] for item in answer["data"]] == [0, 1]
    assert embed_vectors(["Hello", "there"], dimensions=4) == [
        *embed_vectors("Hello", dimensions=4),
        *embed_vectors("there", dimensions=4),
    ]
    assert answer["usage"]["prompt_tokens"] == 4


def test_token_inputs_are_embedded() -> None:
    assert embed_vectors([1, 2, 3]) == embed_vectors([[1, 2, 3]])
    first, second = embed_vectors([[1, 2, 3], [4]])
    assert first != second
    assert embed([[1, 2, 3], [4]])["usage"]["total_tokens"] == 4


def test_base64_is_the_same_vector_in_little_endian_single_precision() -> None:
    (packed,) = embed_vectors(dimensions=3, encoding_format="base64")
    assert isinstance(packed, str)
    unpacked = struct.unpack("<3f", base64.b64decode(packed))
    (floats,) = embed_vectors(dimensions=3, encoding_format="float")
    assert list(unpacked) == floats
    assert floats == embed_vectors(dimensions=3)[0]


@pytest.mark.parametrize(
    ("model", "dimensions"),
    [
        (SMALL, 1536),
        ("text-embedding-3-large", 3072),
        ("text-embedding-ada-002", 1536),
        ("my-own", 1536),
    ],
)
def test_a_model_has_its_dimensions(model: str, dimensions: int) -> None:
    (vector,) = embed_vectors(model=model)
    assert len(vector) == dimensions
    assert math.isclose(sum(value * value for value in vector), 1, rel_tol=1e-6)


@pytest.mark.parametrize(
    ("model", "dimensions", "is_valid"),
    [
        (SMALL, 1, True),
        (SMALL, 0, False),
        (SMALL, 1537, False),
        ("text-embedding-3-large", 3072, True),
        ("text-embedding-3-large", 3073, False),
        ("my-own", 3072, True),
    ],
)
def test_dimensions_are_limited_by_the_model(model: str, dimensions: int, is_valid: bool) -> None:
    if is_valid:
        assert len(embed_vectors(model=model, dimensions=dimensions)[0]) == dimensions
    else:
        assert catch_error(model=model, dimensions=dimensions).param == "dimensions"


def test_inputs_are_user_messages_to_be_matched() -> None:
    messages = read({"model": SMALL, "input": ["a", [1]]}).messages
    assert [(m.role, m.parts) for m in messages] == [
        ("user", (TextPart("a"),)),
        ("user", (OpaquePart("tokens"),)),
    ]


def test_an_azure_deployment_is_the_model() -> None:
    request = read({"input": "x"}, "/openai/deployments/my%20own/embeddings")
    assert request.model == "my own"


@pytest.mark.parametrize(
    ("input_", "param"),
    [
        (None, "input"),
        ("", "input"),
        ([], "input"),
        (1, "input"),
        ({}, "input"),
        (["a", ""], "input[1]"),
        ([[1], []], "input[1]"),
        (["a", None], "input[1]"),
        ([True], "input[0]"),
        ([1, "a"], "input[1]"),
        ([[1, "a"]], "input[0][1]"),
        (["a"] * 2049, "input"),
        (["x" * 600_000, "x" * 600_004], "input"),
    ],
)
def test_invalid_input_is_rejected_with_its_path(input_: Any, param: str) -> None:
    error = catch_error(input_)
    assert (error.status, error.param) == (400, param)


def test_inputs_up_to_the_real_limits_are_accepted() -> None:
    assert len(read({"model": SMALL, "input": ["a"] * 2048}).messages) == 2048
    read({"model": SMALL, "input": ["x" * 600_000, "x" * 600_000]})


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"encoding_format": "int8"}, "encoding_format"),
        ({"encoding_format": 1}, "encoding_format"),
        ({"dimensions": "x"}, "dimensions"),
        ({"user": 1}, "user"),
        ({"model": None}, "model"),
    ],
)
def test_invalid_field_is_rejected_with_its_path(fields: dict[str, Any], param: str) -> None:
    assert catch_error(**fields).param == param


@relaxed(max_examples=example_count(300))
@given(values_of(EmbeddingCreateParams))
def test_every_request_that_the_official_types_allow_is_accepted(body: Any) -> None:
    input_ = body["input"]
    if not input_ or (isinstance(input_, list) and any(item in ("", []) for item in input_)):
        input_ = "x"
    fields = {key: value for key, value in body.items() if key not in ("input", "model")}
    answer = embed(input_, **{**fields, "dimensions": 2})
    if body.get("encoding_format") != "base64":
        validate_type(type_=CreateEmbeddingResponse, value=answer)
