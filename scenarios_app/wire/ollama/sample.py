"""What Ollama's own client sends for a described request, and how it is pointed here."""

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
