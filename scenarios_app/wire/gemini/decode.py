"""Decodes recorded responses of Gemini's generateContent."""

from typing import Any, Final

from scenarios_app.wire.decoded import (
    DecodedChoice,
    DecodedResponse,
    ResponseDecoder,
    dict_items,
    get_nested,
)

_FILTERED: Final = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE")
# `STOP` comes after calls as well.
_FINISHES: Final = {"STOP": "", "MAX_TOKENS": "length"} | dict.fromkeys(_FILTERED, "content_filter")
_UNSAID: Final = ("groundingMetadata", "citationMetadata", "urlContextMetadata", "logprobsResult")


def decode_stream(events: list[Any]) -> DecodedResponse | None:
    """Decode the chunks of a stream, or a whole response as the only one; None if it has no
    candidate."""
    choices: dict[int, DecodedChoice] = {}
    usage: dict[str, Any] = {}
    for event in events:
        if isinstance(event.get("usageMetadata"), dict):
            usage = _decode_usage(event["usageMetadata"])
        for candidate in dict_items(event.get("candidates")):
            content = choices.setdefault(candidate.get("index") or 0, DecodedChoice())
            for part in dict_items(get_nested(candidate, "content", "parts")):
                _add_part(content, part)
            if isinstance(reason := candidate.get("finishReason"), str):
                content.finish = _FINISHES.get(reason, "")
                if reason not in _FINISHES:
                    content.lost.add(f"finish reason {reason}")
            content.lost.update(name for name in _UNSAID if candidate.get(name))
    in_order = tuple(choice for _, choice in sorted(choices.items()))
    return DecodedResponse(in_order, usage) if choices else None


def _add_part(content: DecodedChoice, part: dict[str, Any]) -> None:
    """Append a part to `content`; add to its lost fields what a document cannot express."""
    call = part.get("functionCall")
    if isinstance(part.get("text"), str):
        if part.get("thought"):
            content.append_reasoning_text(part["text"])
        else:
            content.add_text(part["text"])
    elif isinstance(call, dict):
        content.add_call(call.get("name"), call.get("args"), id=call.get("id"))
    else:
        content.lost.update(key for key in part if key != "thoughtSignature")
    if part.get("thoughtSignature"):
        content.lost.add("thoughtSignature")


def _decode_usage(usage: dict[str, Any]) -> dict[str, Any]:
    """Return the token counts as keys of a document's `usage`."""
    thoughts, output = usage.get("thoughtsTokenCount") or 0, usage.get("candidatesTokenCount") or 0
    return {
        "input_tokens": usage.get("promptTokenCount"),
        # Google counts reasoning beside the output.
        "output_tokens": thoughts + output,
        "reasoning_tokens": thoughts or None,
        "cached_tokens": usage.get("cachedContentTokenCount") or None,
    }


DECODER = ResponseDecoder(lambda body: decode_stream([body]), decode_stream)
