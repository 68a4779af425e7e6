"""An agent on pipes with the OpenAI SDK and one tool; the first argument selects a failure."""

import json
import os
import sys
import time
from typing import Any

import openai

TOOL = {"name": "refund", "parameters": {"properties": {"order": {"type": "integer"}}}}


def answer(client: openai.OpenAI, messages: list[Any]) -> str:
    while True:
        completion = client.chat.completions.create(
            model="gpt-4o", messages=messages, tools=[{"type": "function", "function": TOOL}]
        )
        message = completion.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            order = json.loads(call.function.arguments)["order"]
            result = {"role": "tool", "tool_call_id": call.id, "content": f"refunded {order}"}
            messages.append(result)


def main(failure: str) -> None:
    prompt = "you> " if failure == "prompt" else ""
    print(prompt, end="", flush=True)
    messages: list[Any] = []
    client = openai.OpenAI(max_retries=0)
    for line in sys.stdin:
        print(f"heard {line.strip()}", file=sys.stderr)
        if failure == "ends":
            sys.exit(3)
        if failure == "hangs":
            os.system(f"sleep 600 & echo $! > {sys.argv[2]}")
            time.sleep(600)
        if failure == "closes":
            os.close(1)
            time.sleep(600)
        if failure == "floods":
            sys.stdout.write("x" * 2_000_000)
        messages.append({"role": "user", "content": line.strip()})
        text = answer(client, messages)
        print(f"{text}\nAnything else?\n{prompt}" if prompt else text, end="" if prompt else "\n")
        sys.stdout.flush()


main(sys.argv[1] if len(sys.argv) > 1 else "")
