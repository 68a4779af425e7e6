"""Conversations in the request and response formats of five APIs."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class RequestedCall(NamedTuple):
    """A tool call of the model."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass
class ApiConversation(ABC):
    """A conversation of one client in the format of its API."""

    system: str = "Be brief."
    tools: tuple[str, ...] = ("get_weather", "get_time")
    schema: Mapping[str, Any] = field(default_factory=lambda: CITY)
    messages: list[Any] = field(default_factory=list)

    path = ""
    streams = True

    def add_user_message(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    @abstractmethod
    def body(self, *, stream: bool = False) -> Any:
        """Return the request body for the next response."""

    @abstractmethod
    def add_response(self, response: Any) -> list[RequestedCall]:
        """Append a complete response; return its tool calls."""

    def add_reply(self, text: str) -> None:
        """Append the text of a streamed response."""
        self.messages.append({"role": "assistant", "content": text})

    @abstractmethod
    def add_results(self, results: Sequence[tuple[RequestedCall, str]]) -> None:
        """Append tool results."""


class OpenAI(ApiConversation):
    path = "/v1/chat/completions"

    def body(self, *, stream: bool = False) -> Any:
        tools = [
            {"type": "function", "function": {"name": name, "parameters": self.schema}}
            for name in self.tools
        ]
        messages = [{"role": "system", "content": self.system}, *self.messages]
        return {"model": "gpt-4o", "messages": messages, "tools": tools, "stream": stream}

    def add_response(self, response: Any) -> list[RequestedCall]:
        message = response["choices"][0]["message"]
        self.messages.append(message)
        return [
            RequestedCall(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
            for c in message.get("tool_calls") or ()
        ]

    def add_results(self, results: Sequence[tuple[RequestedCall, str]]) -> None:
        self.messages += [
            {"role": "tool", "tool_call_id": call.id, "content": text} for call, text in results
        ]


class Responses(ApiConversation):
    path = "/v1/responses"

    def body(self, *, stream: bool = False) -> Any:
        tools = [{"type": "function", "name": n, "parameters": self.schema} for n in self.tools]
        return {
            **{"model": "gpt-4o", "instructions": self.system, "input": self.messages},
            **{"tools": tools, "stream": stream},
        }

    def add_response(self, response: Any) -> list[RequestedCall]:
        self.messages += response["output"]
        return [
            RequestedCall(item["call_id"], item["name"], json.loads(item["arguments"]))
            for item in response["output"]
            if item["type"] == "function_call"
        ]

    def add_results(self, results: Sequence[tuple[RequestedCall, str]]) -> None:
        self.messages += [
            {"type": "function_call_output", "call_id": call.id, "output": text}
            for call, text in results
        ]


class Anthropic(ApiConversation):
    path = "/v1/messages"

    def body(self, *, stream: bool = False) -> Any:
        tools = [{"name": name, "input_schema": self.schema} for name in self.tools]
        return {
            **{"model": "claude-sonnet-5-5", "max_tokens": 100, "system": self.system},
            **{"messages": self.messages, "tools": tools, "stream": stream},
        }

    def add_response(self, response: Any) -> list[RequestedCall]:
        self.messages.append({"role": "assistant", "content": response["content"]})
        return [
            RequestedCall(block["id"], block["name"], block["input"])
            for block in response["content"]
            if block["type"] == "tool_use"
        ]

    def add_results(self, results: Sequence[tuple[RequestedCall, str]]) -> None:
        blocks = [
            {"type": "tool_result", "tool_use_id": call.id, "content": text}
            for call, text in results
        ]
        self.messages.append({"role": "user", "content": blocks})


class Gemini(ApiConversation):
    path = "/v1beta/models/gemini-2.5-flash:generateContent"
    # Gemini streams at another path.
    streams = False

    def add_user_message(self, text: str) -> None:
        self.messages.append({"role": "user", "parts": [{"text": text}]})

    def body(self, *, stream: bool = False) -> Any:
        kind = {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}, "required": ["city"]}
        schema = kind if self.schema is CITY else self.schema
        declarations = [{"name": name, "parameters": schema} for name in self.tools]
        return {
            "systemInstruction": {"parts": [{"text": self.system}]},
            "contents": self.messages,
            "tools": [{"functionDeclarations": declarations}],
        }

    def add_response(self, response: Any) -> list[RequestedCall]:
        content = response["candidates"][0]["content"]
        self.messages.append(content)
        return [
            RequestedCall(part["functionCall"].get("id", ""), part["functionCall"]["name"], {})
            for part in content["parts"]
            if "functionCall" in part
        ]

    def add_results(self, results: Sequence[tuple[RequestedCall, str]]) -> None:
        parts = [
            {"functionResponse": {"id": call.id, "name": call.name, "response": {"output": text}}}
            for call, text in results
        ]
        self.messages.append({"role": "user", "parts": parts})


class Ollama(ApiConversation):
    path = "/api/chat"

    def body(self, *, stream: bool = False) -> Any:
        tools = [
            {"type": "function", "function": {"name": name, "parameters": self.schema}}
            for name in self.tools
        ]
        messages = [{"role": "system", "content": self.system}, *self.messages]
        return {"model": "llama3.2", "messages": messages, "tools": tools, "stream": stream}

    def add_response(self, response: Any) -> list[RequestedCall]:
        message = response["message"]
        self.messages.append(message)
        return [
            RequestedCall("", call["function"]["name"], call["function"]["arguments"])
            for call in message.get("tool_calls") or ()
        ]

    def add_results(self, results: Sequence[tuple[RequestedCall, str]]) -> None:
        self.messages += [
            {"role": "tool", "tool_name": call.name, "content": text} for call, text in results
        ]


DIALECTS: tuple[type[ApiConversation], ...] = (OpenAI, Responses, Anthropic, Gemini, Ollama)
