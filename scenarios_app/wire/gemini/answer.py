"""What a Gemini answer says, the same in a whole answer and in a stream: candidates with their
parts, why each of them finished, and what it all cost."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from scenarios_app.engine.canonical import CanonicalResponse, Choice, Json, Usage
from scenarios_app.engine.parts import (
    AnswerPart,
    Citation,
    FinishReason,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.wire.gemini.fields import encode_signature

# Scripted under the names that Anthropic has for them.
_TYPES: Mapping[str, str] = {
    "web_search": "GOOGLE_SEARCH_WEB",
    "google_search": "GOOGLE_SEARCH_WEB",
    "web_fetch": "URL_CONTEXT",
    "url_context": "URL_CONTEXT",
    "google_maps": "GOOGLE_MAPS",
    "file_search": "FILE_SEARCH",
}
_CODE = "code_execution"
_SAID = ("output", "stdout", "content")


def use_part(part: ServerToolUsePart) -> dict[str, Any] | None:
    """A use of a tool, None where Google has no such tool."""
    given: Json = json.loads(part.input)
    if part.name == _CODE:
        code = given.get("code") if isinstance(given, dict) else None
        source = code if isinstance(code, str) else part.input
        return {"executableCode": {"id": part.id, "language": "PYTHON", "code": source}}
    if part.name not in _TYPES:
        return None
    return {"toolCall": {"id": part.id, "toolType": _TYPES[part.name], "args": given}}


def result_part(part: ServerToolResultPart) -> dict[str, Any] | None:
    """What the tool gave back, None where Google has no such tool."""
    found: Json = json.loads(part.content)
    if part.name == _CODE:
        outcome = "OUTCOME_OK" if part.error_code is None else "OUTCOME_FAILED"
        output = part.error_code or _output(found)
        return {
            "codeExecutionResult": {"id": part.tool_use_id, "outcome": outcome, "output": output}
        }
    if part.name not in _TYPES:
        return None
    response: Json = found if isinstance(found, dict) else {"result": found}
    if part.error_code is not None:
        response = {"error": part.error_code}
    return {
        "toolResponse": {
            "id": part.tool_use_id,
            "toolType": _TYPES[part.name],
            "response": response,
        }
    }


def _output(found: Json) -> str:
    said = found
    if isinstance(found, dict):
        said = next((found[key] for key in _SAID if key in found), found)
    return said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)


# Calls finish with STOP as well: the API has no word for them.
_FINISH: Mapping[FinishReason, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "stop_sequence": "STOP",
    "content_filter": "SAFETY",
}
# Scripted fields that belong to a candidate; all others stand beside the candidates.
_OF_CANDIDATE = frozenset(
    {
        "avgLogprobs",
        "citationMetadata",
        "continuationToken",
        "finishMessage",
        "finishReason",
        "groundingMetadata",
        "logprobsResult",
        "safetyRatings",
        "tokenCount",
        "urlContextMetadata",
    }
)
_STRUCTURE = frozenset({"candidates", "usageMetadata"})
# What a candidate that says nothing holds: the official chat client drops one without parts.
SILENCE: Mapping[str, Json] = {"text": ""}

_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of an answer's candidates: a choice, or several that are one after another."""

    index: int
    choices: tuple[Choice, ...]

    @property
    def parts(self) -> Iterator[dict[str, Any]]:
        for choice in self.choices:
            for number in range(len(choice.parts)):
                if (said := part_of(choice.parts, number)) is not None:
                    yield said


def candidates_of(response: CanonicalResponse) -> tuple[Candidate, ...]:
    if response.consecutive:
        return (Candidate(0, response.choices),)
    return tuple(Candidate(index, (choice,)) for index, choice in enumerate(response.choices))


def answer_of(response: CanonicalResponse) -> dict[str, Any]:
    """The whole answer."""
    if is_blocked(response):
        return blocked(response)
    return {
        "candidates": [
            {
                "content": {"parts": [*candidate.parts] or [SILENCE], "role": "model"},
                **_citations(candidate),
                **ending(response, candidate),
                "index": candidate.index,
            }
            for candidate in candidates_of(response)
        ],
        "usageMetadata": usage_of(response.usage),
        **frame_of(response),
    }


def frame_of(response: CanonicalResponse) -> dict[str, Json]:
    """The fields beside the candidates, in a whole answer and in each chunk of a stream."""
    taken = _OF_CANDIDATE | _STRUCTURE
    scripted = {key: value for key, value in response.metadata.items() if key not in taken}
    return {"modelVersion": response.model, "responseId": response.id, **scripted}


def is_blocked(response: CanonicalResponse) -> bool:
    """Whether a script says that the prompt was not let through: then there is no candidate."""
    match response.metadata.get("promptFeedback"):
        case {"blockReason": str()}:
            return True
        case _:
            return False


