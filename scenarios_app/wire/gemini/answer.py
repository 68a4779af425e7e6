"""The candidates and parts of Gemini's responses, whole and streamed."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha512
from typing import Any

import msgspec

from scenarios_app.engine.canonical import CanonicalResponse, Choice, Json
from scenarios_app.engine.parts import (
    AnswerPart,
    FinishReason,
    ReasoningPart,
    RefusalPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.base import object_json
from scenarios_app.wire.gemini.fields import encode_signature
from scenarios_app.wire.gemini.server_tools import (
    citation_metadata,
    grounding_metadata,
    result_part,
    use_part,
)
from scenarios_app.wire.gemini.style import GeminiStyle
from scenarios_app.wire.gemini.usage import (
    average_logprob,
    logprobs_result,
    prompt_usage,
    usage_fields,
)

# Calls finish with STOP too: the API has no reason for them.
_FINISH: Mapping[FinishReason, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "stop_sequence": "STOP",
    "content_filter": "SAFETY",
}
# Scripted fields that belong to a candidate; all others go to the top level.
_CANDIDATE_FIELDS = frozenset(
    {"citationMetadata", "groundingMetadata", "urlContextMetadata", "avgLogprobs", "logprobsResult"}
    | {"continuationToken", "finishMessage", "finishReason", "safetyRatings", "tokenCount"}
)
_RESERVED_FIELDS = frozenset({"candidates", "usageMetadata"})
_CALL_MESSAGE = "Model generated function call(s)."
# The form of unscripted ids.
_GENERATED_ID = re.compile("call_[0-9a-f]{24}")
# The start of a signature: a protobuf message with one field of 64 bytes.
_SIGNATURE_PREFIX = b"\x12\x42\x0a\x40"
# The part of an empty candidate: the official chat client drops candidates without parts.
EMPTY_PART: dict[str, Any] = {"text": ""}


class GeminiCandidate(msgspec.Struct, frozen=True):
    """One candidate of a response: a choice, or several consecutive ones. `answer_parts` are those
    of all its choices.

    `signature` signs reasoning that no script wrote; it goes to the first call, else to the last
    text.
    """

    index: int
    choices: tuple[Choice, ...]
    answer_parts: list[AnswerPart]
    signature: str | None = None

    def json_parts(self, style: GeminiStyle) -> list[dict[str, Any]]:
        """Return all parts of the candidate as JSON, one of them with its `signature`, if any."""
        rendered = [
            part
            for choice in self.choices
            for number in range(len(choice.parts))
            if (part := render_part(choice.parts, number, style)) is not None
        ]
        if self.signature:
            calls = [part for part in rendered if "functionCall" in part]
            texts = [part for part in rendered if "text" in part and "thought" not in part]
            for signed in calls[:1] or texts[-1:]:
                signed["thoughtSignature"] = self.signature
        return rendered

    @property
    def has_calls(self) -> bool:
        """True if it calls a function."""
        return any(isinstance(part, ToolCallPart) for part in self.answer_parts)

    def has_only_calls(self, style: GeminiStyle) -> bool:
        """Return whether it has function calls and nothing else."""
        parts = self.json_parts(style)
        return bool(parts) and all("functionCall" in part for part in parts)


def candidates_of(response: CanonicalResponse, style: GeminiStyle) -> list[GeminiCandidate]:
    """Return the candidates: one for each choice, or one of all consecutive choices. A candidate is
    signed if the model signs and no script has a signature for it."""
    one_each = [(choice,) for choice in response.choices]
    candidates = []
    for index, choices in enumerate([response.choices] if response.consecutive else one_each):
        parts, signature = [part for choice in choices for part in choice.parts], None
        if style.signs and not any(map(_is_signed, parts)):
            digest = sha512(f"{response.id}/{index}".encode()).digest()
            signature = b64encode(_SIGNATURE_PREFIX + digest).decode()
        candidates.append(GeminiCandidate(index, choices, parts, signature))
    return candidates


def _is_signed(part: AnswerPart) -> bool:
    """Return whether a part is reasoning with a scripted signature or encrypted text."""
    return isinstance(part, ReasoningPart) and bool(part.signature or part.redacted)


def index_field(candidate: int, style: GeminiStyle) -> dict[str, Json]:
    """Return the field with the candidate's index; empty for the first one of some models."""
    return {"index": candidate} if candidate or style.indexed else {}


