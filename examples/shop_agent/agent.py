"""A shop's support agent with three tools. Its ten tests are green, and it has ten bugs."""

import json
import os
import queue
import threading
import urllib.error
import urllib.request

import openai
from openai.types.chat import ChatCompletion

TOOLS = [
    {
        "name": "find_order",
        "parameters": {"type": "object", "properties": {"id": {"type": "string"}}},
    },
    {
        "name": "refund",
        "parameters": {"type": "object", "properties": {"amount": {"type": "number"}}},
    },
    {
        "name": "send_mail",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
]
MODEL = "gpt-4o"
ORDER = "A17"


class Shop:
    """The state that the tools change."""

    def __init__(self):
        self.found = []
        self.refunds = []
        self.mails = []

    def call(self, name, arguments):
        if name == "find_order" and arguments["id"] == ORDER:
            self.found.append(arguments["id"])
            return f"order {arguments['id']}: shipped"
        if name == "refund":
            self.refunds.append(arguments["amount"])
            return "done"
        if name == "send_mail":
            self.mails.append(arguments["text"])
            return "sent"
        raise LookupError(f"{name} finds nothing")


def create(text, *, retries=1, **more):
    client = openai.OpenAI(max_retries=retries)
    messages = text if isinstance(text, list) else [{"role": "user", "content": text}]
    return client.chat.completions.create(model=MODEL, messages=messages, **more)


def text_of(choice):
    """Return the text of a whole answer; raise ValueError if it is none."""
    if choice.message.refusal or not choice.message.content:
        raise ValueError(choice.message.refusal or "the answer is empty")
    if choice.finish_reason == "length":
        raise ValueError("the answer is cut off: finish_reason length")
    return choice.message.content


def say(text):
    print(text)
    return text


def summary(text):
    message = create(f"Summarize: {text}").choices[0].message
    if message.refusal or not message.content:
        raise ValueError(message.refusal or "the answer is empty")
    # Bug: does not look at the finish reason.
    return say(message.content)


def translation(text):
    choice = create(f"Translate: {text}").choices[0]
    # Bug: takes a refusal for a translation.
    return say(choice.message.refusal or text_of(choice))


def title(text):
    choice = create(f"Title: {text}").choices[0]
    # Bug: an empty title is a title.
    return say(text_of(choice) if choice.message.content or choice.message.refusal else "")


def story(topic):
    text, finish = "", ""
    try:
        for chunk in create(f"Story: {topic}", stream=True):
            for choice in chunk.choices:
                text += choice.delta.content or ""
                finish = choice.finish_reason or finish
    except openai.APIError:
        # Bug: takes what has arrived for the whole text.
        pass
    if not text or finish == "length":
        raise ValueError("the story is empty or cut off")
    return say(text)


def category(text):
    try:
        return say(text_of(create(f"Category: {text}", retries=0).choices[0]))
    except openai.OpenAIError:
        # Bug: nothing shows that this is not the model's answer.
        return say("other")


def answer_later(text):
    answers = queue.Queue()

    def ask():
        answers.put(create(f"Later: {text}", retries=0).choices[0])

    # Bug: a failure of the thread is not noticed.
    threading.Thread(target=ask, daemon=True).start()
    return say(text_of(answers.get()))


def advice(text):
    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    headers = {"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    body = {"model": MODEL, "messages": [{"role": "user", "content": f"Advice: {text}"}]}
    headers["Content-Type"] = "application/json"
    while True:
        try:
            with urllib.request.urlopen(
                urllib.request.Request(url, json.dumps(body).encode(), headers)
            ) as answer:
                choice = ChatCompletion.model_validate_json(answer.read()).choices[0]
                return say(text_of(choice))
        except urllib.error.HTTPError as error:
            # Bug: asks again without waiting as long as the server says.
            if error.code != 429:
                raise


def turn(shop, text, run_call, *, goes_on=lambda choice: choice.message.tool_calls):
    """Ask, run the tools that the model calls, and ask again until it answers with text."""
    tools = [{"type": "function", "function": tool} for tool in TOOLS]
    messages = [{"role": "user", "content": text}]
    while True:
        choice = create(messages, retries=0, tools=tools).choices[0]
        if not goes_on(choice):
            return say(text_of(choice))
        messages.append(choice.message.model_dump(exclude_none=True))
        for call in choice.message.tool_calls:
            result = run_call(shop, call.function)
            if result is not None:
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def run_call(shop, function):
    try:
        return shop.call(function.name, json.loads(function.arguments))
    except (LookupError, ValueError) as error:
        return f"error: {error}"


def track(shop, order):
    def goes_on(choice):
        # Bug: trusts the finish reason, and drops calls that come with another one.
        return choice.finish_reason == "tool_calls"

    try:
        return turn(shop, f"Track {order}.", run_call, goes_on=goes_on)
    except ValueError:
        if shop.found:
            raise
        return say("Your parcel is on its way.")


def refund(shop, order):
    try:
        return turn(shop, f"Refund order {order}.", run_call)
    except openai.APIError:
        # Bug: starts anew, and pays twice.
        return turn(shop, f"Refund order {order}.", run_call)


def inform(shop, order):
    def run_good_call(shop, function):
        try:
            return shop.call(function.name, json.loads(function.arguments))
        except (LookupError, ValueError):
            # Bug: the call gets no result.
            return None

    return turn(shop, f"Mail the state of {order}.", run_good_call)
