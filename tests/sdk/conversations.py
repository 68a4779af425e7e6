"""Conversations of several turns over each client.

Answers are sent back as the client returned them, followed by the results of tools.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.genai import types

from tests.sdk.client_factories import (
    make_anthropic_client,
    make_gemini_client,
    make_ollama_client,
    make_openai_chat_client,
    make_openai_client,
)
from tests.support.live_server import Live

SYSTEM = "You are on call. Be brief."


@dataclass(frozen=True)
class Call:
    id: str | None
    name: str
    arguments: Any


@dataclass(frozen=True)
class Reply:
    """The text and the tool calls of an answer, and the answer itself."""

    text: str
    calls: list[Call]
    answer: Any


@dataclass
class Conversation(ABC):
    """A conversation: `request_fields` are sent with every request.

    With `minimal_results`, results of tools carry only the required fields of their calls.
    """

    client: Any
    request_fields: dict[str, Any]
    streamed: bool
    minimal_results: bool
    messages: list[Any] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    def send_user_message(self, text: str) -> Reply:
        return self._send({"role": "user", "content": text})

    def send_tool_results(self, results: Mapping[str, str]) -> Reply:
        """Send results of the last answer's calls; the mapping has the names of the tools."""
        return self._send(*(self._tool_result(call, results[call.name]) for call in self.calls))

    def _send(self, *messages: Any) -> Reply:
        self.messages += messages
        reply = self._request_reply()
        self.calls = reply.calls
        return reply

    @abstractmethod
    def _request_reply(self) -> Reply: ...

    @abstractmethod
    def _tool_result(self, call: Call, text: str) -> Any: ...


class OpenAIChat(Conversation):
    def _request_reply(self) -> Reply:
        request = {**self.request_fields, "messages": self.messages}
        answer = (
            self.client.stream_with_helper(**request).final
            if self.streamed
            else self.client.create(**request)
        )
        message = answer.choices[0].message
        # With every field that it has.
        self.messages.append(message.model_dump(exclude_none=True))
        calls = [
            Call(call.id, call.function.name, json.loads(call.function.arguments))
            for call in message.tool_calls or ()
        ]
        return Reply(message.content or "", calls, answer)

    def _tool_result(self, call: Call, text: str) -> Any:
        return {"role": "tool", "tool_call_id": call.id, "content": text}


class Responses(Conversation):
    """A conversation that the server stores: requests name the previous response."""

    def _request_reply(self) -> Reply:
        request = {**self.request_fields, "input": self.messages}
        if self.streamed:
            answer = self.client.stream_with_helper(**request)[1]
        else:
            answer = self.client.ask(lambda c: c.responses.create(**request))
        self.request_fields["previous_response_id"], self.messages = answer.id, []
        calls = [
            Call(item.call_id, item.name, json.loads(item.arguments))
            for item in answer.output
            if item.type == "function_call"
        ]
        return Reply(answer.output_text, calls, answer)

    def _tool_result(self, call: Call, text: str) -> Any:
        return {"type": "function_call_output", "call_id": call.id, "output": text}


class Claude(Conversation):
    def send_tool_results(self, results: Mapping[str, str]) -> Reply:
        content = [self._tool_result(call, results[call.name]) for call in self.calls]
        return self._send({"role": "user", "content": content})

    def _request_reply(self) -> Reply:
        request = {**self.request_fields, "messages": self.messages}
        answer = (
            self.client.stream_with_helper(**request).final
            if self.streamed
            else self.client.create(**request)
        )
        # Thinking with its signature, tool calls with their ids.
        self.messages.append({"role": "assistant", "content": answer.content})
        uses = [block for block in answer.content if block.type == "tool_use"]
        texts = [block.text for block in answer.content if block.type == "text"]
        return Reply("".join(texts), [Call(use.id, use.name, use.input) for use in uses], answer)

    def _tool_result(self, call: Call, text: str) -> Any:
        return {"type": "tool_result", "tool_use_id": call.id, "content": text}


