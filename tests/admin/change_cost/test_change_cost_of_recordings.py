"""Recordings of an installed provider can be edited and replayed, and SDKs are pointed at it."""

import json
from typing import Any

import pytest

from scenarios_app.engine.document import load_documents
from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.document import to_document
from scenarios_app.recording.upstreams import find_upstream_url, public_upstreams, read_upstreams
from scenarios_app.serving.recorder.upstream import Outgoing
from scenarios_app.testing.live import live_drift
from scenarios_app.testing.variables import base_urls, real_keys, sdk_variables
from scenarios_app.wire import registry
from tests.admin.change_cost.acme import BASE_URL, KEY, ROUTING_HEADER, AcmeOnSharedPaths, chat
from tests.serving.pipelines import Harness
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


def recorded_document(url: str = f"{BASE_URL}/acme/chat", **headers: str) -> dict[str, Any]:
    """Return the document of one recorded chat request, sent to the real host."""
    call = chat("Hello", **headers)
    header_pairs = (*call.headers.items(), ("content-type", "application/json"))
    request = RecordedRequest("POST", url, header_pairs, call.body)
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
    pipeline = Harness(document.model_dump(by_alias=True, exclude_defaults=True))
    status, _, body = await pipeline.ask(chat("Hello"))
    assert (status, body) == (200, json.dumps(BODY).encode())


def test_requests_of_an_installed_wire_are_forwarded_to_its_upstream() -> None:
    assert read_upstreams(["acme"]) == {"acme": BASE_URL}
    assert find_upstream_url(chat("Hello"), public_upstreams()) == ("acme", f"{BASE_URL}/acme/chat")


def test_variables_of_an_installed_wire_are_set_and_read() -> None:
    variables = sdk_variables("http://127.0.0.1:1", "key", environment={})
    assert variables["ACME_BASE_URL"] == "http://127.0.0.1:1/acme"
    assert variables["ACME_API_KEY"] == "key"
    environment = {"ACME_API_KEY": KEY, "ACME_BASE_URL": "https://proxy.example/acme"}
    assert real_keys(environment) == {"acme": KEY}
    assert base_urls(environment) == {"acme": "https://proxy.example/acme"}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Outgoing]:
    """Return the requests that live drift would send."""
    requests: list[Outgoing] = []

    async def current_shape(request: Outgoing) -> dict[str, Any]:
        requests.append(request)
        return {}

    monkeypatch.setattr("scenarios_app.testing.live._fetch_shape", current_shape)
    return requests


async def test_live_drift_sends_the_key_in_the_header_of_an_installed_wire(
    sent: list[Outgoing],
) -> None:
    await live_drift([recorded_document()], upstreams={"acme": BASE_URL}, keys={"acme": KEY})
    assert sent[0].url == f"{BASE_URL}/acme/chat"
    assert dict(sent[0].headers)["x-acme"] == KEY


async def test_live_drift_asks_the_recorded_provider_on_a_path_that_another_one_has(
    sent: list[Outgoing],
) -> None:
    registry.install(AcmeOnSharedPaths(), *registry.SHIPPED)
    urls = {**public_upstreams(), "acme": BASE_URL}
    document = recorded_document("/v1/chat/completions", x_mockllm_company="acme")
    await live_drift([document], upstreams=urls, keys={"acme": KEY, "openai": "sk-openai"})
    assert sent[0].url == f"{BASE_URL}/v1/chat/completions"
    assert dict(sent[0].headers)["x-acme"] == KEY
    assert ROUTING_HEADER not in dict(sent[0].headers)


@pytest.mark.parametrize(
    ("recorded_url", "name", "url"),
    [
        ("https://api.groq.com/openai/v1/chat/completions", "groq", ""),
        ("/deepseek/chat/completions", "deepseek", "https://api.deepseek.com/v1/chat/completions"),
        ("https://r.openai.azure.com/openai/v1/chat/completions/c1", "azure", ""),
        ("https://api.openai.com/v1/chat/completions", "openai", ""),
    ],
)
async def test_live_drift_asks_the_recorded_dialect_with_its_key(
    sent: list[Outgoing], recorded_url: str, name: str, url: str
) -> None:
    urls = {**public_upstreams(), "azure": "https://r.openai.azure.com"}
    keys = {name: f"key-of-{name}" for name in urls}
    await live_drift([recorded_document(recorded_url)], upstreams=urls, keys=keys)
    assert (sent[0].name, sent[0].url) == (name, url or recorded_url)
    assert f"key-of-{name}" in " ".join(dict(sent[0].headers).values())


TEST_OF_A_USER = """
import os

def test_variables(mockllm):
    assert os.environ["ACME_BASE_URL"] == mockllm.base_url + "/acme"
    assert os.environ["ACME_API_KEY"] == mockllm.api_key
"""


@pytest.mark.timeout(300)
def test_plugin_points_the_sdk_of_an_installed_wire_at_its_server(run: Run) -> None:  # noqa: F811
    run(test_acme=TEST_OF_A_USER).assert_outcomes(passed=1)
