"""Client for Anthropic's Messages API, through its SDK."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, assert_never

from chat_app.clients import sdk
from chat_app.clients.failures import unreadable_response
from chat_app.clients.providers import ANTHROPIC
from chat_app.clients.transports import MAX_SDK_CLIENTS, NO_KEY, http_client
from chat_app.values import model_call as llm
from chat_app.values.events import ToolCall

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream, types

# The API requires a limit. Thinking counts towards it, so the budget is added.
MAX_TOKENS = 4_096
FINISH_REASONS: Mapping[str, str] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}


@dataclass(slots=True)
class _OpenBlock:
    """An open content block; `call_id` is set for a tool call, `signature` for thinking."""

    call_id: str = ""
    signature: str = ""


class AnthropicEventReader(sdk.EventReader):
    """Converts the events of one answer, which is complete at `message_stop`. Blocks of other
    kinds, such as those of tools that run at the provider, are ignored."""

    def __init__(self, *, call_prefix: str) -> None:
        super().__init__(call_prefix=call_prefix)
        self._blocks: dict[int, _OpenBlock] = {}
        self._reason = ""

    def read(self, event: "types.RawMessageStreamEvent") -> llm.ProviderEvents:
        match event.type:
            case "message_start":
                if event.message.usage:
                    self._store_counts(event.message.usage)
                    yield llm.Usage(*self._tokens)
            case "content_block_start":
                yield from self._start_block(event)
            case "content_block_delta":
                yield from self._read_delta(self._blocks[event.index], event.delta)
            case "content_block_stop":
                if signature := self._blocks[event.index].signature:
                    yield llm.ThinkingPart(signature=signature)
            case "message_delta":
                self._reason = sdk.optional_text(event.delta.stop_reason) or self._reason
                if event.usage:
                    self._store_counts(event.usage)
            case "message_stop":
                self.ended = True

    def end(self) -> llm.ProviderEvents:
        if not self.ended:
            raise unreadable_response()
        yield llm.Finished(FINISH_REASONS.get(self._reason, self._reason), *self._tokens)

    def _start_block(self, event: "types.RawContentBlockStartEvent") -> llm.ProviderEvents:
        """Open a content block; yield the events of its start."""
        block = self._blocks[event.index] = _OpenBlock()
        match event.content_block.type:
            case "text":
                yield from _part_unless_empty(llm.TextPart, event.content_block.text)
            case "thinking":
                block.signature = sdk.optional_text(event.content_block.signature)
                yield from _part_unless_empty(llm.ThinkingPart, event.content_block.thinking)
            case "redacted_thinking":
                yield llm.ThinkingPart(redacted=sdk.optional_text(event.content_block.data))
            case "tool_use":
                call_id = sdk.optional_text(event.content_block.id)
                block.call_id = call_id or f"{self._prefix}_{event.index}"
                yield llm.CallStarted(block.call_id, sdk.required_text(event.content_block.name))

    def _read_delta(
        self, block: _OpenBlock, delta: "types.RawContentBlockDelta"
    ) -> llm.ProviderEvents:
        """Yield the events of a delta of an open block; signatures are stored until its end."""
        match delta.type:
            case "text_delta":
                yield from _part_unless_empty(llm.TextPart, delta.text)
            case "thinking_delta":
                yield from _part_unless_empty(llm.ThinkingPart, delta.thinking)
            case "signature_delta":
                block.signature = sdk.optional_text(delta.signature)
            case "input_json_delta":
                # Tools that run at the provider have arguments too, but no id here.
                if block.call_id and (piece := sdk.optional_text(delta.partial_json)):
                    yield llm.CallArguments(block.call_id, piece)

    def _store_counts(self, usage: "types.Usage | types.MessageDeltaUsage") -> None:
        """Store the counts of the answer so far; cached tokens are input as well."""
        read = (
            usage.input_tokens,
            usage.cache_creation_input_tokens,
            usage.cache_read_input_tokens,
        )
        now = sum(map(sdk.token_count, read)), sdk.token_count(usage.output_tokens)
        self._tokens = (now[0] or self._tokens[0], now[1] or self._tokens[1])


def _part_unless_empty(
    kind: type[llm.TextPart | llm.ThinkingPart], text: object
) -> llm.ProviderEvents:
    """Yield a part of this kind with the text; nothing for "" and None."""
    if content := sdk.optional_text(text):
        yield kind(content)


def request_body(request: llm.ModelRequest) -> dict[str, Any]:
    """Return the JSON body of a request."""
    budget = request.thinking_budget
    thinking = {"type": "enabled", "budget_tokens": budget}
    return sdk.without_unset(
        {
            "model": request.model,
            "max_tokens": request.max_tokens or MAX_TOKENS + (budget or 0),
            "messages": [message for turn in request.turns for message in _to_messages(turn)],
            "stream": True,
            "system": request.system_prompt or None,
            "thinking": None if budget is None else thinking,
            # With thinking, the API accepts its default temperature only.
            "temperature": request.temperature if budget is None else None,
            "tools": [sdk.to_tool(tool, "input_schema") for tool in request.tools] or None,
        }
    )


def _to_messages(turn: llm.Turn) -> Iterator[dict[str, Any]]:
    """Yield the message of a turn; none for an answer without content."""
    match turn:
        case llm.UserTurn(text):
            yield {"role": "user", "content": text}
        case llm.AssistantTurn(parts):
            # The API refuses empty content, but accepts two user messages in a row.
            if blocks := [block for part in parts for block in _to_blocks(part)]:
                yield {"role": "assistant", "content": blocks}
        case llm.ToolResults(results):
            yield {"role": "user", "content": [_to_tool_result(result) for result in results]}
        case _:
            assert_never(turn)


def _to_blocks(part: llm.AssistantPart) -> Iterator[dict[str, Any]]:
    """Yield a part's content blocks; none for white space and for thinking without a signature."""
    match part:
        case llm.ThinkingPart(text, signature, redacted):
            # The API refuses thinking without its signature.
            if signature:
                yield {"type": "thinking", "thinking": text, "signature": signature}
            if redacted:
                yield {"type": "redacted_thinking", "data": redacted}
        case llm.TextPart(text):
            if text.strip():
                yield {"type": "text", "text": text}
        case ToolCall(id=call_id, name=name, arguments=arguments):
            yield {
                "type": "tool_use",
                "id": call_id,
                "name": name,
                "input": sdk.to_object(arguments),
            }
        case _:
            assert_never(part)


