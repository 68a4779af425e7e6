"""Fixtures of OpenAI's clients: plain and for Azure."""

import pytest

from tests.sdk.client_factories import SYNC_OR_ASYNC, make_openai_client, strict_options
from tests.sdk.openai.openai_client import AsyncOpenAIClient, OpenAIClient, SyncOpenAIClient
from tests.support.live_server import Live


@pytest.fixture(params=SYNC_OR_ASYNC)
def client(request: pytest.FixtureRequest, live: Live) -> OpenAIClient:
    """Return OpenAI's client; this overrides the fixture for all providers."""
    return make_openai_client(live, request.param)


@pytest.fixture(params=SYNC_OR_ASYNC)
def azure(request: pytest.FixtureRequest, live: Live) -> OpenAIClient:
    options = strict_options(live, "")
    del options["base_url"]
    options |= {"azure_endpoint": live.base_url, "api_version": "2025-04-01-preview"}
    if request.param == "sync":
        return SyncOpenAIClient(options, azure=True)
    return AsyncOpenAIClient(options, azure=True)
