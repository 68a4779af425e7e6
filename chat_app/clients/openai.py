"""Client for OpenAI's chat completions and for compatible servers, through OpenAI's SDK."""

from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, assert_never

from msgspec.structs import replace

from chat_app.clients import sdk
from chat_app.clients.failures import unreadable_response
from chat_app.clients.providers import OPENAI, TEST_LLM
from chat_app.clients.transports import MAX_SDK_CLIENTS, NO_KEY, Route, http_client
from chat_app.values import model_call as llm
from chat_app.values.events import ToolCall

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream
    from openai.types.chat import chat_completion_chunk as chunks

# Names of thinking in compatible APIs; OpenAI has none. A server that sends both means one.
_THINKING = ("reasoning_content", "reasoning")


@dataclass(slots=True)
class _OpenCall:
    """A tool call that is being streamed; arguments wait until its name is known."""

    provider_id: str
    id: str
    is_started: bool = False
    pending: list[str] = field(default_factory=list)


class OpenAIEventReader(sdk.ChoiceReader):
    """Converts the chunks of one answer, which is complete when all choices have finish reasons.
    `[DONE]` adds nothing to that, and the SDK does not show it."""

    def __init__(self, *, call_prefix: str) -> None:
        super().__init__(call_prefix=call_prefix)
        self._calls: list[_OpenCall] = []
        # By their choice, and the index that its deltas name.
        self._by_index: dict[tuple[int, int], _OpenCall] = {}

    def read(self, chunk: "chunks.ChatCompletionChunk") -> llm.ProviderEvents:
        if chunk.usage:
            self._tokens = (
                sdk.token_count(chunk.usage.prompt_tokens),
                sdk.token_count(chunk.usage.completion_tokens),
            )
        for choice in chunk.choices or ():
            yield from self._choice_events(choice)

    def end(self) -> llm.ProviderEvents:
        """Yield the last events; raises ChatError also if a call has got no name."""
        if not all(call.is_started for call in self._calls):
            raise unreadable_response()
        return super().end()

    def _choice_events(self, choice: "chunks.Choice") -> llm.ProviderEvents:
        """Yield the events of a chunk's choice; those of a later choice are queued."""
        index = sdk.optional_index(choice.index)
        if choice.delta:
            yield from self._add(index, [*self._delta_events(index, choice.delta)])
        if reason := sdk.optional_text(choice.finish_reason):
            yield from self._finish_choice(index, reason)

    def _delta_events(self, choice: int, delta: "chunks.ChoiceDelta") -> llm.ProviderEvents:
        extra = delta.model_extra or {}
        if thinking := next(
            (value for key in _THINKING if (value := sdk.optional_text(extra.get(key)))), ""
        ):
            yield llm.ThinkingPart(thinking)
        for content in (sdk.optional_text(delta.content), sdk.optional_text(delta.refusal)):
            if content:
                yield llm.TextPart(content)
        for piece in delta.tool_calls or ():
            if piece.function:
                yield from self._piece_events(self._find_call(choice, piece), piece.function)

    def _piece_events(
        self, call: _OpenCall, function: "chunks.ChoiceDeltaToolCallFunction"
    ) -> llm.ProviderEvents:
        """Yield the start of a call once its name is known, then its arguments."""
        if arguments := sdk.optional_text(function.arguments):
            call.pending.append(arguments)
        if not call.is_started and (name := sdk.optional_text(function.name)):
            call.is_started = True
            yield llm.CallStarted(call.id, name)
        if call.is_started:
            yield from (llm.CallArguments(call.id, pending) for pending in call.pending)
            call.pending.clear()

    def _find_call(self, choice: int, piece: "chunks.ChoiceDeltaToolCall") -> _OpenCall:
        """Return the call of a delta, a new one for a new index or id: some servers do not number
        calls, or number all alike."""
        provider_id, key = sdk.optional_text(piece.id), (choice, sdk.optional_index(piece.index))
        call = self._by_index.get(key)
        if call is None or (provider_id and call.provider_id and provider_id != call.provider_id):
            call = _OpenCall(provider_id, provider_id or f"{self._prefix}_{len(self._calls)}")
            self._calls.append(call)
            self._by_index[key] = call
        elif provider_id and not call.provider_id:
            call.provider_id = provider_id
            call.id = call.id if call.is_started else provider_id
        return call