def render_response(response: CanonicalResponse, style: GeminiStyle) -> dict[str, Any]:
    """Return the whole response."""
    if is_blocked(response):
        return render_blocked(response)
    return {
        "candidates": [
            {
                "content": {"parts": candidate.json_parts(style) or [EMPTY_PART], "role": "model"},
                **citation_metadata(candidate.answer_parts),
                **finish_fields(response, candidate, explains=style.explains),
                **index_field(candidate.index, style),
                **_logprob_fields(response, candidate, style),
            }
            for candidate in candidates_of(response, style)
        ],
        "usageMetadata": usage_fields(response.usage, style),
        **top_level_fields(response),
    }


def top_level_fields(response: CanonicalResponse) -> dict[str, Json]:
    """Return the fields beside the candidates, in a whole response and in each chunk."""
    reserved = _CANDIDATE_FIELDS | _RESERVED_FIELDS
    scripted = {key: value for key, value in response.metadata.items() if key not in reserved}
    return {"modelVersion": response.model, "responseId": response.id, **scripted}


def is_blocked(response: CanonicalResponse) -> bool:
    """Return whether a script blocks the prompt with a reason: then there is no candidate."""
    feedback = response.metadata.get("promptFeedback")
    return isinstance(feedback, dict) and isinstance(feedback.get("blockReason"), str)


def render_blocked(response: CanonicalResponse) -> dict[str, Json]:
    """Return the response to a blocked prompt, without candidates."""
    return {"usageMetadata": prompt_usage(response.usage), **top_level_fields(response)}


def finish_fields(
    response: CanonicalResponse, candidate: GeminiCandidate, *, explains: bool
) -> dict[str, Json]:
    """Return a candidate's finish reason, its sources, and the scripted candidate fields. With
    `explains` a candidate with calls has a finish message."""
    parts, reason = candidate.answer_parts, _FINISH[candidate.choices[-1].finish_reason]
    if reason == "STOP" and any(isinstance(part, RefusalPart) for part in parts):
        reason = "SAFETY"
    scripted = {key: value for key, value in response.metadata.items() if key in _CANDIDATE_FIELDS}
    fields: dict[str, Json] = {"finishReason": reason, **grounding_metadata(parts)}
    if explains and reason == "STOP" and candidate.has_calls:
        fields["finishMessage"] = _CALL_MESSAGE
    return fields | scripted


def render_part(
    parts: Sequence[AnswerPart], number: int, style: GeminiStyle
) -> dict[str, Any] | None:
    """Return a part of a choice as JSON; None for an empty one, or one of a tool that Google lacks,
    which are not sent."""
    match parts[number]:
        case TextPart(text=text) | RefusalPart(text=text):
            return {"text": text} if text else None
        case ReasoningPart() as part:
            signed = signature_field(part)
            return {"text": part.text, "thought": True, **signed} if part.text or signed else None
        case ToolCallPart() as part:
            return {"functionCall": _call(part, style), **_preceding_signature(parts, number)}
        case ServerToolUsePart() as part:
            return use_part(part)
        case part:
            return result_part(part)


def _call(part: ToolCallPart, style: GeminiStyle) -> dict[str, Any]:
    """Return a function call, without a generated id for models whose calls have none."""
    call = {"name": part.name, "args": object_json(part.arguments)}
    is_generated = _GENERATED_ID.fullmatch(part.id)
    return call if is_generated and not style.call_ids else {"id": part.id, **call}


def _logprob_fields(
    response: CanonicalResponse, candidate: GeminiCandidate, style: GeminiStyle
) -> dict[str, Json]:
    """Return the log probabilities: per token if requested, else an average that is derived from
    the response's id, for the models that report one. Scripted ones replace these."""
    if {"avgLogprobs", "logprobsResult"} & response.metadata.keys():
        return {}
    texts = (part for part in candidate.answer_parts if isinstance(part, TextPart | RefusalPart))
    if style.top_logprobs is not None and (text := "".join([part.text for part in texts])):
        result = logprobs_result(text, style.top_logprobs)
        return {"avgLogprobs": average_logprob(text), "logprobsResult": result}
    if not style.detailed:
        return {}
    return {"avgLogprobs": -(1 + sum(response.id.encode())) / 2**18}


def signature_field(part: ReasoningPart) -> dict[str, str]:
    """Return the field with the signature of reasoning, in base64; empty if it has none. Encrypted
    reasoning is sent as a signature."""
    signature = part.signature or part.redacted
    return {"thoughtSignature": encode_signature(signature)} if signature else {}


def _preceding_signature(parts: Sequence[AnswerPart], number: int) -> dict[str, str]:
    """Return the signature of the reasoning before a call, if this is the first call after it. The
    API puts it there, and clients that hide reasoning must send it back from there."""
    for before in reversed(parts[:number]):
        if isinstance(before, ReasoningPart):
            return signature_field(before)
        if isinstance(before, ToolCallPart):
            break
    return {}
