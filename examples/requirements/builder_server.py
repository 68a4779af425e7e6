"""Requirement 001: one scenario in code, one server, and an agent on each of three SDKs.

python examples/requirements/builder_server.py
"""

import json
from typing import Any

from anthropic import Anthropic
from google import genai
from mockllm import any_provider, running_server, scenario
from openai import OpenAI

QUESTION = "What is the weather in Paris?"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
# The step for the tool's result comes first, because that request contains the question too.
WEATHER = (
    scenario("weather")
    .expect(any_provider())
    .with_tool_result("get_weather", contains="sunny")
    .respond_with_text("Take sunglasses.")
    .always()
    .then()
    .expect(any_provider())
    .with_messages(contains="weather")
    .respond_with_tool_call("get_weather", city="Paris")
    .always()
    .build()
)


def get_weather(city: str) -> str:
    return f"{city}: 18 degrees, sunny"


def ask_openai(client: OpenAI) -> str:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    tools: list[Any] = [
        {"type": "function", "function": {"name": "get_weather", "parameters": CITY}}
    ]
    while True:
        answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools)
        message = answer.choices[0].message
        if not message.tool_calls:
            return str(message.content)
        messages.append(message)
        for call in message.tool_calls:
            result = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def ask_anthropic(client: Anthropic) -> str:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    tools: list[Any] = [{"name": "get_weather", "input_schema": CITY}]
    while True:
        answer = client.messages.create(
            model="claude-sonnet-5-5", max_tokens=500, messages=messages, tools=tools
        )
        calls = [block for block in answer.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in answer.content if block.type == "text")
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": get_weather(**call.input)}
            for call in calls
        ]
        messages += [
            {"role": "assistant", "content": answer.content},
            {"role": "user", "content": results},
        ]


def ask_gemini(client: genai.Client) -> str:
    # This SDK calls the function by itself and goes on with its result.
    config = genai.types.GenerateContentConfig(tools=[get_weather])
    chat = client.chats.create(model="gemini-3-flash", config=config)
    return str(chat.send_message(QUESTION).text)


def main() -> None:
    with (
        running_server(scenarios=[WEATHER]) as server,
        OpenAI(base_url=server.openai_base_url, api_key="openai") as openai,
        Anthropic(base_url=server.base_url, api_key="anthropic") as anthropic,
        genai.Client(api_key="gemini", http_options={"base_url": server.base_url}) as gemini,
    ):
        print("OpenAI:", ask_openai(openai))
        print("Anthropic:", ask_anthropic(anthropic))
        print("Gemini:", ask_gemini(gemini))
        print("requests:", len(server.requests))


if __name__ == "__main__":
    main()