def _to_tool_result(result: llm.ToolOutput) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": result.tool_call_id,
        "content": result.content,
        "is_error": result.is_error,
    }


class AnthropicClient(sdk.SdkClient):
    """A client for Anthropic's API."""

    family = ANTHROPIC
    reader = AnthropicEventReader

    async def _open(self, request: llm.ModelRequest) -> "AsyncStream[types.RawMessageStreamEvent]":
        from anthropic import AsyncStream
        from anthropic.types import Message, RawMessageStreamEvent

        # Like `messages.create`, but without its warnings about deprecated models, which a
        # program may turn into errors.
        return await _sdk_client(self.route.base_url).post(
            "/v1/messages",
            body=request_body(request),
            cast_to=Message,
            stream=True,
            stream_cls=AsyncStream[RawMessageStreamEvent],
        )


@lru_cache(MAX_SDK_CLIENTS)
def _sdk_client(base_url: str) -> "AsyncAnthropic":
    """Return the SDK's client for a base URL, without the key, which the route adds."""
    from anthropic import AsyncAnthropic

    return AsyncAnthropic(
        api_key=NO_KEY,
        # Clients of other APIs expect the version in the base URL.
        base_url=base_url.rstrip("/").removesuffix("/v1"),
        http_client=http_client(),
        max_retries=0,
        open_telemetry=False,
    )
