"""The three tests with pytest-recording, which plays back what vcrpy has recorded."""

import anthropic
import openai
import program
import pytest

pytestmark = pytest.mark.vcr


@pytest.fixture(scope="module")
def vcr_config():
    return {"filter_headers": ["authorization", "x-api-key"]}


def test_a_tool_loop():
    client = openai.OpenAI(api_key="any")
    assert program.with_tools(client, "The weather?") == "It is mild."


def test_a_stream():
    client = anthropic.Anthropic(api_key="any")
    assert program.streamed(client, "hello") == "Hello to you, too."


def test_a_refusal_then_an_answer():
    client = openai.OpenAI(api_key="any", max_retries=0)
    assert program.again(client, "hello") == "At last."
