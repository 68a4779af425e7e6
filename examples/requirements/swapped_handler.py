"""Requirement 000: an application keeps its client and swaps what carries its HTTP requests.

    APP_ENV=test python examples/requirements/swapped_handler.py

With APP_ENV=test nothing leaves this process: the mock streams an answer that depends on the
request alone. Without it the same code asks the real API.
"""

import os

import httpx2
from mockllm import SyncMockTransport
from openai import OpenAI


def make_client() -> OpenAI:
    if os.environ.get("APP_ENV") != "test":
        return OpenAI()
    return OpenAI(api_key="test", http_client=httpx2.Client(transport=SyncMockTransport()))


def ask(client: OpenAI, question: str) -> tuple[str, str]:
    """Return the reasoning and the text of a streamed answer."""
    reasoning, text = "", ""
    stream = client.chat.completions.create(
        model="gpt-4o", messages=[{"role": "user", "content": question}], stream=True
    )
    for chunk in stream:
        for choice in chunk.choices:
            reasoning += getattr(choice.delta, "reasoning", None) or ""
            text += choice.delta.content or ""
    return reasoning, text


def main() -> None:
    question = "What is rain?\nReason: think of clouds"
    with make_client() as client:
        first, second = ask(client, question), ask(client, question)
    reasoning, text = first
    print("the same answer twice:", first == second)
    print("reasons about:", "think of clouds" in reasoning)
    print("ends with the question:", text.endswith(question))


if __name__ == "__main__":
    main()
