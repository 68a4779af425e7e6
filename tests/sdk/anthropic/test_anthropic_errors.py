"""Errors that only Anthropic's client has: missing headers and truncated streams."""

import anthropic
import pytest

from tests.sdk.anthropic.anthropic_client import HELLO, AnthropicClient
from tests.sdk.scripted import load_fault
from tests.support.live_server import Live


def test_no_key_is_an_authentication_error(live: Live, claude: AnthropicClient) -> None:
    with pytest.raises(anthropic.AuthenticationError):
        claude.create(**HELLO, extra_headers={"Authorization": anthropic.Omit()})


def test_no_version_is_a_bad_request(live: Live, claude: AnthropicClient) -> None:
    with pytest.raises(anthropic.BadRequestError, match="anthropic-version"):
        claude.create(**HELLO, extra_headers={"anthropic-version": anthropic.Omit()})


def test_the_helper_ends_a_truncated_stream_without_a_reason(
    live: Live, claude: AnthropicClient
) -> None:
    load_fault(live, "truncate")
    assert claude.stream(**HELLO).kinds[-1] == "content_block_delta"
    final = claude.stream_with_helper(**HELLO).final
    assert (final.content[0].text.split(), final.stop_reason) == (["one", "two"], None)
