"""Recordings of an installed provider can be edited and replayed, and SDKs are pointed at it."""

import json
from typing import Any

import pytest

from scenarios_app.engine.document import load_documents
from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.document import to_document
from scenarios_app.recording.upstreams import public_upstreams, read_upstreams, upstream_of
from scenarios_app.testing.live import live_drift
from scenarios_app.testing.variables import base_urls, real_keys, sdk_variables
from tests.admin.change_cost.acme import BASE_URL, KEY, chat
from tests.serving.pipelines import Playing
from tests.testing.conftest import Run, run  # noqa: F401

BODY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "acme-1",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hi there."},
            "finish_reason": "stop",
        }
    ],
}


def recorded_document() -> dict[str, Any]:
    """Return the document of one recorded chat request, sent to the real host."""
    call = chat("Hello")
    headers = (("x-acme", KEY), ("content-type", "application/json"))
    request = RecordedRequest("POST", f"{BASE_URL}/acme/chat", headers, call.body)
    body = json.dumps(BODY).encode()
    response = RecordedResponse(200, (("content-type", "application/json"),), ((0, body),))
    return to_document("recorded", [Interaction(request, response)]).document


def test_recorded_response_of_an_installed_wire_has_editable_text() -> None:
    (step,) = recorded_document()["steps"]
    assert step["match"]["provider"] == "acme"
    assert step["produce"]["text"] == "Hi there."
    assert "raw" not in step["produce"]
    assert KEY not in json.dumps(step)


async def test_recording_of_an_installed_wire_is_replayed_byte_for_byte() -> None:
    (document,) = load_documents(recorded_document())
    playing = Playing(document.model_dump(by_alias=True, exclude_defaults=True))
    status, _, body = await playing.ask(chat("Hello"))
    assert (status, body) == (200, json.dumps(BODY).encode())


def test_requests_of_an_installed_wire_are_forwarded_to_its_upstream() -> None:
    assert read_upstreams(["acme"]) == {"acme": BASE_URL}
    assert upstream_of(chat("Hello"), public_upstreams()) == ("acme", f"{BASE_URL}/acme/chat")


def test_variables_of_an_installed_wire_are_set_and_read() -> None:
    variables = sdk_variables("http://127.0.0.1:1", "key", environment={})
    assert variables["ACME_BASE_URL"] == "http://127.0.0.1:1/acme"
    assert variables["ACME_API_KEY"] == "key"
    environment = {"ACME_API_KEY": KEY, "ACME_BASE_URL": "https://proxy.example/acme"}
    assert real_keys(environment) == {"acme": KEY}
    assert base_urls(environment) == {"acme": "https://proxy.example/acme"}


async def test_live_drift_sends_the_key_in_the_header_of_an_installed_wire(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[Any] = []

    async def current_shape(request: Any) -> dict[str, Any]:
        sent.append(request)
        return {}

    monkeypatch.setattr("scenarios_app.testing.live._current_shape", current_shape)
    await live_drift([recorded_document()], upstreams={"acme": BASE_URL}, keys={"acme": KEY})
    assert sent[0].url == f"{BASE_URL}/acme/chat"
    assert dict(sent[0].headers)["x-acme"] == KEY


TEST_OF_A_USER = """
import os

def test_variables(mockllm):
    assert os.environ["ACME_BASE_URL"] == mockllm.base_url + "/acme"
    assert os.environ["ACME_API_KEY"] == mockllm.api_key
"""


@pytest.mark.timeout(300)
def test_plugin_points_the_sdk_of_an_installed_wire_at_its_server(run: Run) -> None:  # noqa: F811
    run(test_acme=TEST_OF_A_USER).assert_outcomes(passed=1)
