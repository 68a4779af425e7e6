"""The fields of Ollama's responses, whole and streamed."""

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

from scenarios_app.engine.canonical import CanonicalRequest, CanonicalResponse, Json, Message, Usage
from scenarios_app.engine.parts import (
    PartDelta,
    PartEnd,
    PartStart,
    ReasoningPart,
    RefusalPart,
    StreamEvent,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.base import ComputeContext, encode_json, encode_line, encode_text
from scenarios_app.wire.logprobs import token_logprobs
from scenarios_app.wire.ollama.fields import encode_context
from scenarios_app.wire.ollama.request import GenerateFields

CHAT, GENERATE = "/api/chat", "/api/generate"
# Fields that scripted metadata cannot replace.
_RESERVED_FIELDS = frozenset({"message", "response", "thinking", "tool_calls", "done"})
_HEAD_FIELDS = frozenset({"model", "created_at"})
# Durations in nanoseconds, not measured: those of a machine with 50 tokens per second.
LOAD_NS, PROMPT_NS, EVAL_NS = 5_000_000, 1_000_000, 20_000_000

_decode = msgspec.json.Decoder().decode


def render_response(request: CanonicalRequest, response: CanonicalResponse) -> bytes:
    """Return the whole response. Its choices (this API has one) are joined."""
    parts = [part for choice in response.choices for part in choice.parts]
    thinking = "".join(part.text for part in parts if isinstance(part, ReasoningPart))
    calls: list[Json] = [tool_call_json(part) for part in parts if isinstance(part, ToolCallPart)]
    text = joined_text(response)
    fields = content_fields(request, text, thinking=thinking, calls=calls)
    own: GenerateFields = request.own
    if own.top_logprobs is not None and text:
        fields["logprobs"] = token_logprobs(text, own.top_logprobs)
    return encode_json({**head_fields(response), **fields, **final_fields(request, response)})


def head_fields(response: CanonicalResponse) -> dict[str, Json]:
    """Return the fields at the start of a whole response and of each streamed line."""
    scripted = {key: value for key, value in response.metadata.items() if key in _HEAD_FIELDS}
    return {"model": response.model, "created_at": format_timestamp(response.created), **scripted}


def content_fields(
    request: CanonicalRequest, text: str, *, thinking: str = "", calls: Iterable[Json] = ()
) -> dict[str, Json]:
    """Return the content: a chat message, or the fields that generate has instead. Thinking and
    calls are left out if they are empty."""
    optional: dict[str, Json] = {"thinking": thinking, "tool_calls": list(calls)}
    more = {key: value for key, value in optional.items() if value}
    if request.route == GENERATE:
        return {"response": text, **more}
    return {"message": {"role": "assistant", "content": text, **more}}


def tool_call_json(call: ToolCallPart) -> Json:
    """Return a call, which has no id here. Arguments that are not an object become `{}`."""
    try:
        arguments = _decode(call.arguments)
    except (msgspec.MsgspecError, RecursionError):
        arguments = None
    arguments = arguments if isinstance(arguments, dict) else {}
    return {"function": {"name": call.name, "arguments": arguments}}


def final_fields(request: CanonicalRequest, response: CanonicalResponse) -> dict[str, Json]:
    """Return the done reason, the metrics and scripted fields. A generate response also has the
    conversation so far, unless its prompt was raw."""
    reason = "length" if response.choices[-1].finish_reason == "length" else "stop"
    fields: dict[str, Json] = {
        "done": True,
        "done_reason": reason,
        **_usage_metrics(response.usage),
    }
    own: GenerateFields = request.own
    if request.route == GENERATE and not own.raw:
        answered = Message("assistant", (TextPart(joined_text(response)),))
        fields["context"] = list(encode_context((*request.messages, answered)))
    reserved = _RESERVED_FIELDS | _HEAD_FIELDS
    return fields | {key: v for key, v in response.metadata.items() if key not in reserved}


def joined_text(response: CanonicalResponse) -> str:
    """Return the text of a response, refusals included."""
    parts = (part for choice in response.choices for part in choice.parts)
    return "".join(part.text for part in parts if isinstance(part, TextPart | RefusalPart))


def render_load(request: CanonicalRequest, context: ComputeContext) -> bytes:
    """Return the response to a request without a prompt: its model was loaded or unloaded."""
    own: GenerateFields = request.own
    head = {"model": request.model, "created_at": format_timestamp(context.created)}
    tail = {"done": True, "done_reason": "unload" if own.unloads else "load"}
    return encode_json({**head, **content_fields(request, ""), **tail})


def format_timestamp(seconds: int) -> str:
    """Return a time in seconds as Ollama writes it: in UTC, with microseconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")


def _usage_metrics(usage: Usage) -> dict[str, Json]:
    """Return token counts, and durations in nanoseconds, of which none is 0."""
    # Clients divide by durations.
    prompt = PROMPT_NS * max(usage.input_tokens, 1)
    answer = EVAL_NS * max(usage.output_tokens, 1)
    return {
        "total_duration": LOAD_NS + prompt + answer,
        "load_duration": LOAD_NS,
        "prompt_eval_count": usage.input_tokens,
        "prompt_eval_duration": prompt,
        "eval_count": usage.output_tokens,
        "eval_duration": answer,
    }


_NOT_DONE = b',"done":false}\n'
# The bytes before the text of a line, and between it and its other fields.
_FRAMES = {
    CHAT: (b'"message":{"role":"assistant","content":', b"}"),
    GENERATE: (b'"response":', b""),
}


class LineEncoder:
    """Encodes one stream of JSON lines. A call is one line. It is sent when it is complete and the
    calls that began before it have been sent."""

    def __init__(self, request: CanonicalRequest, response: CanonicalResponse) -> None:
        self._request = request
        self._response = response
        self._head = encode_line(head_fields(response))[:-1] + b","
        before, self._close_text = _FRAMES[request.route]
        self._before_text = self._head + before
        self._before_thinking = self._before_text + b'"","thinking":'
        self._after_text = self._close_text + _NOT_DONE
        own: GenerateFields = request.own
        self._top_logprobs = own.top_logprobs
        # Calls not sent yet, and the indexes of those that have not ended.
        self._waiting: list[tuple[int, ToolCallPart]] = []
        self._open: set[int] = set()

    def opening(self) -> bytes:
        return b""

    def event(self, event: StreamEvent) -> bytes:
        match event:
            case PartDelta(part=TextPart() | RefusalPart()):
                return self._text_line(event.text)
            case PartDelta(part=ReasoningPart()):
                return self._before_thinking + encode_text(event.text) + self._after_text
            case PartStart(part=ToolCallPart() as call):
                self._waiting.append((event.index, call))
                self._open.add(event.index)
                return b""
            case PartEnd(part=ToolCallPart()):
                self._open.remove(event.index)
                return self._send_ended_calls()
            case _:
                return b""

    def _text_line(self, text: str) -> bytes:
        """Return the line of a piece of text, with log probabilities if they were requested."""
        line_start = self._before_text + encode_text(text)
        if self._top_logprobs is None:
            return line_start + self._after_text
        logprobs = encode_line(token_logprobs(text, self._top_logprobs))
        return b'%b%b,"logprobs":%b%b' % (line_start, self._close_text, logprobs, _NOT_DONE)

    def closing(self) -> bytes:
        content = content_fields(self._request, "")
        return self._line({**content, **final_fields(self._request, self._response)})

    def _send_ended_calls(self) -> bytes:
        """Return the lines of the calls that have ended, up to the first that has not."""
        sent = b""
        while self._waiting and self._waiting[0][0] not in self._open:
            _, call = self._waiting.pop(0)
            content = content_fields(self._request, "", calls=[tool_call_json(call)])
            sent += self._line({**content, "done": False})
        return sent

    def _line(self, fields: dict[str, Json]) -> bytes:
        """Return a line with the fields of the head and then `fields`."""
        return self._head + encode_line(fields)[1:] + b"\n"
