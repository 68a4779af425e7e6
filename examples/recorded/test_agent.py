"""Tests whose answers were recorded once: `pytest examples/recorded` needs no provider.

OPENAI_API_KEY=sk-… pytest examples/recorded --mockllm-record=all records them anew.
"""

import agent
import pytest

pytestmark = pytest.mark.mockllm(cassette=True)


def test_the_weather(mockllm):
    assert "18 degrees" in agent.weather("Paris")


@pytest.mark.parametrize("text", ["rain", "sun"])
def test_a_remark(mockllm, text):
    assert agent.remark(text)
