"""What Ollama's own client sends for a described request, how it is pointed here, and the models
that it finds."""

from scenarios_app.wire.samples import FILLER, Asked, Json, Sdk, Sent


def sample(asked: Asked) -> Sent:
    messages: list[Json] = [{"role": "system", "content": asked.system}] if asked.system else []
    for _ in range(asked.before):
        messages += [
            {"role": "user", "content": FILLER},
            {"role": "assistant", "content": FILLER},
        ]
    messages.append({"role": "user", "content": asked.user})
    if asked.called:
        call = {"function": {"name": asked.called, "arguments": {}}}
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_name": asked.called, "content": asked.result},
        ]
    body: Json = {"model": asked.model, "messages": messages, "stream": asked.stream}
    if asked.tools:
        body["tools"] = [{"type": "function", "function": {"name": name}} for name in asked.tools]
    return Sent("/api/chat", {}, body)


def clients(origin: str) -> tuple[Sdk, ...]:
    return (Sdk("Ollama", origin, f'ollama.Client(host="{origin}")'),)


MODELS: tuple[str, ...] = (
    "llama3.3",
    "llama3.2",
    "llama3.2-vision",
    "llama3.1",
    "gpt-oss:20b",
    "gpt-oss:120b",
    "qwen3",
    "qwen2.5-coder",
    "gemma3",
    "mistral",
    "phi4",
    "deepseek-r1",
    "nomic-embed-text",
    "mxbai-embed-large",
    "all-minilm",
)
