"""OpenAI's chat completions, through its SDK: OpenAI's own, and all that speak it elsewhere."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, assert_never

from chat_app.clients.failures import unreadable
from chat_app.clients.providers import OPENAI, TEST_LLM
from chat_app.clients.sdk import Folding, call, count, legible, number, text
from chat_app.clients.transports import MOST_KEPT, NO_KEY, Route, http_client
from chat_app.imports import imported
from chat_app.values.events import ToolCall
from chat_app.values.model_call import (
    AssistantTurn,
    CallArguments,
    CallBegun,
    Finished,
    ModelRequest,
    ProviderEvent,
    Text,
    TextPiece,
    ThinkingPiece,
    Tool,
    ToolResults,
    Turn,
    UserTurn,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat.chat_completion_chunk import (
        ChatCompletionChunk,
        Choice,
        ChoiceDelta,
        ChoiceDeltaToolCall,
        ChoiceDeltaToolCallFunction,
    )

# Thinking has no name in OpenAI's own API: these are others', and who sends both means one.
_THINKING = ("reasoning_content", "reasoning")


@dataclass(slots=True)
class _Call:
    """`given` is the id as the provider gave it; arguments are held until the name is known."""

    given: str
    id: str
    begun: bool = False
    held: list[str] = field(default_factory=list)


class Events:
    """One answer. It is whole when every choice that began has a finish reason: `[DONE]` says no
    more than that, and the SDK keeps it to itself."""

    def __init__(self, *, call_prefix: str) -> None:
        self._prefix = call_prefix
        self._folding = Folding()
        self._calls: list[_Call] = []
        # By their choice, and the index that its deltas name.
        self._at: dict[tuple[int, int], _Call] = {}
        self._tokens = (0, 0)

    def read(self, chunk: "ChatCompletionChunk") -> Iterator[ProviderEvent]:
        if chunk.usage:
            self._tokens = (
                count(chunk.usage.prompt_tokens),
                count(chunk.usage.completion_tokens),
            )
        for choice in chunk.choices or ():
            yield from self._choice(choice)

    def end(self) -> Iterator[ProviderEvent]:
        rest, reason = self._folding.end()
        if not all(call.begun for call in self._calls):
            raise unreadable()
        yield from rest
        yield Finished(reason, *self._tokens)

    def _choice(self, choice: "Choice") -> Iterator[ProviderEvent]:
        index = number(choice.index)
        if choice.delta:
            yield from self._folding.tell(index, [*self._delta(index, choice.delta)])
        if reason := text(choice.finish_reason):
            yield from self._folding.finish(index, reason)

    def _delta(self, choice: int, delta: "ChoiceDelta") -> Iterator[ProviderEvent]:
        extra = delta.model_extra or {}
        if thinking := next((found for key in _THINKING if (found := text(extra.get(key)))), ""):
            yield ThinkingPiece(thinking)
        for said in (text(delta.content), text(delta.refusal)):
            if said:
                yield TextPiece(said)
        for piece in delta.tool_calls or ():
            if piece.function:
                yield from self._piece(self._call(choice, piece), piece.function)

    def _piece(
        self, call: _Call, function: "ChoiceDeltaToolCallFunction"
    ) -> Iterator[ProviderEvent]:
        if arguments := text(function.arguments):
            call.held.append(arguments)
        if not call.begun and (name := text(function.name)):
            call.begun = True
            yield CallBegun(call.id, name)
        if call.begun:
            yield from (CallArguments(call.id, held) for held in call.held)
            call.held.clear()

    def _call(self, choice: int, piece: "ChoiceDeltaToolCall") -> _Call:
        """The call that a delta belongs to. Some servers number no calls, or all alike: another
        id is another call."""
        given, key = text(piece.id), (choice, number(piece.index))
        call = self._at.get(key)
        if call is None or (given and call.given and given != call.given):
            call = _Call(given, given or f"{self._prefix}_{len(self._calls)}")
            self._calls.append(call)
            self._at[key] = call
        elif given and not call.given:
            call.given = given
            call.id = call.id if call.begun else given
        return call


# The API knows no budgets. Efforts, each with the most tokens that it stands for.
_EFFORTS = ((4_096, "low"), (16_384, "medium"))
_MOST_EFFORT = "high"


def body(request: ModelRequest, *, genuine: bool) -> dict[str, Any]:
    """Only what the request says: everything else is left to the provider."""
    fields: dict[str, Any] = {
        "model": request.model,
        "messages": list(_messages(request)),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.temperature is not None:
        fields["temperature"] = request.temperature
    if request.max_tokens is not None:
        # Models that reason refuse the older name; servers other than OpenAI's may not know the
        # newer one.
        fields["max_completion_tokens" if genuine else "max_tokens"] = request.max_tokens
    if request.thinking_budget is not None:
        fields["reasoning_effort"] = effort(request.thinking_budget)
    if request.tools:
        fields["tools"] = [_tool(tool) for tool in request.tools]
    return fields


def effort(budget: int) -> str:
    """The reasoning effort that stands for a budget of so many tokens."""
    return next((name for most, name in _EFFORTS if budget <= most), _MOST_EFFORT)


def _messages(request: ModelRequest) -> Iterator[dict[str, Any]]:
    if request.system_prompt:
        yield {"role": "system", "content": request.system_prompt}
    for turn in request.turns:
        yield from _turn(turn)


def _turn(turn: Turn) -> Iterator[dict[str, Any]]:
    match turn:
        case UserTurn(text):
            yield {"role": "user", "content": text}
        case AssistantTurn():
            yield _assistant(turn)
        case ToolResults(results):
            for result in results:
                yield {
                    "role": "tool",
                    "tool_call_id": result.tool_call_id,
                    "content": result.content,
                }
        case _:
            assert_never(turn)


def _assistant(turn: AssistantTurn) -> dict[str, Any]:
    """Thinking stays out of it: this API does not take it back."""
    text = "".join(part.text for part in turn.parts if isinstance(part, Text))
    calls = [_call(part) for part in turn.parts if isinstance(part, ToolCall)]
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message |= {"content": text or None, "tool_calls": calls}
    return message


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": dict(tool.input_schema),
        },
    }


class OpenAIClient:
    """`genuine` is OpenAI itself: it has a newer name for a limit that others do not know."""

    def __init__(self, route: Route, *, genuine: bool = False) -> None:
        self.route = route
        self._genuine = genuine

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        return call(self._events(request), self.route)

    async def aclose(self) -> None:
        await self.route.aclose()

    async def _events(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        await imported(OPENAI.loads)
        from openai import AsyncStream
        from openai.types.chat import ChatCompletion, ChatCompletionChunk

        async with self.route.call():
            events = Events(call_prefix=f"call_{len(request.turns)}")
            # What `chat.completions.create` does, without going through all of the body for what
            # SDKs allow in it and JSON does not have.
            stream = await _sdk(self.route.base_url).post(
                "/chat/completions",
                body=body(request, genuine=self._genuine),
                cast_to=ChatCompletion,
                stream=True,
                stream_cls=AsyncStream[ChatCompletionChunk],
            )
            async with stream:
                with legible():
                    async for chunk in stream:
                        for event in events.read(chunk):
                            yield event
            for event in events.end():
                yield event


@lru_cache(MOST_KEPT)
def _sdk(base_url: str) -> "AsyncOpenAI":
    from openai import AsyncOpenAI

    return AsyncOpenAI(api_key=NO_KEY, base_url=base_url, http_client=http_client(), max_retries=0)


class HarnessClient(OpenAIClient):
    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        """The mock knows its harness by the model's name."""
        return super().stream(replace(request, model=f"{TEST_LLM}/{request.model}"))