class Gemini(Conversation):
    def send_user_message(self, text: str) -> Reply:
        return self._send(types.UserContent(text))

    def send_tool_results(self, results: Mapping[str, str]) -> Reply:
        parts = [self._tool_result(call, results[call.name]) for call in self.calls]
        return self._send(types.UserContent(parts))

    def _request_reply(self) -> Reply:
        send = self.client.stream if self.streamed else self.client.create
        answer = send(**self.request_fields, contents=self.messages)
        parts = answer.parts
        # Thoughts with their signatures, calls with their ids.
        self.messages.append(types.ModelContent(parts))
        calls = [part.function_call for part in parts if part.function_call]
        text = "".join(part.text or "" for part in parts if not part.thought)
        return Reply(text, [Call(call.id, call.name, call.args) for call in calls], answer)

    def _tool_result(self, call: Call, text: str) -> Any:
        id = None if self.minimal_results else call.id
        response = types.FunctionResponse(id=id, name=call.name, response={"output": text})
        return types.Part(function_response=response)


class Llama(Conversation):
    """A conversation with Ollama, whose tool calls have no ids.

    A stream has one message for each call; they are joined into one before it is sent back.
    """

    def _request_reply(self) -> Reply:
        request = {**self.request_fields, "messages": self.messages}
        if self.streamed:
            stream = self.client.stream(**request)
            tool_calls = [call for message in stream.messages for call in message.tool_calls or ()]
            self.messages.append(
                {"role": "assistant", "content": stream.text, "tool_calls": tool_calls}
            )
            return Reply(stream.text, [Call(None, *call) for call in stream.calls], stream)
        answer = self.client.create(**request)
        self.messages.append(answer.message)
        functions = [call.function for call in answer.message.tool_calls or ()]
        calls = [Call(None, call.name, call.arguments) for call in functions]
        return Reply(answer.message.content or "", calls, answer)

    def _tool_result(self, call: Call, text: str) -> Any:
        result = {"role": "tool", "content": text}
        return result if self.minimal_results else {**result, "tool_name": call.name}


@dataclass(frozen=True)
class ConversationOptions:
    """Settings of a conversation; `mode` is "sync" or "async"."""

    mode: str
    streamed: bool
    tools: tuple[str, ...]
    minimal_results: bool = False


def start_conversation(
    live: Live, provider: str, model: str, options: ConversationOptions
) -> Conversation:
    more = (options.streamed, options.minimal_results)
    system = {"role": "system", "content": SYSTEM}
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    functions = [
        {"type": "function", "function": {"name": name, "parameters": schema}}
        for name in options.tools
    ]
    request_fields: dict[str, Any] = {"model": model}
    match provider:
        case "openai":
            request_fields |= {"tools": functions, "temperature": 0.2}
            return OpenAIChat(
                make_openai_chat_client(live, options.mode), request_fields, *more, [system]
            )
        case "responses":
            responses_tools = [
                {"type": "function", "name": name, "parameters": schema, "strict": False}
                for name in options.tools
            ]
            request_fields |= {"tools": responses_tools, "temperature": 0.2, "instructions": SYSTEM}
            return Responses(make_openai_client(live, options.mode), request_fields, *more)
        case "anthropic" | "anthropic beta":
            thinking = {"type": "enabled", "budget_tokens": 1024}
            request_fields |= {"max_tokens": 4096, "thinking": thinking, "system": SYSTEM}
            request_fields["tools"] = [
                {"name": name, "input_schema": schema} for name in options.tools
            ]
            claude = make_anthropic_client(live, options.mode, beta=provider == "anthropic beta")
            return Claude(claude, request_fields, *more)
        case "gemini":
            declared = [types.FunctionDeclaration(name=name) for name in options.tools]
            request_fields["config"] = types.GenerateContentConfig(
                tools=[types.Tool(function_declarations=declared)],
                thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_budget=1024),
                temperature=0.2,
                system_instruction=SYSTEM,
            )
            return Gemini(make_gemini_client(live, options.mode), request_fields, *more)
        case _:
            request_fields |= {"tools": functions, "options": {"temperature": 0.2}}
            return Llama(make_ollama_client(live, options.mode), request_fields, *more, [system])
