"""Responses of Google's Gemini API, read into events."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from chat_app.clients.base import (
    CallArguments,
    CallBegun,
    Finished,
    ProviderEvent,
    TextPiece,
    ThinkingPiece,
)
from chat_app.clients.folding import Folding
from chat_app.clients.reading import count, needed, text
from chat_app.errors import SERVICE_UNAVAILABLE, ChatError

if TYPE_CHECKING:
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


class Responses:
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