def blocked(response: CanonicalResponse) -> dict[str, Json]:
    """A blocked prompt's answer; nothing has been generated."""
    tokens = response.usage.input_tokens
    usage: Json = {"promptTokenCount": tokens, "totalTokenCount": tokens}
    return {"usageMetadata": usage, **frame_of(response)}


def ending(response: CanonicalResponse, candidate: Candidate) -> dict[str, Json]:
    """Why a candidate finished, and what a script says of it besides."""
    reason = _FINISH[candidate.choices[-1].finish_reason]
    refused = (isinstance(part, RefusalPart) for c in candidate.choices for part in c.parts)
    if reason == "STOP" and any(refused):
        reason = "SAFETY"
    scripted = {key: value for key, value in response.metadata.items() if key in _OF_CANDIDATE}
    return {"finishReason": reason, **scripted}


def usage_of(usage: Usage) -> dict[str, Json]:
    """Google counts thoughts beside the candidates' tokens, and both in the total."""
    counted: dict[str, Json] = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": max(usage.output_tokens - usage.reasoning_tokens, 0),
        "totalTokenCount": usage.total_tokens,
    }
    if usage.reasoning_tokens:
        counted["thoughtsTokenCount"] = usage.reasoning_tokens
    if cached := usage.cached_tokens + usage.cache_read_tokens:
        counted["cachedContentTokenCount"] = cached
    return counted


def is_said(part: AnswerPart) -> bool:
    """Whether a part becomes one here: an empty text does not, nor does a tool Google lacks."""
    match part:
        case TextPart() | RefusalPart():
            return part.text != ""
        case ReasoningPart():
            return bool(part.text or part.signature or part.redacted)
        case ServerToolUsePart():
            return use_part(part) is not None
        case ServerToolResultPart():
            return result_part(part) is not None
        case _:
            return True


def part_of(parts: Sequence[AnswerPart], number: int) -> dict[str, Any] | None:
    """A part of a choice as it is said whole; None where it is not said."""
    part = parts[number]
    if not is_said(part):
        return None
    match part:
        case TextPart() | RefusalPart():
            return {"text": part.text}
        case ReasoningPart():
            return {"text": part.text, "thought": True, **signature_of(part)}
        case ToolCallPart():
            call = {"id": part.id, "name": part.name, "args": _arguments(part.arguments)}
            return {"functionCall": call, **_signature_before(parts, number)}
        case ServerToolUsePart():
            return use_part(part)
        case _:
            return result_part(part)


def signature_of(part: ReasoningPart) -> dict[str, str]:
    """The signature of thinking; thinking in encrypted form is nothing but a signature here."""
    signature = part.signature or part.redacted
    return {"thoughtSignature": encode_signature(signature)} if signature else {}


def sources_of(part: TextPart | RefusalPart, *, before: int) -> list[Json]:
    """The sources of a text that has `before` bytes of text before it in its candidate.

    Each spans the words it cites, or all of the text where those are not found in it. Places are
    counted in bytes.
    """
    if isinstance(part, RefusalPart) or not (part.text and part.citations):
        return []
    return [_source(citation, part.text, before) for citation in part.citations]


def _source(citation: Citation, text: str, before: int) -> Json:
    cited = citation.cited_text
    start = text.find(cited) if cited else -1
    words = text if start < 0 else cited
    begin = before + byte_length(text[: max(start, 0)])
    source: dict[str, Json] = {
        "startIndex": begin,
        "endIndex": begin + byte_length(words),
        "uri": citation.url,
    }
    if citation.title is not None:
        source["title"] = citation.title
    return source


def byte_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _citations(candidate: Candidate) -> dict[str, Json]:
    sources: list[Json] = []
    before = 0
    for choice in candidate.choices:
        for part in choice.parts:
            if isinstance(part, TextPart | RefusalPart):
                sources += sources_of(part, before=before)
                before += byte_length(part.text)
    return {"citationMetadata": {"citationSources": sources}} if sources else {}


def _signature_before(parts: Sequence[AnswerPart], number: int) -> dict[str, str]:
    """The first call after thinking carries its signature: there the API has it, and clients that
    show no thoughts have to send it back from there."""
    for before in range(number - 1, -1, -1):
        match parts[before]:
            case ToolCallPart():
                break
            case ReasoningPart() as thinking:
                return signature_of(thinking)
    return {}


def _arguments(arguments: str) -> msgspec.Raw:
    """Scripted arguments as a call's `args`, an object by its type: `{}` where they are none."""
    try:
        is_object = isinstance(_decode(arguments), dict)
    except (msgspec.MsgspecError, RecursionError):
        is_object = False
    return msgspec.Raw(arguments.encode() if is_object else b"{}")
