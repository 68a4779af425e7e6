"""Answers of Ollama's own API."""

from typing import Any, Final

from scenarios_app.recording.answers.content import Content, Said, objects, within

_FINISHES: Final = {"length": "length"}


def of_whole(body: Any) -> Said | None:
    """An answer that was not streamed."""
    return of_stream([body])


def of_stream(events: list[Any]) -> Said | None:
    """The answer that a stream's lines make."""
    content = Content()
    thoughts, usage, known = "", {}, False
    calls: list[dict[str, Any]] = []
    for event in events:
        message = event.get("message") if isinstance(event.get("message"), dict) else event
        known = known or "response" in event or "message" in event
        thoughts += message.get("thinking") or ""
        content.text(message.get("content") or event.get("response"))
        calls += objects(message.get("tool_calls"))
        if event.get("done"):
            content.finish = _FINISHES.get(str(event.get("done_reason")), "")
            usage = _usage(event)
    if thoughts:
        content.parts.insert(0, {"reasoning": thoughts})
    for call in calls:
        function = call.get("function")
        content.call(within(function, "name"), within(function, "arguments"))
    return Said((content,), usage) if known else None


def _usage(event: dict[str, Any]) -> dict[str, Any]:
    counted = {
        "input_tokens": event.get("prompt_eval_count"),
        "output_tokens": event.get("eval_count"),
    }
    return {name: count for name, count in counted.items() if count is not None}
