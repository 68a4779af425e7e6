"""Requests over a WebSocket that ask for no output."""

import json
from collections.abc import Mapping

import msgspec
import pytest

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.base import Call, ComputedResponse
from scenarios_app.wire.body import Limits, read_body
from tests.wire.openai.responses_cases import CONTEXT, CREATE, PATH

OVER_SOCKET = {"sec-websocket-key": "MDEyMzQ1Njc4OWFiY2RlZg=="}


def read(headers: Mapping[str, str], **fields: object) -> CanonicalRequest:
    raw = msgspec.json.encode({"model": "gpt-4o", "input": "Hi", "stream": True, **fields})
    return CREATE.read(Call("POST", PATH, {}, headers, raw), CREATE, {}, read_body(raw, Limits()))


@pytest.mark.parametrize(
    ("headers", "generate", "computed"),
    [(OVER_SOCKET, False, True), (OVER_SOCKET, True, False), ({}, False, False)],
)
def test_only_a_request_over_a_websocket_can_ask_for_no_output(
    headers: Mapping[str, str], generate: bool, computed: bool
) -> None:
    assert read(headers, generate=generate).computed is computed


def test_warm_up_is_a_completed_response_without_output() -> None:
    assert CREATE.compute is not None
    computed = CREATE.compute(read(OVER_SOCKET, generate=False), CONTEXT)
    assert isinstance(computed, ComputedResponse)
    lines = computed.body.decode().splitlines()
    events = [json.loads(line[6:]) for line in lines if "data: " in line]
    types = [event["type"] for event in events]
    assert types == ["response.created", "response.in_progress", "response.completed"]
    response = events[-1]["response"]
    assert (response["id"], response["output"]) == ("resp_abc", [])
    assert response["usage"]["output_tokens"] == 0


@pytest.mark.parametrize(("store", "names"), [(True, ["resp_abc"]), (False, [])])
def test_warm_up_is_stored_unless_store_is_false(store: bool, names: list[str]) -> None:
    assert CREATE.archival is not None
    request = CREATE.archival.resolve(read(OVER_SOCKET, generate=False, store=store), {})
    assert CREATE.compute is not None
    computed = CREATE.compute(request, CONTEXT)
    assert isinstance(computed, ComputedResponse)
    assert [write.name for write in computed.writes] == names