# The API has no budgets: reasoning efforts by their largest budget in tokens.
_EFFORTS = ((4_096, "low"), (16_384, "medium"))
_MAX_EFFORT = "high"


def request_body(request: llm.ModelRequest, *, is_openai: bool) -> dict[str, Any]:
    """Return the body of a request, with the provider's defaults left out."""
    budget = request.thinking_budget
    functions = (sdk.to_tool(tool, "parameters") for tool in request.tools)
    tools = [{"type": "function", "function": function} for function in functions]
    return sdk.without_unset(
        {
            "model": request.model,
            "messages": list(_to_messages(request)),
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": request.temperature,
            # Reasoning models refuse the older name; other servers may not know the newer one.
            "max_completion_tokens" if is_openai else "max_tokens": request.max_tokens,
            "reasoning_effort": None if budget is None else reasoning_effort(budget),
            "tools": tools or None,
        }
    )


def reasoning_effort(budget: int) -> str:
    """Return the reasoning effort for a budget in tokens."""
    return next((name for max_tokens, name in _EFFORTS if budget <= max_tokens), _MAX_EFFORT)


def _to_messages(request: llm.ModelRequest) -> Iterator[dict[str, Any]]:
    """Yield the messages of a request, the system prompt first."""
    if request.system_prompt:
        yield {"role": "system", "content": request.system_prompt}
    for turn in request.turns:
        match turn:
            case llm.UserTurn(text):
                yield {"role": "user", "content": text}
            case llm.AssistantTurn():
                yield _to_assistant_message(turn)
            case llm.ToolResults(results):
                for result in results:
                    call_id, content = result.tool_call_id, result.content
                    yield {"role": "tool", "tool_call_id": call_id, "content": content}
            case _:
                assert_never(turn)


def _to_assistant_message(turn: llm.AssistantTurn) -> dict[str, Any]:
    """Return an answer without its thinking, which this API does not accept."""
    text = "".join(part.text for part in turn.parts if isinstance(part, llm.TextPart))
    calls = [_to_tool_call(part) for part in turn.parts if isinstance(part, ToolCall)]
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message |= {"content": text or None, "tool_calls": calls}
    return message


def _to_tool_call(call: ToolCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": call.arguments},
    }


class OpenAIClient(sdk.SdkClient):
    """A client for OpenAI's API and for compatible servers, which get `max_tokens` in place of
    `max_completion_tokens` (not `is_openai`)."""

    family = OPENAI
    reader = OpenAIEventReader

    def __init__(self, route: Route, *, is_openai: bool = False) -> None:
        super().__init__(route)
        self._is_openai = is_openai

    async def _open(self, request: llm.ModelRequest) -> "AsyncStream[chunks.ChatCompletionChunk]":
        from openai import AsyncStream
        from openai.types.chat import ChatCompletion, ChatCompletionChunk

        # Like `chat.completions.create`, but without its slow conversion of the body.
        return await _sdk_client(self.route.base_url).post(
            "/chat/completions",
            body=request_body(request, is_openai=self._is_openai),
            cast_to=ChatCompletion,
            stream=True,
            stream_cls=AsyncStream[ChatCompletionChunk],
        )


@lru_cache(MAX_SDK_CLIENTS)
def _sdk_client(base_url: str) -> "AsyncOpenAI":
    """Return the SDK's client for a base URL, without the key, which the route adds."""
    from openai import AsyncOpenAI

    return AsyncOpenAI(api_key=NO_KEY, base_url=base_url, http_client=http_client(), max_retries=0)


class HarnessClient(OpenAIClient):
    """An OpenAI client that prefixes the model with `test-llm/`, which selects the mock's test
    harness."""

    def stream(self, request: llm.ModelRequest) -> AsyncGenerator[llm.ProviderEvent, None]:
        return super().stream(replace(request, model=f"{TEST_LLM}/{request.model}"))
