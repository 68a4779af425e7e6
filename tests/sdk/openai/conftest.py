"""OpenAI's client for all that is not chat, and the one for Azure."""

import pytest

from tests.sdk.openai.openai_client import AsyncClient, Client, SyncClient
from tests.sdk.talks import SYNC_OR_ASYNC, given, openais_whole_client
from tests.support.live_server import Live


@pytest.fixture(params=SYNC_OR_ASYNC)
def client(request: pytest.FixtureRequest, live: Live) -> Client:
    """In place of the client of each provider."""
    return openais_whole_client(live, request.param)


@pytest.fixture(params=SYNC_OR_ASYNC)
def azure(request: pytest.FixtureRequest, live: Live) -> Client:
    options = given(live, "")
    del options["base_url"]
    options |= {"azure_endpoint": live.base_url, "api_version": "2025-04-01-preview"}
    if request.param == "sync":
        return SyncClient(options, azure=True)
    return AsyncClient(options, azure=True)
