"""Profiles of Ollama without a key, answered by this server at Ollama's address."""

from typing import Any

import httpx2
import pytest

from chat_app.clients.registry import get_client
from mockllm_site.kit import dial as dialing
from tests.chat.mock_provider import profile, receive_once, request
from tests.serving.pipelines import scenario
from tests.support.live_server import Live


@pytest.fixture
def ollama_server(live: Live, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Live:
    """The live server, to which connections to Ollama's port are redirected."""
    settings.MOCKLLM_ENV = "dev"
    original = dialing._request_to

    def redirect_to_live_server(request: httpx2.Request, *rest: Any) -> httpx2.Request:
        redirected = original(request, *rest)
        redirected.url = redirected.url.copy_with(port=live.port)
        return redirected

    monkeypatch.setattr(dialing, "_request_to", redirect_to_live_server)
    return live


@pytest.mark.parametrize("base_url", ["", "http://127.0.0.1:11434/v1", "http://localhost:11434/v1"])
def test_ollama_profile_is_answered_without_a_key(ollama_server: Live, base_url: str) -> None:
    ollama_server.load(scenario("talk", {"produce": {"reasoning": "Hm.", "text": "Hi."}}))
    client = get_client(profile("ollama", base_url=base_url), session="none")
    received = receive_once(client, request())
    assert received.finished.reason == "stop"
    assert (received.text, [piece.text for piece in received.thinking]) == ("Hi.", ["Hm."])


def test_custom_profile_is_answered_without_a_key(ollama_server: Live, settings: Any) -> None:
    ollama_server.load(scenario("talk", {"produce": {"text": "Hi."}}))
    client = get_client(profile("mine", base_url="http://127.0.0.1:11434/v1"), session="none")
    assert receive_once(client, request()).text == "Hi."
