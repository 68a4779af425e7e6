"""One request, described in a form's few fields, as each provider's client would send it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import quote

from scenarios_app.serving.calls import SAFE_IN_PATH, make_call
from scenarios_app.wire.base import Call

Json: TypeAlias = dict[str, Any]

KEY = "try-it"
_CALL = "call_1"
# What stands in for messages that nobody wrote.
_FILLER = "…"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request before any provider's words. `result` is that of a call of `called`."""

    user: str
    model: str = "gpt-4o"
    system: str = ""
    tools: tuple[str, ...] = ()
    called: str = ""
    result: str = ""
    turn: int = 1
    stream: bool = True

    @property
    def before(self) -> int:
        """Exchanges before the user's message, so that it is this turn."""
        return max(self.turn - 1 - bool(self.called), 0)


@dataclass(frozen=True, slots=True)
class Sent:
    """A request in one provider's words: the raw path, the headers and the body."""

    path: str
    headers: Mapping[str, str]
    body: Json

    def call(self, session: str) -> Call:
        path, _, query = self.path.partition("?")
        named = {**self.headers, "content-type": "application/json"}
        if session:
            named["x-mockllm-session"] = session
        return make_call(
            "POST",
            path,
            query=query.encode(),
            headers=[(name.encode(), value.encode()) for name, value in named.items()],
            body=json.dumps(self.body).encode(),
        )


def openai_chat(asked: Asked) -> Sent:
    messages: list[Json] = [{"role": "system", "content": asked.system}] if asked.system else []
    for _ in range(asked.before):
        messages += [
            {"role": "user", "content": _FILLER},
            {"role": "assistant", "content": _FILLER},
        ]
    messages.append({"role": "user", "content": asked.user})
    if asked.called:
        function = {"name": asked.called, "arguments": "{}"}
        call = {"id": _CALL, "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": _CALL, "content": asked.result},
        ]
    body: Json = {"model": asked.model, "messages": messages, "stream": asked.stream}
    if asked.tools:
        body["tools"] = [{"type": "function", "function": {"name": name}} for name in asked.tools]
    return Sent("/v1/chat/completions", _bearer(), body)


def openai_responses(asked: Asked) -> Sent:
    items: list[Json] = []
    for _ in range(asked.before):
        items += [
            {"role": "user", "content": _FILLER},
            {"role": "assistant", "content": _FILLER},
        ]
    items.append({"role": "user", "content": asked.user})
    if asked.called:
        items += [
            {"type": "function_call", "call_id": _CALL, "name": asked.called, "arguments": "{}"},
            {"type": "function_call_output", "call_id": _CALL, "output": asked.result},
        ]
    body: Json = {"model": asked.model, "input": items, "stream": asked.stream}
    if asked.system:
        body["instructions"] = asked.system
    if asked.tools:
        body["tools"] = [
            {"type": "function", "name": name, "parameters": {}, "strict": False}
            for name in asked.tools
        ]
    return Sent("/v1/responses", _bearer(), body)


def anthropic(asked: Asked) -> Sent:
    messages: list[Json] = []
    for _ in range(asked.before):
        messages += [
            {"role": "user", "content": _FILLER},
            {"role": "assistant", "content": _FILLER},
        ]
    messages.append({"role": "user", "content": asked.user})
    if asked.called:
        use = {"type": "tool_use", "id": _CALL, "name": asked.called, "input": {}}
        result = {"type": "tool_result", "tool_use_id": _CALL, "content": asked.result}
        messages += [
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ]
    body: Json = {
        "model": asked.model,
        "max_tokens": 1024,
        "messages": messages,
        "stream": asked.stream,
    }
    if asked.system:
        body["system"] = asked.system
    if asked.tools:
        schema = {"type": "object"}
        body["tools"] = [{"name": name, "input_schema": schema} for name in asked.tools]
    return Sent("/v1/messages", {"x-api-key": KEY, "anthropic-version": "2023-06-01"}, body)


def gemini(asked: Asked) -> Sent:
    contents: list[Json] = []
    for _ in range(asked.before):
        contents += [_content("user", _FILLER), _content("model", _FILLER)]
    contents.append(_content("user", asked.user))
    if asked.called:
        call = {"functionCall": {"name": asked.called, "args": {}}}
        answer = {"name": asked.called, "response": {"result": asked.result}}
        contents += [
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [{"functionResponse": answer}]},
        ]
    body: Json = {"contents": contents}
    if asked.system:
        body["systemInstruction"] = {"parts": [{"text": asked.system}]}
    if asked.tools:
        body["tools"] = [{"functionDeclarations": [{"name": name} for name in asked.tools]}]
    verb = "streamGenerateContent?alt=sse" if asked.stream else "generateContent"
    model = quote(asked.model, safe="")
    return Sent(f"/v1beta/models/{model}:{verb}", {"x-goog-api-key": KEY}, body)


def ollama(asked: Asked) -> Sent:
    sent = openai_chat(asked).body
    messages = []
    for message in sent["messages"]:
        if message.get("tool_calls"):
            call = {"function": {"name": asked.called, "arguments": {}}}
            message = {"role": "assistant", "content": "", "tool_calls": [call]}
        elif message["role"] == "tool":
            message = {"role": "tool", "tool_name": asked.called, "content": asked.result}
        messages.append(message)
    return Sent("/api/chat", {}, {**sent, "messages": messages})


WAYS: Mapping[str, tuple[str, Callable[[Asked], Sent]]] = {
    "openai": ("OpenAI chat", openai_chat),
    "responses": ("OpenAI Responses", openai_responses),
    "anthropic": ("Anthropic", anthropic),
    "gemini": ("Gemini", gemini),
    "ollama": ("Ollama", ollama),
}


def raw(path: str, body: str, *, headers: Mapping[str, str], session: str) -> Call:
    """A request as it stands, such as one of the journal; keys that are masked there will do."""
    path, _, query = path.partition("?")
    named = {name.lower(): value for name, value in headers.items()}
    named |= {"x-mockllm-session": session} if session else {}
    keys = {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "x-goog-api-key": KEY}
    named = {**keys, "anthropic-version": "2023-06-01", **named} if not headers else named
    return make_call(
        "POST",
        quote(path, safe=SAFE_IN_PATH + "%"),
        query=query.encode(),
        headers=[(n.encode(), v.encode("utf-8", "replace")) for n, v in named.items()],
        body=body.encode("utf-8", "replace"),
    )


def _bearer() -> dict[str, str]:
    return {"authorization": f"Bearer {KEY}"}


def _content(role: str, text: str) -> Json:
    return {"role": role, "parts": [{"text": text}]}
