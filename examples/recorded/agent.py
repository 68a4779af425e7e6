"""A small agent: it asks for the weather with a tool, and remarks on it."""

import openai

PROMPT = "You are a terse weather agent."
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]


def weather(city: str) -> str:
    """Return the answer about the weather, after one tool call."""
    client = openai.OpenAI()
    messages = [
        {"role": "system", "content": PROMPT},
        {"role": "user", "content": f"How is the weather in {city}?"},
    ]
    first = client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS)
    message = first.choices[0].message
    (call,) = message.tool_calls
    messages += [message, {"role": "tool", "tool_call_id": call.id, "content": "18 degrees"}]
    last = client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS)
    return last.choices[0].message.content


def remark(text: str) -> str:
    """Return a remark on the text, read from a stream."""
    client = openai.OpenAI()
    messages = [{"role": "user", "content": f"Remark on this in a few words: {text}"}]
    stream = client.chat.completions.create(model="gpt-4o", messages=messages, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
