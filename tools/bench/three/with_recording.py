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
    asked = openai.OpenAI(api_key="any")
    assert program.with_tools(asked, "The weather?") == "It is mild."


def test_a_stream():
    asked = anthropic.Anthropic(api_key="any")
    assert program.streamed(asked, "hello") == "Hello to you, too."


def test_a_refusal_then_an_answer():
    asked = openai.OpenAI(api_key="any", max_retries=0)
    assert program.again(asked, "hello") == "At last."
