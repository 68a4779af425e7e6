"""Google's Gemini API, through its SDK."""

import json
import ssl
from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, assert_never, cast

import httpx2

from chat_app.clients.providers import GOOGLE
from chat_app.clients.sdk import Folding, as_object, call, count, legible, needed, text
from chat_app.clients.transports import MOST_KEPT, NO_KEY, Route, http_client
from chat_app.errors import SERVICE_UNAVAILABLE, ChatError
from chat_app.imports import imported
from chat_app.values.events import ToolCall
from chat_app.values.model_call import (
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
    from google.genai import Client
    from google.genai.types import (
        Candidate,
        FunctionCall,
        GenerateContentResponse,
        GenerateContentResponseUsageMetadata,
        Part,
    )

_FILTERED = (
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
)
REASONS: Mapping[str, str] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(_FILTERED, "content_filter"),
}


class Events:
    """One answer. It is whole when every candidate that began has said why it finished."""

    def __init__(self, *, call_prefix: str) -> None:
        self._prefix = call_prefix
        self._folding = Folding()
        self._ids: set[str] = set()
        self._called: set[int] = set()
        self._signature = b""
        self._tokens = (0, 0)

    def read(self, response: "GenerateContentResponse") -> Iterator[ProviderEvent]:
        if response.usage_metadata:
            self._tokens = _tokens(response.usage_metadata)
            yield Usage(*self._tokens)
        feedback = response.prompt_feedback
        if feedback and feedback.block_reason:
            why = feedback.block_reason_message or feedback.block_reason.value
            raise ChatError(SERVICE_UNAVAILABLE, f"The prompt was blocked: {why}")
        for candidate in response.candidates or ():
            yield from self._candidate(candidate)

    def end(self) -> Iterator[ProviderEvent]:
        rest, reason = self._folding.end()
        yield from rest
        yield Finished(reason, *self._tokens)

    def _candidate(self, candidate: "Candidate") -> Iterator[ProviderEvent]:
        index = candidate.index or 0
        parts = (candidate.content and candidate.content.parts) or ()
        events = [event for part in parts for event in self._part(index, part)]
        yield from self._folding.tell(index, events)
        if candidate.finish_reason:
            said = candidate.finish_reason.value
            reason = REASONS.get(said, said.lower())
            if reason == "stop" and index in self._called:
                reason = "tool_calls"
            yield from self._folding.finish(index, reason)

    def _part(self, candidate: int, part: "Part") -> Iterator[ProviderEvent]:
        said = text(part.text)
        if part.thought:
            if said:
                yield ThinkingPiece(said)
            yield from self._signed(part)
            return
        # On a call or a text, it seals the thinking before.
        yield from self._signed(part)
        if said:
            yield TextPiece(said)
        if part.function_call:
            self._called.add(candidate)
            yield from self._call(part.function_call)

    def _signed(self, part: "Part") -> Iterator[ProviderEvent]:
        """The same one may be said again, on a call."""
        signature = part.thought_signature or b""
        if signature and signature != self._signature:
            self._signature = signature
            yield ThinkingPiece(signature=b64encode(signature).decode())

    def _call(self, call: "FunctionCall") -> Iterator[ProviderEvent]:
        call_id = text(call.id) or f"{self._prefix}_{len(self._ids)}"
        self._ids.add(call_id)
        yield CallBegun(call_id, needed(call.name))
        yield CallArguments(call_id, json.dumps(call.args or {}, ensure_ascii=False))


def _tokens(usage: "GenerateContentResponseUsageMetadata") -> tuple[int, int]:
    """Google counts thoughts beside what was said."""
    said, thought = count(usage.candidates_token_count), count(usage.thoughts_token_count)
    return count(usage.prompt_token_count), said + thought


def _config(request: ModelRequest) -> dict[str, Any]:
    """All that is not the conversation. The SDK may neither run functions nor go on by itself."""
    fields: dict[str, Any] = {
        "automatic_function_calling": {"disable": True},
        "automatic_continuation": False,
    }
    if request.system_prompt:
        fields["system_instruction"] = request.system_prompt
    if request.temperature is not None:
        fields["temperature"] = request.temperature
    if request.max_tokens is not None:
        fields["max_output_tokens"] = request.max_tokens
    if request.thinking_budget is not None:
        fields["thinking_config"] = {
            "thinking_budget": request.thinking_budget,
            "include_thoughts": True,
        }
    if request.tools:
        fields["tools"] = [{"function_declarations": [_function(tool) for tool in request.tools]}]
    return fields


