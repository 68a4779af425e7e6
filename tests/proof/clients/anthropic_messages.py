"""A tool loop on anthropic's Messages: `[stream] [careful]`."""

import json
import sys
from collections.abc import Iterable

import anthropic
from tool import DESCRIPTION, QUESTION, SCHEMA, give_up, result_of

STREAM, CAREFUL = "stream" in sys.argv, "careful" in sys.argv
TOOL = {"name": "get_weather", "description": DESCRIPTION, "input_schema": SCHEMA}
client = anthropic.Anthropic()
messages = [{"role": "user", "content": QUESTION}]


def ask() -> anthropic.types.Message:
    options = {"model": "claude-sonnet-4-5", "max_tokens": 1_000}
    options |= {"messages": messages, "tools": [TOOL]}
    if not STREAM:
        return client.messages.create(**options)
    arguments: dict[int, str] = {}
    with client.messages.stream(**options) as stream:
        for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                before = arguments.get(event.index, "")
                arguments[event.index] = before + event.delta.partial_json
        message = stream.get_final_message()
    if CAREFUL:
        # The SDK completes broken arguments.
        check_json(arguments.values())
    return message


def check_json(texts: Iterable[str]) -> None:
    for text in texts:
        try:
            json.loads(text or "{}")
        except ValueError as error:
            give_up(f"invalid arguments: {error}")


while True:
    message = ask()
    if CAREFUL and message.stop_reason is None:
        give_up("the stream ended early, without a stop reason")
    if CAREFUL and message.stop_reason == "max_tokens":
        give_up("the answer was cut off: stop_reason max_tokens")
    if CAREFUL and message.stop_reason == "refusal":
        give_up("refused: stop_reason refusal")
    calls = [block for block in message.content if block.type == "tool_use"]
    if not calls:
        break
    messages.append({"role": "assistant", "content": message.content})
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": result_of(call.name, call.input)}
        for call in calls
    ]
    messages.append({"role": "user", "content": results})
text = "".join(block.text for block in message.content if block.type == "text")
if CAREFUL and not text:
    give_up("the answer is empty")
print(text)
