"""Decodes recorded responses of Ollama's chat and generate."""

from typing import Any

from scenarios_app.wire.decoded import (
    DecodedChoice,
    DecodedResponse,
    ResponseDecoder,
    dict_items,
    get_nested,
)


def decode_stream(events: list[Any]) -> DecodedResponse | None:
    """Decode the lines of a stream, or a whole response as the only one; None if it is no
    response."""
    content = DecodedChoice()
    reasoning_text, is_response = "", False
    usage: dict[str, Any] = {}
    calls: list[dict[str, Any]] = []
    for event in events:
        message = event.get("message") if isinstance(event.get("message"), dict) else event
        is_response = is_response or "response" in event or "message" in event
        reasoning_text += message.get("thinking") or ""
        content.add_text(message.get("content") or event.get("response"))
        calls += dict_items(message.get("tool_calls"))
        if event.get("done"):
            content.finish = "length" if event.get("done_reason") == "length" else ""
            usage = {
                "input_tokens": event.get("prompt_eval_count"),
                "output_tokens": event.get("eval_count"),
            }
    if reasoning_text:
        content.parts.insert(0, {"reasoning": reasoning_text})
    for call in calls:
        function = call.get("function")
        content.add_call(get_nested(function, "name"), get_nested(function, "arguments"))
    return DecodedResponse((content,), usage) if is_response else None


DECODER = ResponseDecoder(lambda body: decode_stream([body]), decode_stream)
