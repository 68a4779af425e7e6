"""llama-index over OpenAI, Anthropic and Ollama: chat, streams, tools."""

import os

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.anthropic import Anthropic
from llama_index.llms.ollama import Ollama
from llama_index.llms.openai import OpenAI, OpenAIResponses

URL, KEY = os.environ["MOCKLLM_URL"], "sk-llama-index"
TEXT = "Hello from the mock, one two three four five six."


def get_weather(location: str) -> str:
    """Tells the weather."""
    return f"sunny in {location}"


MODELS = {
    "openai": OpenAI(model="gpt-4o", api_base=f"{URL}/v1", api_key=KEY, max_retries=0),
    "responses": OpenAIResponses(model="gpt-4o", api_base=f"{URL}/v1", api_key=KEY, max_retries=0),
    "anthropic": Anthropic(model="claude-sonnet-4-5", base_url=URL, api_key=KEY, max_retries=0),
    "ollama": Ollama(model="llama3.2", base_url=URL, request_timeout=20),
}
TOOL = FunctionTool.from_defaults(get_weather)

for name, model in MODELS.items():
    hello = [ChatMessage(role="user", content="Hello")]
    assert model.chat(hello).message.content == TEXT
    deltas = [piece.delta or "" for piece in model.stream_chat(hello)]
    assert "".join(deltas) == TEXT, deltas
    response = model.chat_with_tools([TOOL], user_msg="What is the weather in Paris?")
    (call,) = model.get_tool_calls_from_response(response)
    assert (call.tool_name, call.tool_kwargs) == ("get_weather", {"location": "Paris"})
    answer = model.predict_and_call([TOOL], user_msg="What is the weather in Paris?")
    assert "sunny in Paris" in str(answer), answer
    print(f"{name}: passed")
