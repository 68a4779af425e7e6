"""Client for Google's Gemini API, through its SDK."""

import json
import ssl
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, assert_never, cast

import httpx2

from chat_app.clients import sdk
from chat_app.clients.providers import GOOGLE
from chat_app.clients.transports import MAX_SDK_CLIENTS, NO_KEY, http_client
from chat_app.errors import SERVICE_UNAVAILABLE, ChatError
from chat_app.values import model_call as llm
from chat_app.values.events import ToolCall

if TYPE_CHECKING:
    from google.genai import Client, types

VERSION = "v1beta"
_FILTERED = (
    *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII"),
    *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
)
FINISH_REASONS: Mapping[str, str] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(_FILTERED, "content_filter"),
}


class GoogleEventReader(sdk.ChoiceReader):
    """Converts the chunks of one answer, which is complete when all candidates have finished."""

    def __init__(self, *, call_prefix: str) -> None:
        super().__init__(call_prefix=call_prefix)
        self._ids: set[str] = set()
        self._choices_with_calls: set[int] = set()
        self._signature = b""

    def read(self, response: "types.GenerateContentResponse") -> llm.ProviderEvents:
        """Yield the events of one chunk; raises ChatError if the prompt was blocked."""
        if response.usage_metadata:
            self._tokens = _count_tokens(response.usage_metadata)
            yield llm.Usage(*self._tokens)
        feedback = response.prompt_feedback
        if feedback and feedback.block_reason:
            why = feedback.block_reason_message or feedback.block_reason.value
            raise ChatError(SERVICE_UNAVAILABLE, f"The prompt was blocked: {why}")
        for candidate in response.candidates or ():
            yield from self._candidate_events(candidate)

    def _candidate_events(self, candidate: "types.Candidate") -> llm.ProviderEvents:
        """Yield the events of a candidate in a chunk; those of a later candidate are queued."""
        index = candidate.index or 0
        parts = (candidate.content and candidate.content.parts) or ()
        events = [event for part in parts for event in self._part_events(index, part)]
        yield from self._add(index, events)
        if candidate.finish_reason:
            google_reason = candidate.finish_reason.value
            reason = FINISH_REASONS.get(google_reason, google_reason.lower())
            if reason == "stop" and index in self._choices_with_calls:
                reason = "tool_calls"
            yield from self._finish_choice(index, reason)

    def _part_events(self, candidate: int, part: "types.Part") -> llm.ProviderEvents:
        text = sdk.optional_text(part.text)
        if part.thought:
            if text:
                yield llm.ThinkingPart(text)
            yield from self._signature_events(part)
            return
        # On a call or a text, it is the signature of the thinking before.
        yield from self._signature_events(part)
        if text:
            yield llm.TextPart(text)
        if part.function_call:
            self._choices_with_calls.add(candidate)
            yield from self._call_events(part.function_call)

    def _signature_events(self, part: "types.Part") -> llm.ProviderEvents:
        """Yield a part's signature, unless it repeats the one before."""
        signature = part.thought_signature or b""
        if signature and signature != self._signature:
            self._signature = signature
            yield llm.ThinkingPart(signature=b64encode(signature).decode())

    def _call_events(self, call: "types.FunctionCall") -> llm.ProviderEvents:
        """Yield the start and the arguments of a tool call, which comes in one piece."""
        call_id = sdk.optional_text(call.id) or f"{self._prefix}_{len(self._ids)}"
        self._ids.add(call_id)
        yield llm.CallStarted(call_id, sdk.required_text(call.name))
        yield llm.CallArguments(call_id, json.dumps(call.args or {}, ensure_ascii=False))


def _count_tokens(usage: "types.GenerateContentResponseUsageMetadata") -> tuple[int, int]:
    """Return input and output tokens; Google counts thinking apart from text."""
    text_tokens = sdk.token_count(usage.candidates_token_count)
    thinking_tokens = sdk.token_count(usage.thoughts_token_count)
    return sdk.token_count(usage.prompt_token_count), text_tokens + thinking_tokens


def _generation_config(request: llm.ModelRequest) -> dict[str, Any]:
    """Return the request's settings: everything but the model and the conversation. The SDK's
    automatic function calls are switched off."""
    budget = request.thinking_budget
    functions = [sdk.to_tool(tool, "parameters_json_schema") for tool in request.tools]
    thinking = {"thinking_budget": budget, "include_thoughts": True}
    return sdk.without_unset(
        {
            "automatic_function_calling": {"disable": True},
            "automatic_continuation": False,
            "system_instruction": request.system_prompt or None,
            "temperature": request.temperature,
            "max_output_tokens": request.max_tokens,
            "thinking_config": None if budget is None else thinking,
            "tools": [{"function_declarations": functions}] if functions else None,
        }
    )


