"""What the layer knows of the endpoints whose answers become templates."""

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.serving.fast.endpoints import _ROWS, FastEndpoint, find_fast_endpoint
from scenarios_app.wire.base import Call
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.registry import find_target, wires, wires_by_name
from scenarios_app.wire.samples import SampleRequest

GENERATE: dict[str, Any] = {"model": "m", "prompt": "a"}
RESPONSE: dict[str, Any] = {"model": "gpt-4o", "input": "Hello", "instructions": "Be brief."}


def read_with_row(path: str, body: dict[str, Any]) -> tuple[CanonicalRequest, FastEndpoint]:
    """Return the request of a body and the row of its endpoint."""
    call = Call("POST", path, {}, {"authorization": "Bearer sk-test"}, json.dumps(body).encode())
    target = find_target(call)
    assert target is not None and target.endpoint is not None
    row = find_fast_endpoint(target.endpoint)
    assert row is not None
    endpoint, node = target.endpoint, read_body(call.body, Limits())
    return endpoint.read(call, endpoint, target.params, node), row


def key_of(path: str, body: dict[str, Any], **changes: Any) -> Any:
    request, row = read_with_row(path, {**body, **changes})
    return row.key(request)


def test_each_row_is_that_of_a_generating_endpoint() -> None:
    paths = {each.canonical for wire in wires() for each in wire.endpoints if each.generates}
    assert paths >= _ROWS.keys()


@pytest.mark.parametrize("wire_name", wires_by_name())
def test_equal_samples_have_equal_keys(wire_name: str) -> None:
    keys = []
    for _ in range(2):
        sample = wires_by_name()[wire_name].sample(SampleRequest("Hello"))
        path, _, query = sample.path.partition("?")
        body = json.dumps(sample.body).encode()
        call = Call("POST", path, dict(parse_qsl(query)), sample.headers, body, query)
        target = find_target(call)
        assert target is not None and target.endpoint is not None
        if (row := find_fast_endpoint(target.endpoint)) is not None:
            node = read_body(body, Limits())
            request = target.endpoint.read(call, target.endpoint, target.params, node)
            keys.append(row.key(request))
    assert len(set(keys)) == (1 if keys else 0)


def test_key_of_a_prompt_is_short_and_differs_by_conversation() -> None:
    key = key_of("/api/generate", GENERATE)
    assert key == key_of("/api/generate", GENERATE, options={"num_predict": 5})
    changes: list[dict[str, Any]] = [
        {"prompt": "b"},
        {"raw": True},
        {"think": True},
        {"system": "b"},
    ]
    assert key not in [key_of("/api/generate", GENERATE, **change) for change in changes]
    assert len(repr(key_of("/api/generate", GENERATE, prompt="a" * 1_000_000))) < 1_000


def test_key_of_a_response_has_everything_but_the_input() -> None:
    key = key_of("/v1/responses", RESPONSE)
    assert key == key_of("/v1/responses", RESPONSE, input="Something else")
    assert key != key_of("/v1/responses", RESPONSE, instructions="Be long.")


def test_part_of_a_response_has_the_items_of_its_request() -> None:
    request, row = read_with_row("/v1/responses", RESPONSE)
    assert row.part is not None and row.with_sample_part is not None
    (item,) = json.loads(row.part(request, "abc"))
    assert (item["id"], item["content"][0]["text"]) == ("msg_abcin0", "Hello")
    (sample_item,) = json.loads(row.part(row.with_sample_part(request), "abc"))
    assert sample_item["id"] == "\0"
