"""The program under test: a tool loop, a stream, and a request that is retried.

The environment variable `FAULT` adds one fault, which tests may notice.
"""

import json
import os
import time
from contextlib import suppress
from typing import Any

import anthropic
import openai

FAULT = os.environ.get("FAULT", "")
MODEL, CLAUDE = "gpt-4o", "claude-sonnet-5-5"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: Any = [{"type": "function", "function": {"name": "get_weather", "parameters": CITY}}]


def with_tools(client: openai.OpenAI, question: str) -> str:
    """Send a question and the results of the tools that the model calls; return the answer."""
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        completion = client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS)
        message = completion.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            if FAULT == "one request too many":
                with suppress(openai.OpenAIError):
                    again(client, "Why?")
            return message.content or ""
        for call in message.tool_calls:
            city = json.loads(call.function.arguments)["city"]
            name = "call_of_nobody" if FAULT == "a result under a wrong id" else call.id
            result = {"role": "tool", "tool_call_id": name, "content": f"{city}: 18 degrees"}
            messages.append(result)


def streamed(client: anthropic.Anthropic, question: str) -> str:
    """Return the text of a streamed answer."""
    messages: Any = [{"role": "user", "content": question}]
    with client.messages.stream(model=CLAUDE, max_tokens=99, messages=messages) as stream:
        return "".join(stream.text_stream)


def again(client: openai.OpenAI, question: str) -> str:
    """Retry a request after rate limits, with the delay of the response; return the answer."""
    messages: Any = [{"role": "user", "content": question}]
    while True:
        try:
            completion = client.chat.completions.create(model=MODEL, messages=messages)
        except openai.RateLimitError as error:
            if FAULT != "no wait before the retry":
                time.sleep(int(error.response.headers["retry-after-ms"]) / 1000)
        else:
            return completion.choices[0].message.content or ""
