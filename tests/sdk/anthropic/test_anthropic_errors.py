"""What only Anthropic's client is told: its version header, and the end of a stream that is cut."""

import anthropic
import pytest

from tests.sdk.anthropic.anthropic_talk import HELLO, AnthropicTalk
from tests.sdk.scripted import load_fault
from tests.support.live_server import Live


def test_no_key_is_an_authentication_error(live: Live, claude: AnthropicTalk) -> None:
    with pytest.raises(anthropic.AuthenticationError):
        claude.whole(**HELLO, extra_headers={"Authorization": anthropic.Omit()})


def test_no_version_is_a_bad_request(live: Live, claude: AnthropicTalk) -> None:
    with pytest.raises(anthropic.BadRequestError, match="anthropic-version"):
        claude.whole(**HELLO, extra_headers={"anthropic-version": anthropic.Omit()})


def test_the_helper_ends_a_truncated_stream_without_a_reason(
    live: Live, claude: AnthropicTalk
) -> None:
    load_fault(live, "truncate")
    assert claude.stream(**HELLO).kinds[-1] == "content_block_delta"
    final = claude.helped(**HELLO).final
    assert (final.content[0].text.split(), final.stop_reason) == (["one", "two"], None)
