"""Mistral's SDK, whose API is OpenAI's with additional fields: chat, tools, embeddings, models."""

import json
import os

from mistralai.client import Mistral

URL, KEY = os.environ["MOCKLLM_URL"], "sk-mistral"
client = Mistral(api_key=KEY, server_url=f"{URL}/mistral")
HELLO = [{"role": "user", "content": "Tell me a joke"}]
WEATHER = [{"role": "user", "content": "What is the weather in Paris?"}]
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"location": {"type": "string"}}},
    },
}

completion = client.chat.complete(model="mistral-large-latest", messages=HELLO)
text = completion.choices[0].message.content
assert text and completion.usage.total_tokens > 0, completion
with client.chat.stream(model="mistral-large-latest", messages=HELLO) as events:
    chunks = [event.data.choices[0].delta.content or "" for event in events]
assert "".join(chunks) == text and len(chunks) > 2, chunks
print("chat: passed")

tool_completion = client.chat.complete(model="mistral-large-latest", messages=WEATHER, tools=[TOOL])
(call,) = tool_completion.choices[0].message.tool_calls
assert call.function.name == "get_weather", call
assert json.loads(call.function.arguments) == {"location": "Paris"}, call
print("tools: passed")

vectors = client.embeddings.create(model="mistral-embed", inputs=["one", "two"])
assert vectors.id and [item.index for item in vectors.data] == [0, 1], vectors
print("embeddings: passed")

models = client.models.list().data
names = [model.id for model in models]
assert "mistral-large-latest" in names and all(m.type == "base" for m in models), names
assert client.models.retrieve(model_id="mistral-large-latest").capabilities.completion_chat
print("models: passed")
