"""A tool loop on openai's Chat Completions: `[stream] [careful]`."""

import sys

import openai
from tool import DESCRIPTION, QUESTION, SCHEMA, give_up, result_of

STREAM, CAREFUL = "stream" in sys.argv, "careful" in sys.argv
FUNCTION = {"name": "get_weather", "description": DESCRIPTION, "parameters": SCHEMA}
client = openai.OpenAI()
messages = [{"role": "user", "content": QUESTION}]


def ask() -> dict:
    """Return the next answer: its finish reason and its message."""
    options = {"model": "gpt-4o", "messages": messages}
    options["tools"] = [{"type": "function", "function": FUNCTION}]
    if not STREAM:
        choice = client.chat.completions.create(**options).choices[0]
        return {"finish": choice.finish_reason, **choice.message.model_dump(exclude_none=True)}
    finish, text, refusal, calls = None, "", "", {}
    for chunk in client.chat.completions.create(**options, stream=True):
        if not chunk.choices:
            continue
        delta, finish = chunk.choices[0].delta, chunk.choices[0].finish_reason or finish
        text += delta.content or ""
        refusal += delta.refusal or ""
        for part in delta.tool_calls or []:
            function = {"name": part.function.name, "arguments": ""}
            call = calls.setdefault(part.index, {"id": part.id, "function": function})
            call["type"] = "function"
            call["function"]["arguments"] += part.function.arguments or ""
    answer = {"finish": finish, "role": "assistant", "content": text, "refusal": refusal}
    return answer | ({"tool_calls": list(calls.values())} if calls else {})


while True:
    answer = ask()
    finish = answer.pop("finish")
    if CAREFUL and finish is None:
        give_up("the stream ended early, without a finish reason")
    if CAREFUL and finish == "length":
        give_up("the answer was cut off: finish_reason length")
    if CAREFUL and answer.get("refusal"):
        give_up(f"refused: {answer['refusal']}")
    if not answer.get("tool_calls"):
        break
    messages.append({key: value for key, value in answer.items() if value})
    for call in answer["tool_calls"]:
        result = result_of(call["function"]["name"], call["function"]["arguments"])
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
text = answer.get("content")
if CAREFUL and not text:
    give_up("the answer is empty")
print(text)