def _to_contents(request: llm.ModelRequest) -> list[dict[str, Any]]:
    return [
        {"role": role, "parts": parts}
        for role, parts in map(_to_content, request.turns)
        if parts  # empty ones are refused
    ]


def _to_content(turn: llm.Turn) -> tuple[str, list[dict[str, Any]]]:
    match turn:
        case llm.UserTurn(text):
            return "user", [{"text": text}]
        case llm.AssistantTurn():
            return "model", list(_to_parts(turn))
        case llm.ToolResults(results):
            return "user", [_to_function_response(result) for result in results]
        case _:
            assert_never(turn)


def _to_parts(turn: llm.AssistantTurn) -> Iterator[dict[str, Any]]:
    """Yield a turn's parts. A signature is sent with the call or text after its thinking, else
    with an empty text. Thinking without a signature is left out."""
    signature: dict[str, bytes] = {}
    for part in turn.parts:
        match part:
            case llm.ThinkingPart(text, signature_text):
                if signature_text and (data := _decode_signature(signature_text)):
                    yield from _signature_part(signature)
                    signature = {"thought_signature": data}
                    if text:
                        yield {"text": text, "thought": True}
            case llm.TextPart(text):
                if text:
                    yield {"text": text, **signature}
                    signature = {}
            case ToolCall(id=call_id, name=name, arguments=arguments):
                function = {"id": call_id, "name": name, "args": sdk.to_object(arguments)}
                yield {"function_call": function, **signature}
                signature = {}
            case _:
                assert_never(part)
    yield from _signature_part(signature)


def _signature_part(signature: dict[str, bytes]) -> Iterator[dict[str, Any]]:
    """Yield an empty text with the signature, or nothing without one."""
    if signature:
        yield {"text": "", **signature}


def _decode_signature(signature_text: str) -> bytes:
    """Return the bytes of a Base64 signature, or b"" if it is invalid."""
    try:
        return b64decode(signature_text, validate=True)
    except ValueError:
        return b""


def _to_function_response(result: llm.ToolOutput) -> dict[str, Any]:
    response = {"error" if result.is_error else "output": result.content}
    return {
        "function_response": {"id": result.tool_call_id, "name": result.name, "response": response}
    }


class GoogleClient(sdk.SdkClient):
    """A client for Google's Gemini API."""

    family = GOOGLE
    reader = GoogleEventReader

    async def _open(
        self, request: llm.ModelRequest
    ) -> "AbstractAsyncContextManager[AsyncIterator[types.GenerateContentResponse]]":
        from google.genai.types import GenerateContentConfig

        models = _sdk_client(self.route.base_url).aio.models
        stream = await models.generate_content_stream(
            model=request.model,
            contents=_to_contents(request),
            config=GenerateContentConfig.model_validate(_generation_config(request)),
        )
        return _closing(cast("AsyncGenerator[types.GenerateContentResponse, None]", stream))


@asynccontextmanager
async def _closing(
    stream: "AsyncGenerator[types.GenerateContentResponse, None]",
) -> "AsyncIterator[AsyncGenerator[types.GenerateContentResponse, None]]":
    """Yield a stream and close it. After an error event the SDK leaves the generator that reads the
    response in a cycle with it; that one is closed too."""
    from google.genai.errors import APIError

    async with aclosing(stream):
        try:
            yield stream
        except APIError as error:
            if segments := getattr(error.response, "segment_iterator", None):
                await segments.aclose()
            raise


@lru_cache(MAX_SDK_CLIENTS)
def _sdk_client(base_url: str) -> "Client":
    """Return the SDK's client for a base URL, without the key, which the route adds."""
    from google.genai import Client
    from google.genai.client import DebugConfig
    from google.genai.types import HttpOptions

    # Clients of other APIs expect the version in the base URL.
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
            httpx_client=_unused_http_client(),
            async_client_args={"ssl": _unused_tls_context()},
        ),
    )


@cache
def _unused_http_client() -> httpx2.Client:
    """Return a client that sends nothing, for the SDK, which would otherwise create one and read
    the machine's certificates."""
    return httpx2.Client(transport=httpx2.BaseTransport(), trust_env=False)


@cache
def _unused_tls_context() -> ssl.SSLContext:
    """Return an empty TLS context for the SDK, which would otherwise read certificates."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
