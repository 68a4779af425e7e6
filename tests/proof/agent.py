"""A program with a tool, on the standard library alone; its arguments name the bugs that it has."""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request

BUGS = set(sys.argv[1:])
URL = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]


def post(messages):
    """Return the choice of an answer; a request that fails is sent once more."""
    body = {"model": "gpt-4o", "messages": messages, "tools": TOOLS}
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    headers["content-type"] = "application/json"
    for attempt in (1, 2):
        try:
            request = urllib.request.Request(URL, json.dumps(body).encode(), headers)
            with urllib.request.urlopen(request, timeout=30) as response:
                choice = json.load(response)["choices"][0]
            if "asks twice" in BUGS and attempt == 1 and len(messages) > 1:
                continue
            return choice
        except (OSError, ValueError, http.client.HTTPException) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            if "never retries" in BUGS or attempt == 2:
                raise
            if "waits forever" in BUGS:
                time.sleep(600)
            time.sleep(1.2)


def run():
    messages = [{"role": "user", "content": "What is the weather in Paris?"}]
    while True:
        choice = post(messages)
        message, finish = choice["message"], choice["finish_reason"]
        if finish == "length" and "ignores the finish reason" not in BUGS:
            raise SystemExit("the answer was cut off: finish_reason length")
        if message.get("refusal") and "takes refusals" not in BUGS:
            raise SystemExit("the model refused: " + message["refusal"])
        if not message.get("tool_calls"):
            return message.get("content") or message.get("refusal")
        messages.append(message)
        for call in message["tool_calls"]:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result(call)})
        if "loses results" in BUGS:
            messages.pop()


def result(call):
    try:
        if call["function"]["name"] != "get_weather":
            return "error: unknown tool"
        return "sunny in " + json.loads(call["function"]["arguments"])["city"]
    except (ValueError, KeyError) as error:
        if "crashes on arguments" in BUGS:
            raise
        return f"error: {error!r}"


if __name__ == "__main__":
    if "RUNS" in os.environ:
        with open(os.environ["RUNS"], "a") as file:
            file.write("run\n")
    try:
        text = run()
        if not text and "takes nothing" not in BUGS:
            raise SystemExit("the answer is empty")
        print(text or "")
    except (OSError, http.client.HTTPException, ValueError):
        if "swallows errors" not in BUGS:
            raise
