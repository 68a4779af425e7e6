"""Sample requests of Ollama's client, its setup, and the default list of models."""

from scenarios_app.engine.canonical import Message
from scenarios_app.wire.samples import (
    JsonObject,
    SampleCall,
    SampleRequest,
    SdkSetup,
    arguments_of,
    calls_of,
    results_of,
)


def sample(request: SampleRequest) -> SampleCall:
    messages: list[JsonObject] = (
        [{"role": "system", "content": request.system}] if request.system else []
    )
    for message in request.messages:
        messages += _message_bodies(message)
    body: JsonObject = {"model": request.model, "messages": messages, "stream": request.stream}
    if request.tools:
        body["tools"] = [{"type": "function", "function": {"name": name}} for name in request.tools]
    return SampleCall("/api/chat", {}, body)


def _message_bodies(message: Message) -> list[JsonObject]:
    if message.role == "tool":
        return [
            {"role": "tool", "tool_name": result.name, "content": result.content}
            for result in results_of(message)
        ]
    written: JsonObject = {"role": message.role, "content": message.text}
    if calls := calls_of(message):
        written["tool_calls"] = [
            {"function": {"name": call.name, "arguments": arguments_of(call)}} for call in calls
        ]
    return [written]


def sdk_setups(origin: str) -> tuple[SdkSetup, ...]:
    return (SdkSetup("Ollama", origin, f'ollama.Client(host="{origin}")'),)


MODELS: tuple[str, ...] = (
    *("llama3.3", "llama3.2", "llama3.2-vision", "llama3.1"),
    *("gpt-oss:20b", "gpt-oss:120b", "qwen3", "qwen2.5-coder"),
    *("gemma3", "mistral", "phi4", "deepseek-r1"),
    *("nomic-embed-text", "mxbai-embed-large", "all-minilm"),
)
