"""A tool loop on anthropic's Messages: `[stream] [careful]`."""

import sys

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
    with client.messages.stream(**options) as stream:
        return stream.get_final_message()


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
