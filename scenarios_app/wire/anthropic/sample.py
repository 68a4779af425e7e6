"""Sample requests of Anthropic's client, its setup, and the default list of models."""

from scenarios_app.engine.canonical import Message
from scenarios_app.wire.samples import (
    API_KEY,
    FILLER,
    JsonObject,
    SampleCall,
    SampleRequest,
    SdkSetup,
    arguments_of,
    calls_of,
    results_of,
)


def sample(request: SampleRequest) -> SampleCall:
    messages = [_message_body(message) for message in request.messages]
    body: JsonObject = {
        "model": request.model,
        "max_tokens": 1024,
        "messages": messages,
        "stream": request.stream,
    }
    if request.system:
        body["system"] = request.system
    if request.tools:
        schema = {"type": "object"}
        body["tools"] = [{"name": name, "input_schema": schema} for name in request.tools]
    return SampleCall(
        "/v1/messages", {"x-api-key": API_KEY, "anthropic-version": "2023-06-01"}, body
    )


def _message_body(message: Message) -> JsonObject:
    calls, results = calls_of(message), results_of(message)
    if not calls and not results:
        return {"role": message.role, "content": message.text or FILLER}
    text = message.text if message.role != "tool" else ""
    blocks: list[JsonObject] = [{"type": "text", "text": text}] if text else []
    blocks += [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments_of(call)}
        for call in calls
    ]
    blocks += [
        {"type": "tool_result", "tool_use_id": result.tool_call_id, "content": result.content}
        for result in results
    ]
    return {"role": "user" if message.role == "tool" else message.role, "content": blocks}


def sdk_setups(origin: str) -> tuple[SdkSetup, ...]:
    return (SdkSetup("Anthropic", origin, f'Anthropic(base_url="{origin}", api_key="any")'),)


MODELS: tuple[str, ...] = (
    *(
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-opus-5",
        "claude-sonnet-5",
    ),
    *("claude-opus-4-5", "claude-opus-4-1", "claude-sonnet-4-5", "claude-haiku-4-5"),
    *("claude-opus-4-0", "claude-sonnet-4-0"),
    *("claude-3-7-sonnet-latest", "claude-3-5-haiku-latest"),
)
