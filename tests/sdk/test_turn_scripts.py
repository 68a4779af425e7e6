"""Turn scripts with failures that clients retry, or that headers tell them not to retry."""

from typing import Any

import pytest

from tests.engine.turn_scripts import shipped_scripts
from tests.sdk.clients import ProviderClient
from tests.sdk.errors import ERRORS
from tests.support.live_server import Live

SCRIPTS = {document["id"]: document for document in shipped_scripts()}
CLOSED = {"message": "This account is closed."}
# A client's parsed form of a scripted raw body.
BODIES: dict[str, Any] = {"openai": CLOSED, "responses": CLOSED, "anthropic": {"error": CLOSED}}
# Clients of other providers do not retry by default.
retrying = pytest.mark.parametrize("provider", BODIES)


@retrying
def test_a_client_that_retries_gets_through_a_rate_limit_by_itself(
    live: Live, client: ProviderClient
) -> None:
    live.load(SCRIPTS["busy-then-fine"])
    client.options["max_retries"] = 2
    assert client.create("busy-then-fine") == "Now there is time for you."
    assert [row.status for row in live.requests()] == [429, 429, 200]


@retrying
def test_a_client_is_told_not_to_retry(live: Live, client: ProviderClient, provider: str) -> None:
    live.load(SCRIPTS["no-such-account"])
    client.options["max_retries"] = 2
    with pytest.raises(ERRORS[provider].statuses[403][0]) as raised:
        client.create("no-such-account")
    error: Any = raised.value
    assert error.response.headers["x-account"] == "closed"
    assert error.body == BODIES[provider]
    assert len(live.requests()) == 1
    assert client.create("no-such-account") == "The account is open again."
