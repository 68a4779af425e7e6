"""Conversations of several turns over each client: its answers and the results of tools go back as
the client gives them."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from google.genai import types

from tests.sdk.talks import claude_of, gemini_of, ollama_of, openai_of, openais_whole_client
from tests.support.live_server import Live

SYSTEM = "You are on call. Be brief."


@dataclass(frozen=True)
class Call:
    id: str | None
    name: str
    arguments: Any


@dataclass(frozen=True)
class Said:
    """What an answer said, and the answer itself."""

    text: str
    calls: list[Call]
    answer: Any


@dataclass
class Conversation(ABC):
    """What was said so far, and how it goes on. `asked` comes with every question; results are
    `bare` where they say no more of their calls than they must."""

    talk: Any
    asked: dict[str, Any]
    streamed: bool
    bare: bool
    messages: list[Any] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)

    def user(self, text: str) -> Said:
        return self._next({"role": "user", "content": text})

    def give(self, results: Mapping[str, str]) -> Said:
        """The results of the last answer's calls, each by the name of its tool."""
        return self._next(*(self._result(call, results[call.name]) for call in self.calls))

    def _next(self, *messages: Any) -> Said:
        self.messages += messages
        said = self._ask()
        self.calls = said.calls
        return said

    @abstractmethod
    def _ask(self) -> Said: ...

    @abstractmethod
    def _result(self, call: Call, text: str) -> Any: ...


class OpenAIChat(Conversation):
    def _ask(self) -> Said:
        asked = {**self.asked, "messages": self.messages}
        answer = self.talk.helped(**asked).final if self.streamed else self.talk.whole(**asked)
        message = answer.choices[0].message
        # With every field that it has.
        self.messages.append(message.model_dump(exclude_none=True))
        calls = [
            Call(call.id, call.function.name, json.loads(call.function.arguments))
            for call in message.tool_calls or ()
        ]
        return Said(message.content or "", calls, answer)

    def _result(self, call: Call, text: str) -> Any:
        return {"role": "tool", "tool_call_id": call.id, "content": text}


class Responses(Conversation):
    """The server keeps what was said."""

    def _ask(self) -> Said:
        asked = {**self.asked, "input": self.messages}
        if self.streamed:
            answer = self.talk.helped(**asked)[1]
        else:
            answer = self.talk.ask(lambda client: client.responses.create(**asked))
        self.asked["previous_response_id"], self.messages = answer.id, []
        calls = [
            Call(item.call_id, item.name, json.loads(item.arguments))
            for item in answer.output
            if item.type == "function_call"
        ]
        return Said(answer.output_text, calls, answer)

    def _result(self, call: Call, text: str) -> Any:
        return {"type": "function_call_output", "call_id": call.id, "output": text}


class Claude(Conversation):
    def give(self, results: Mapping[str, str]) -> Said:
        content = [self._result(call, results[call.name]) for call in self.calls]
        return self._next({"role": "user", "content": content})

    def _ask(self) -> Said:
        asked = {**self.asked, "messages": self.messages}
        answer = self.talk.helped(**asked).final if self.streamed else self.talk.whole(**asked)
        # Thinking with its signature, tool calls with their ids.
        self.messages.append({"role": "assistant", "content": answer.content})
        uses = [block for block in answer.content if block.type == "tool_use"]
        texts = [block.text for block in answer.content if block.type == "text"]
        return Said("".join(texts), [Call(use.id, use.name, use.input) for use in uses], answer)

    def _result(self, call: Call, text: str) -> Any:
        return {"type": "tool_result", "tool_use_id": call.id, "content": text}


class Gemini(Conversation):
    def user(self, text: str) -> Said:
        return self._next(types.UserContent(text))

    def give(self, results: Mapping[str, str]) -> Said:
        parts = [self._result(call, results[call.name]) for call in self.calls]
        return self._next(types.UserContent(parts))

    def _ask(self) -> Said:
        ask = self.talk.stream if self.streamed else self.talk.whole
        answer = ask(**self.asked, contents=self.messages)
        parts = answer.parts
        # Thoughts with their signatures, calls with their ids.
        self.messages.append(types.ModelContent(parts))
        calls = [part.function_call for part in parts if part.function_call]
        text = "".join(part.text or "" for part in parts if not part.thought)
        return Said(text, [Call(call.id, call.name, call.args) for call in calls], answer)

    def _result(self, call: Call, text: str) -> Any:
        id = None if self.bare else call.id
        response = types.FunctionResponse(id=id, name=call.name, response={"output": text})
        return types.Part(function_response=response)


class Llama(Conversation):
    """Its calls have no ids, and those of a stream come in messages of their own, which a client
    joins to one."""

    def _ask(self) -> Said:
        asked = {**self.asked, "messages": self.messages}
        if self.streamed:
            seen = self.talk.stream(**asked)
            made = [call for message in seen.messages for call in message.tool_calls or ()]
            self.messages.append({"role": "assistant", "content": seen.text, "tool_calls": made})
            return Said(seen.text, [Call(None, *call) for call in seen.calls], seen)
        answer = self.talk.whole(**asked)
        self.messages.append(answer.message)
        calls = [call.function for call in answer.message.tool_calls or ()]
        told = [Call(None, call.name, call.arguments) for call in calls]
        return Said(answer.message.content or "", told, answer)

    def _result(self, call: Call, text: str) -> Any:
        result = {"role": "tool", "content": text}
        return result if self.bare else {**result, "tool_name": call.name}


@dataclass(frozen=True)
class Begun:
    """How a conversation is begun: sync or async, streamed or whole, with these tools."""

    way: str
    streamed: bool
    tools: tuple[str, ...]
    bare: bool = False


def conversation(live: Live, provider: str, model: str, begun: Begun) -> Conversation:
    more = (begun.streamed, begun.bare)
    system = {"role": "system", "content": SYSTEM}
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    functions = [
        {"type": "function", "function": {"name": name, "parameters": schema}}
        for name in begun.tools
    ]
    asked: dict[str, Any] = {"model": model}
    match provider:
        case "openai":
            asked |= {"tools": functions, "temperature": 0.2}
            return OpenAIChat(openai_of(live, begun.way), asked, *more, [system])
        case "responses":
            flat = [
                {"type": "function", "name": name, "parameters": schema, "strict": False}
                for name in begun.tools
            ]
            asked |= {"tools": flat, "temperature": 0.2, "instructions": SYSTEM}
            return Responses(openais_whole_client(live, begun.way), asked, *more)
        case "anthropic" | "anthropic beta":
            thinking = {"type": "enabled", "budget_tokens": 1024}
            asked |= {"max_tokens": 4096, "thinking": thinking, "system": SYSTEM}
            asked["tools"] = [{"name": name, "input_schema": schema} for name in begun.tools]
            claude = claude_of(live, begun.way, beta=provider == "anthropic beta")
            return Claude(claude, asked, *more)
        case "gemini":
            declared = [types.FunctionDeclaration(name=name) for name in begun.tools]
            asked["config"] = types.GenerateContentConfig(
                tools=[types.Tool(function_declarations=declared)],
                thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_budget=1024),
                temperature=0.2,
                system_instruction=SYSTEM,
            )
            return Gemini(gemini_of(live, begun.way), asked, *more)
        case _:
            asked |= {"tools": functions, "options": {"temperature": 0.2}}
            return Llama(ollama_of(live, begun.way), asked, *more, [system])
