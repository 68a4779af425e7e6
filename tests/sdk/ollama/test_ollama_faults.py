"""Ollama's client tries nothing again; what it raises for broken answers stands beside OpenAI's."""

import ollama
import pytest

from tests.live import Live
from tests.sdk.ollama.ollama_talk import OllamaTalk
from tests.sdk.ollama.test_ollama_answers import HELLO
from tests.serving.pipelines import scenario


def test_a_failing_attempt_is_not_tried_again_by_the_client(live: Live, llama: OllamaTalk) -> None:
    failures = {"times": 1, "fault": {"kind": "rate_limit"}}
    live.load(scenario("one", {"failures": failures, "produce": {"text": "At last."}}))
    with pytest.raises(ollama.ResponseError):
        llama.whole(**HELLO)
    assert llama.whole(**HELLO).message.content == "At last."
    assert [(row.status, row.attempt) for row in live.requests()] == [(429, 1), (200, 1)]
