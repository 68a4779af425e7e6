"""An agent with three tools, on the standard library alone; its arguments name its bugs.

`stream` streams its answers. `write_invitation` asks the model itself.
"""

import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.request

BUGS = set(sys.argv[1:])
STREAM = "stream" in BUGS
URL = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
HEADERS = {
    "authorization": "Bearer " + os.environ["OPENAI_API_KEY"],
    "content-type": "application/json",
}
QUESTION = "Plan a dinner in Paris, please."
TEXT = {"type": "string"}
PARAMETERS = {
    "get_weather": {"city": TEXT},
    "book_table": {"place": TEXT, "people": {"type": "integer"}},
    "write_invitation": {"place": TEXT},
}
FAILURES = (OSError, ValueError, KeyError, http.client.HTTPException)
ATTEMPTS = 1 if "never retries" in BUGS else 2
SECONDS = 600 if "waits forever" in BUGS else 20


def tool(name):
    parameters = {"type": "object", "properties": PARAMETERS[name]}
    parameters["required"] = list(PARAMETERS[name])
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def ask(messages):
    """Return the message and the finish reason of an answer; a failed request is sent again."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return post(messages)
        except FAILURES as error:
            if attempt == ATTEMPTS:
                raise
            if "drops results when it retries" in BUGS and messages[-1]["role"] == "tool":
                messages.pop()
            if "starts again when a request fails" in BUGS:
                raise Restart from error
            time.sleep(wait_after(error))


def wait_after(error):
    if "waits forever" in BUGS:
        return SECONDS
    headers = error.headers if isinstance(error, urllib.error.HTTPError) else {}
    return float(headers.get("retry-after", 0)) + 0.1


def post(messages):
    tools = [tool(name) for name in PARAMETERS]
    body = {"model": "gpt-4o", "messages": messages, "tools": tools, "stream": STREAM}
    request = urllib.request.Request(URL, json.dumps(body).encode(), HEADERS)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            return from_stream(response) if STREAM else from_body(response)
    except urllib.error.HTTPError as error:
        error.close()
        raise


def from_body(response):
    choice = json.load(response)["choices"][0]
    return choice["message"], choice["finish_reason"]


def from_stream(response):
    """Join the events of a stream; return the message and the finish reason."""
    message, calls, finish = {"role": "assistant", "content": ""}, {}, None
    try:
        for line in response:
            if not line.startswith(b"data:") or line[5:].strip() == b"[DONE]":
                continue
            for choice in json.loads(line[5:])["choices"]:
                finish = choice["finish_reason"] or finish
                add_delta(message, calls, choice["delta"])
    except FAILURES:
        if "shows what came before an error" not in BUGS:
            raise
    if finish is None and "shows what came before an error" not in BUGS:
        raise ValueError("the stream ended early, without a finish reason")
    if calls:
        message["tool_calls"] = list(calls.values())
    return message, finish


def add_delta(message, calls, delta):
    for name in ("content", "refusal"):
        if delta.get(name):
            message[name] = (message.get(name) or "") + delta[name]
    for part in delta.get("tool_calls", ()):
        function = {"name": part["function"].get("name"), "arguments": ""}
        new = {"id": part.get("id"), "type": "function", "function": function}
        call = calls.setdefault(part["index"], new)
        call["function"]["arguments"] += part["function"].get("arguments", "")


class Restart(Exception):
    pass


class BadAnswerError(Exception):
    pass


def answer(question):
    """Return the model's answer to a question, after the tools that it calls."""
    messages = [{"role": "user", "content": question}]
    while True:
        message, finish = ask(messages)
        check(message, finish)
        if not message.get("tool_calls"):
            return message.get("content") or message.get("refusal") or ""
        messages.append(message)
        results = {}
        for call in message["tool_calls"]:
            call_key = (call["function"]["name"], call["function"]["arguments"])
            if call_key not in results or "runs the same call twice" in BUGS:
                results[call_key] = result(call["function"])
            result_message = {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": results[call_key],
            }
            messages.append(result_message)


def check(message, finish):
    if finish == "length" and "ignores the finish reason" not in BUGS:
        raise BadAnswerError("the answer was cut off: finish_reason length")
    if message.get("refusal") and "takes refusals" not in BUGS:
        raise BadAnswerError("the model refused: " + message["refusal"])
    empty = not any(message.get(key) for key in ("content", "tool_calls", "refusal"))
    if empty and "takes empty answers" not in BUGS:
        raise BadAnswerError("the answer is empty")


def result(function):
    name = function["name"]
    if name not in PARAMETERS:
        if "runs any tool" not in BUGS:
            return f"error: unknown tool {name}"
        name = "get_weather"
    try:
        values = json.loads(function["arguments"])
    except ValueError as error:
        if "guesses broken arguments" not in BUGS:
            return f"error: the arguments are not JSON: {error}"
        values = {"city": "London", "place": "Chez Anna", "people": 2}
    if name == "get_weather":
        return f"sunny in {values.get('city')}"
    if name == "book_table":
        return f"booked {values['place']} for {values['people']}"
    return answer(f"Write an invitation to {values['place']}.")


def main():
    while True:
        try:
            return answer(QUESTION)
        except Restart:
            time.sleep(0.1)
        except FAILURES as error:
            if "swallows errors" in BUGS:
                return ""
            raise SystemExit(f"error: {error!r}") from None
        except BadAnswerError as error:
            raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    if "RUNS" in os.environ:
        with open(os.environ["RUNS"], "a") as file:
            file.write("run\n")
    print(main())