def _contents(request: ModelRequest) -> list[dict[str, Any]]:
    return [
        {"role": role, "parts": parts}
        for role, parts in map(_content, request.turns)
        if parts  # empty ones are refused
    ]


def _content(turn: Turn) -> tuple[str, list[dict[str, Any]]]:
    match turn:
        case UserTurn(text):
            return "user", [{"text": text}]
        case AssistantTurn():
            return "model", list(_parts(turn))
        case ToolResults(results):
            return "user", [_result(result) for result in results]
        case _:
            assert_never(turn)


def _parts(turn: AssistantTurn) -> Iterator[dict[str, Any]]:
    """A signature stands on what came of the thinking: the call or the text that follows, else an
    empty text. Thinking without one is left out: it is not Google's, or not needed."""
    signature: dict[str, bytes] = {}
    for part in turn.parts:
        match part:
            case Thinking(text, sealed):
                if sealed and (data := _decoded(sealed)):
                    yield from _silence(signature)
                    signature = {"thought_signature": data}
                    if text:
                        yield {"text": text, "thought": True}
            case Text(text):
                if text:
                    yield {"text": text, **signature}
                    signature = {}
            case ToolCall(id=call_id, name=name, arguments=arguments):
                function = {"id": call_id, "name": name, "args": as_object(arguments)}
                yield {"function_call": function, **signature}
                signature = {}
            case _:
                assert_never(part)
    yield from _silence(signature)


def _silence(signature: dict[str, bytes]) -> Iterator[dict[str, Any]]:
    if signature:
        yield {"text": "", **signature}


def _decoded(sealed: str) -> bytes:
    try:
        return b64decode(sealed, validate=True)
    except (Error, ValueError):
        return b""


def _result(result: Result) -> dict[str, Any]:
    key = "error" if result.is_error else "output"
    response = {key: result.content}
    return {
        "function_response": {
            "id": result.tool_call_id,
            "name": result.name,
            "response": response,
        }
    }


def _function(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters_json_schema": dict(tool.input_schema),
    }


VERSION = "v1beta"


class GoogleClient:
    def __init__(self, route: Route) -> None:
        self.route = route

    def stream(self, request: ModelRequest) -> AsyncIterator[ProviderEvent]:
        return call(self._events(request), self.route)

    async def aclose(self) -> None:
        await self.route.aclose()

    async def _events(self, request: ModelRequest) -> AsyncGenerator[ProviderEvent, None]:
        await imported(GOOGLE.loads)
        from google.genai.types import GenerateContentConfig, GenerateContentResponse

        async with self.route.call():
            events = Events(call_prefix=f"call_{len(request.turns)}")
            models = _sdk(self.route.base_url).aio.models
            stream = await models.generate_content_stream(
                model=request.model,
                contents=_contents(request),
                config=GenerateContentConfig.model_validate(_config(request)),
            )
            async with aclosing(cast(AsyncGenerator[GenerateContentResponse, None], stream)):
                with legible():
                    async for response in stream:
                        for event in events.read(response):
                            yield event
            for event in events.end():
                yield event


@lru_cache(MOST_KEPT)
def _sdk(base_url: str) -> "Client":
    from google.genai import Client
    from google.genai.client import DebugConfig
    from google.genai.types import HttpOptions

    # Others' clients want the version in it.
    base, _, version = base_url.rstrip("/").rpartition("/")
    if version not in ("v1", VERSION):
        base, version = base_url, VERSION
    return Client(
        api_key=NO_KEY,
        vertexai=False,
        debug_config=DebugConfig(client_mode="", replays_directory="", replay_id=""),
        http_options=HttpOptions(
            base_url=base,
            api_version=version,
            httpx_async_client=http_client(),
            httpx_client=_unused_http(),
            async_client_args={"ssl": _unused_tls()},
        ),
    )


# The SDK makes what it is not given, and that reads the machine's certificates.


@cache
def _unused_http() -> httpx2.Client:
    return httpx2.Client(transport=httpx2.BaseTransport(), trust_env=False)


@cache
def _unused_tls() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
