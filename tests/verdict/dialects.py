"""How clients of five APIs write a conversation down, and what they read of an answer."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Called(NamedTuple):
    """A call that the model has made."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass
class Talk(ABC):
    """A conversation of one client: what it sends, in its API's own form."""

    system: str = "Be brief."
    tools: tuple[str, ...] = ("get_weather", "get_time")
    schema: Mapping[str, Any] = field(default_factory=lambda: CITY)
    messages: list[Any] = field(default_factory=list)

    path = ""
    streams = True

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    @abstractmethod
    def body(self, *, stream: bool = False) -> Any:
        """The request for the next answer."""

    @abstractmethod
    def answered(self, answer: Any) -> list[Called]:
        """Take a whole answer into the conversation; the calls in it."""

    def said(self, text: str) -> None:
        """Take a streamed answer's text into the conversation."""
        self.messages.append({"role": "assistant", "content": text})

    @abstractmethod
    def results(self, results: Sequence[tuple[Called, str]]) -> None:
        """Say what the tools gave back."""


class OpenAI(Talk):
    path = "/v1/chat/completions"

    def body(self, *, stream: bool = False) -> Any:
        tools = [
            {"type": "function", "function": {"name": name, "parameters": self.schema}}
            for name in self.tools
        ]
        messages = [{"role": "system", "content": self.system}, *self.messages]
        return {"model": "gpt-4o", "messages": messages, "tools": tools, "stream": stream}

    def answered(self, answer: Any) -> list[Called]:
        message = answer["choices"][0]["message"]
        self.messages.append(message)
        return [
            Called(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
            for c in message.get("tool_calls") or ()
        ]

    def results(self, results: Sequence[tuple[Called, str]]) -> None:
        self.messages += [
            {"role": "tool", "tool_call_id": call.id, "content": text} for call, text in results
        ]


class Responses(Talk):
    path = "/v1/responses"

    def body(self, *, stream: bool = False) -> Any:
        tools = [{"type": "function", "name": n, "parameters": self.schema} for n in self.tools]
        return {
            **{"model": "gpt-4o", "instructions": self.system, "input": self.messages},
            **{"tools": tools, "stream": stream},
        }

    def answered(self, answer: Any) -> list[Called]:
        self.messages += answer["output"]
        return [
            Called(item["call_id"], item["name"], json.loads(item["arguments"]))
            for item in answer["output"]
            if item["type"] == "function_call"
        ]

    def results(self, results: Sequence[tuple[Called, str]]) -> None:
        self.messages += [
            {"type": "function_call_output", "call_id": call.id, "output": text}
            for call, text in results
        ]


class Anthropic(Talk):
    path = "/v1/messages"

    def body(self, *, stream: bool = False) -> Any:
        tools = [{"name": name, "input_schema": self.schema} for name in self.tools]
        return {
            **{"model": "claude-sonnet-5-5", "max_tokens": 100, "system": self.system},
            **{"messages": self.messages, "tools": tools, "stream": stream},
        }

    def answered(self, answer: Any) -> list[Called]:
        self.messages.append({"role": "assistant", "content": answer["content"]})
        return [
            Called(block["id"], block["name"], block["input"])
            for block in answer["content"]
            if block["type"] == "tool_use"
        ]

    def results(self, results: Sequence[tuple[Called, str]]) -> None:
        blocks = [
            {"type": "tool_result", "tool_use_id": call.id, "content": text}
            for call, text in results
        ]
        self.messages.append({"role": "user", "content": blocks})


class Gemini(Talk):
    path = "/v1beta/models/gemini-2.5-flash:generateContent"
    # At a path of its own.
    streams = False

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "parts": [{"text": text}]})

    def body(self, *, stream: bool = False) -> Any:
        kind = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]}
        schema = kind if self.schema is CITY else self.schema
        declared = [{"name": name, "parameters": schema} for name in self.tools]
        return {
            "systemInstruction": {"parts": [{"text": self.system}]},
            "contents": self.messages,
            "tools": [{"functionDeclarations": declared}],
        }

    def answered(self, answer: Any) -> list[Called]:
        content = answer["candidates"][0]["content"]
        self.messages.append(content)
        return [
            Called(part["functionCall"].get("id", ""), part["functionCall"]["name"], {})
            for part in content["parts"]
            if "functionCall" in part
        ]

    def results(self, results: Sequence[tuple[Called, str]]) -> None:
        parts = [
            {"functionResponse": {"id": call.id, "name": call.name, "response": {"output": text}}}
            for call, text in results
        ]
        self.messages.append({"role": "user", "parts": parts})


class Ollama(Talk):
    path = "/api/chat"

    def body(self, *, stream: bool = False) -> Any:
        tools = [
            {"type": "function", "function": {"name": name, "parameters": self.schema}}
            for name in self.tools
        ]
        messages = [{"role": "system", "content": self.system}, *self.messages]
        return {"model": "llama3.2", "messages": messages, "tools": tools, "stream": stream}

    def answered(self, answer: Any) -> list[Called]:
        message = answer["message"]
        self.messages.append(message)
        return [
            Called("", call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or ()
        ]

    def results(self, results: Sequence[tuple[Called, str]]) -> None:
        self.messages += [
            {"role": "tool", "tool_name": call.name, "content": text} for call, text in results
        ]


DIALECTS: tuple[type[Talk], ...] = (OpenAI, Responses, Anthropic, Gemini, Ollama)
