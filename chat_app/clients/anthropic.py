"""Anthropic's messages, through its SDK."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, assert_never

from chat_app.clients.failures import unreadable
from chat_app.clients.providers import ANTHROPIC
from chat_app.clients.sdk import as_object, call, count, drained, legible, needed, text
from chat_app.clients.transports import MOST_KEPT, NO_KEY, Route, http_client
from chat_app.imports import imported
from chat_app.values.events import ToolCall
from chat_app.values.model_call import (
    AssistantPart,
    AssistantTurn,
    CallArguments,
    CallBegun,
    Finished,
    ModelRequest,
    ProviderEvent,
    Result,
    Text,
    TextPiece,
    Thinking,
    ThinkingPiece,
    Tool,
    ToolResults,
    Turn,
    Usage,
    UserTurn,
)

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import (
        MessageDeltaUsage,
        RawContentBlockDelta,
        RawContentBlockStartEvent,
        RawMessageStreamEvent,
    )
    from anthropic.types import Usage as MessageUsage

REASONS: Mapping[str, str] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


@dataclass(slots=True)
class _Block:
    """A block that was begun: a call has an id, thinking is closed by its signature."""

    call_id: str = ""
    signature: str = ""


class Events:
    """One answer. It is whole at `message_stop`. Blocks of kinds that are not asked for, such as
    those of tools that run at the provider, are passed over."""

    def __init__(self, *, call_prefix: str) -> None:
        self.ended = False
        self._prefix = call_prefix
        self._blocks: dict[int, _Block] = {}
        self._reason = ""
        self._input = 0
        self._output = 0

    def read(self, event: "RawMessageStreamEvent") -> Iterator[ProviderEvent]:
        match event.type:
            case "message_start":
                if event.message.usage:
                    self._count(event.message.usage)
                    yield Usage(self._input, self._output)
            case "content_block_start":
                yield from self._start(event)
            case "content_block_delta":
                yield from self._delta(self._blocks[event.index], event.delta)
            case "content_block_stop":
                if signature := self._blocks[event.index].signature:
                    yield ThinkingPiece(signature=signature)
            case "message_delta":
                self._reason = text(event.delta.stop_reason) or self._reason
                if event.usage:
                    self._count(event.usage)
            case "message_stop":
                self.ended = True

    def end(self) -> Iterator[ProviderEvent]:
        if not self.ended:
            raise unreadable()
        yield Finished(REASONS.get(self._reason, self._reason), self._input, self._output)

    def _start(self, event: "RawContentBlockStartEvent") -> Iterator[ProviderEvent]:
        block = self._blocks[event.index] = _Block()
        match event.content_block.type:
            case "text":
                yield from _said(event.content_block.text)
            case "thinking":
                block.signature = text(event.content_block.signature)
                yield from _thought(event.content_block.thinking)
            case "redacted_thinking":
                yield ThinkingPiece(redacted=text(event.content_block.data))
            case "tool_use":
                given = text(event.content_block.id)
                block.call_id = given or f"{self._prefix}_{event.index}"
                yield CallBegun(block.call_id, needed(event.content_block.name))

    def _delta(self, block: _Block, delta: "RawContentBlockDelta") -> Iterator[ProviderEvent]:
        match delta.type:
            case "text_delta":
                yield from _said(delta.text)
            case "thinking_delta":
                yield from _thought(delta.thinking)
            case "signature_delta":
                block.signature = text(delta.signature)
            case "input_json_delta":
                # A tool of the provider's own has arguments too, and no id here.
                if block.call_id and (piece := text(delta.partial_json)):
                    yield CallArguments(block.call_id, piece)

    def _count(self, usage: "MessageUsage | MessageDeltaUsage") -> None:
        """Counts are of the whole answer so far; what was cached was read as well."""
        read = (
            usage.input_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        )
        self._input = sum(map(count, read)) or self._input
        self._output = count(usage.output_tokens) or self._output


def _said(piece: object) -> Iterator[ProviderEvent]:
    if found := text(piece):
        yield TextPiece(found)


def _thought(piece: object) -> Iterator[ProviderEvent]:
    if found := text(piece):
        yield ThinkingPiece(found)


# This API demands a limit. Thinking counts against it, so a budget comes on top.
MAX_TOKENS = 4_096


def body(request: ModelRequest) -> dict[str, Any]:
    budget = request.thinking_budget
    fields: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens or MAX_TOKENS + (budget or 0),
        "messages": [
            {"role": role, "content": content}
            for turn in request.turns
            for role, content in _message(turn)
        ],
        "stream": True,
    }
    if request.system_prompt:
        fields["system"] = request.system_prompt
    if budget is not None:
        fields["thinking"] = {"type": "enabled", "budget_tokens": budget}
    elif request.temperature is not None:
        # With thinking the API refuses any temperature but its own.
        fields["temperature"] = request.temperature
    if request.tools:
        fields["tools"] = [_tool(tool) for tool in request.tools]
    return fields


def _message(turn: Turn) -> Iterator[tuple[str, str | list[dict[str, Any]]]]:
    match turn:
        case UserTurn(text):
            yield "user", text
        case AssistantTurn(parts):
            # Empty content is refused, and two messages of the user in a row are not.
            if blocks := [block for part in parts for block in _block(part)]:
                yield "assistant", blocks
        case ToolResults(results):
            yield "user", [_result(result) for result in results]
        case _:
            assert_never(turn)


def _block(part: AssistantPart) -> Iterator[dict[str, Any]]:
    match part:
        case Thinking(text, signature, redacted):
            # Without its seal the API does not take thinking back.
            if signature:
                yield {"type": "thinking", "thinking": text, "signature": signature}
            if redacted:
                yield {"type": "redacted_thinking", "data": redacted}
        case Text(text):
            if text.strip():
                yield {"type": "text", "text": text}
        case ToolCall(id=call_id, name=name, arguments=arguments):
            yield {"type": "tool_use", "id": call_id, "name": name, "input": as_object(arguments)}
        case _:
            assert_never(part)


def _result(result: Result) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": result.tool_call_id,
        "content": result.content,
        "is_error": result.is_error,
    }


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.input_schema),
    }


class AnthropicClient:
    def __init__(self, route: Route) -> None:
        self.route = route

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        return call(self._events(request), self.route)

    async def aclose(self) -> None:
        await self.route.aclose()

    async def _events(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        await imported(ANTHROPIC.loads)
        from anthropic import AsyncStream
        from anthropic.types import Message, RawMessageStreamEvent

        async with self.route.call():
            events = Events(call_prefix=f"call_{len(request.turns)}")
            # What `messages.create` does, without its warnings about models that will retire:
            # those are for who chose the model, and a program may make errors of warnings.
            stream = await _sdk(self.route.base_url).post(
                "/v1/messages",
                body=body(request),
                cast_to=Message,
                stream=True,
                stream_cls=AsyncStream[RawMessageStreamEvent],
            )
            async with stream:
                with legible():
                    async for event in stream:
                        for told in events.read(event):
                            yield told
                        if events.ended:
                            await drained(stream)
                            break
            for told in events.end():
                yield told


@lru_cache(MOST_KEPT)
def _sdk(base_url: str) -> "AsyncAnthropic":
    from anthropic import AsyncAnthropic

    return AsyncAnthropic(
        api_key=NO_KEY,
        # Others' clients want the version in it.
        base_url=base_url.rstrip("/").removesuffix("/v1"),
        http_client=http_client(),
        max_retries=0,
        open_telemetry=False,
    )
