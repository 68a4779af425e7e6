"""A profile of Ollama's without a key, with this server in Ollama's place: on its port."""

from typing import Any

import httpx2
import pytest

from chat_app.clients.registry import get_client
from mockllm_site.kit import dial as dialing
from tests.chat.ways import ask, profile, request
from tests.serving.pipelines import scenario
from tests.support.live_server import Live


@pytest.fixture
def on_ollamas_port(live: Live, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Live:
    """The live server, at another port than the one that clients are told."""
    settings.MOCKLLM_ENV = "dev"
    pinned = dialing._with_host

    def elsewhere(request: httpx2.Request, *rest: Any) -> httpx2.Request:
        found = pinned(request, *rest)
        found.url = found.url.copy_with(port=live.port)
        return found

    monkeypatch.setattr(dialing, "_with_host", elsewhere)
    return live


@pytest.mark.parametrize("base_url", ["", "http://127.0.0.1:11434/v1", "http://localhost:11434/v1"])
def test_it_is_answered_without_a_key(on_ollamas_port: Live, base_url: str) -> None:
    on_ollamas_port.load(scenario("talk", {"produce": {"reasoning": "Hm.", "text": "Hi."}}))
    client = get_client(profile("ollama", base_url=base_url), session="none")
    received = ask(client, request())
    assert received.finished.reason == "stop"
    assert (received.text, [piece.text for piece in received.thinking]) == ("Hi.", ["Hm."])


def test_any_other_profile_is_too(on_ollamas_port: Live, settings: Any) -> None:
    on_ollamas_port.load(scenario("talk", {"produce": {"text": "Hi."}}))
    client = get_client(profile("mine", base_url="http://127.0.0.1:11434/v1"), session="none")
    assert ask(client, request()).text == "Hi."
