"""Requests to an installed provider are recorded and replayed; its `Upstream` selects them."""

import json
from typing import Any

from msgspec.structs import replace

from scenarios_app.recording.document import to_document
from scenarios_app.recording.importers import decode_recording
from scenarios_app.wire import registry
from scenarios_app.wire.base import Call
from tests.admin.change_cost.acme import (
    ROUTING_HEADER,
    UPSTREAM,
    Acme,
    AcmeForOpenAI,
    AcmeOnSharedPaths,
    chat,
)
from tests.admin.change_cost.test_change_cost_of_recordings import BODY
from tests.serving.pipelines import Harness
from tests.serving.recorder.upstreams import RecordingHarness, raw_provider, response_bytes

ANSWER = json.dumps(BODY).encode()
SHARED_PATH = "/v1/chat/completions"
ROUTING_HEADERS = {ROUTING_HEADER.replace("-", "_"): "acme"}


async def record(call: Call, *, name: str = "acme") -> tuple[str, dict[str, Any]]:
    """Return the path that the upstream received, and the document of the recording."""
    async with raw_provider(response_bytes(ANSWER, b"x-acme-trace: t-1")) as upstream:
        pipeline = RecordingHarness(
            upstream.address, upstreams={name: f"http://{upstream.address}"}
        )
        status, _, body = await pipeline.ask(call)
        assert (status, body) == (200, ANSWER), pipeline.recording.problems
        assert ROUTING_HEADER not in upstream.headers()
        path = upstream.heads[0].split()[1]
    interactions = pipeline.recording.wait_for_result(seconds=0).interactions
    return path, to_document("recorded", interactions).document


async def replay(document: dict[str, Any], call: Call) -> tuple[int, dict[str, str], bytes]:
    return await Harness(document).ask(call)


async def test_path_prefix_is_left_out_at_the_upstream_and_kept_in_the_recording() -> None:
    registry.install(Acme(replace(UPSTREAM, path_prefix="/acme")), *registry.SHIPPED)
    path, document = await record(chat("Hello"))
    assert path == "/chat"
    assert document["steps"][0]["match"]["path"] == "/acme/chat"
    status, headers, body = await replay(document, chat("Hello"))
    assert (status, headers["x-acme-trace"], body) == (200, "t-1", ANSWER)


async def test_routing_header_decides_the_upstream_and_the_provider_of_the_recording() -> None:
    registry.install(AcmeOnSharedPaths(), *registry.SHIPPED)
    call = chat("Hello", SHARED_PATH, **ROUTING_HEADERS)
    path, document = await record(call)
    assert path == SHARED_PATH
    assert document["steps"][0]["match"]["provider"] == "acme"
    assert (await replay(document, call))[2] == ANSWER
    others = chat("Hello", SHARED_PATH, authorization="Bearer k")
    assert (await replay(document, others))[0] == 404


async def test_own_path_prefix_decides_the_upstream_and_is_kept() -> None:
    registry.install(AcmeForOpenAI(), *registry.SHIPPED)
    path, document = await record(chat("Hello"))
    assert path == "/acme/chat"
    assert (await replay(document, chat("Hello")))[2] == ANSWER


async def test_calls_of_an_upstream_without_an_address_go_to_its_fallback() -> None:
    registry.install(AcmeForOpenAI(), *registry.SHIPPED)
    path, _ = await record(chat("Hello"), name="openai")
    assert path == "/acme/chat"


def test_trace_of_an_installed_wire_is_imported_by_its_telemetry_name() -> None:
    input_messages = [{"role": "user", "parts": [{"type": "text", "content": "Hello"}]}]
    output_messages = [{"role": "assistant", "parts": [{"type": "text", "content": "Hi there."}]}]
    values = {
        "gen_ai.provider.name": "acme.ai",
        "gen_ai.input.messages": json.dumps(input_messages),
        "gen_ai.output.messages": json.dumps(output_messages),
    }
    attributes = [{"key": key, "value": {"stringValue": text}} for key, text in values.items()]
    spans = [{"name": "chat", "attributes": attributes}]
    trace = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    recording = decode_recording(json.dumps(trace).encode(), source="trace.json")
    assert recording is not None
    (step,) = recording.convert("trace").document["steps"]
    assert step["match"]["provider"] == "acme"
