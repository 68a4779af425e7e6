"""Answers of OpenAI's chat completions, of its dialects, and of the completions before them."""

from typing import Any, Final

from scenarios_app.recording.answers.content import Content, Said, objects, within

_FINISHES: Final = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}
# What a message holds that a document has no word for.
_UNSAID: Final = ("audio", "annotations", "images", "executed_tools", "function_call")


def of_whole(body: Any) -> Said | None:
    """An answer that was not streamed."""
    choices = [_content(choice, within(choice, "message")) for choice in objects(body["choices"])]
    return Said(tuple(choices), _usage(body)) if choices else None


def of_stream(events: list[Any]) -> Said | None:
    """The answer that a stream's chunks make."""
    merged: dict[int, dict[str, Any]] = {}
    usage: dict[str, Any] = {}
    for event in events:
        usage = _usage(event) or _usage(within(event, "x_groq") or {}) or usage
        for choice in objects(event.get("choices")):
            into = merged.setdefault(choice.get("index") or 0, {"message": {}})
            into["finish_reason"] = choice.get("finish_reason") or into.get("finish_reason")
            if choice.get("logprobs"):
                into["logprobs"] = True
            delta = choice.get("delta")
            if isinstance(delta, dict):
                _merge(into["message"], delta)
            elif isinstance(choice.get("text"), str):
                _merge(into["message"], {"content": choice["text"]})
    choices = [_content(choice, choice["message"]) for _, choice in sorted(merged.items())]
    return Said(tuple(choices), usage) if choices else None


def _content(choice: dict[str, Any], message: Any) -> Content:
    content = Content(finish=_FINISHES.get(str(choice.get("finish_reason")), ""))
    if not isinstance(message, dict):
        message = {"content": choice.get("text")}
    if choice.get("logprobs"):
        content.lost.add("logprobs")
    content.lost.update(name for name in _UNSAID if message.get(name))
    content.reasoning(message.get("reasoning") or message.get("reasoning_content"))
    said = message.get("content")
    if isinstance(said, str):
        content.text(said)
    for part in objects(said):
        _part(content, part)
    for call in objects(message.get("tool_calls")):
        function = call.get("function")
        if isinstance(function, dict):
            content.call(function.get("name"), function.get("arguments"), id=call.get("id"))
        else:
            content.lost.add(str(call.get("type") or "tool call"))
    content.refusal(message.get("refusal"))
    return content


def _part(content: Content, part: dict[str, Any]) -> None:
    match part.get("type"):
        case "text" | "output_text":
            content.text(part.get("text"))
        case "thinking":
            texts = [within(piece, "text") for piece in objects(part.get("thinking"))]
            text = "".join(one for one in texts if isinstance(one, str))
            last = content.parts[-1] if content.parts else {}
            if "reasoning" in last:
                last["reasoning"] = f"{last['reasoning']}{text}"
            else:
                content.reasoning(text)
        case kind:
            content.lost.add(str(kind))


def _merge(message: dict[str, Any], delta: dict[str, Any]) -> None:
    for name, value in delta.items():
        if name == "tool_calls":
            _merge_calls(message.setdefault(name, []), value)
        elif isinstance(value, str) and name != "role":
            before = message.get(name) or ""
            message[name] = f"{before}{value}" if isinstance(before, str) else before
        elif isinstance(value, list):
            before = message.get(name)
            message[name] = [*before, *value] if isinstance(before, list) else [*value]
        elif value is not None:
            message[name] = value


def _merge_calls(calls: list[dict[str, Any]], pieces: Any) -> None:
    """A piece goes on with the call of its index, unless it brings another name or id."""
    for piece in objects(pieces):
        function = piece.get("function") or {}
        index, last = piece.get("index"), calls[-1] if calls else None
        same = next((call for call in reversed(calls) if call.get("index") == index), last)
        new = piece.get("id") and same is not None and piece["id"] != same.get("id")
        if same is None or new or (index is not None and same.get("index") != index):
            calls.append({**piece, "function": {"name": "", "arguments": "", **function}})
            continue
        same["function"]["name"] += function.get("name") or ""
        more = function.get("arguments")
        if isinstance(more, str) and isinstance(same["function"]["arguments"], str):
            same["function"]["arguments"] += more


def _usage(body: dict[str, Any]) -> dict[str, Any]:
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return {}
    input_tokens, output_tokens = usage.get("prompt_tokens"), usage.get("completion_tokens")
    counted: dict[str, Any] = {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "reasoning_tokens": within(usage, "completion_tokens_details", "reasoning_tokens") or None,
        "cached_tokens": within(usage, "prompt_tokens_details", "cached_tokens") or None,
    }
    total = usage.get("total_tokens")
    if isinstance(input_tokens, int) and isinstance(output_tokens, int):
        counted["total_tokens"] = total if total != input_tokens + output_tokens else None
    return {name: count for name, count in counted.items() if count is not None}
