"""What Anthropic's own client sends for a described request, how it is pointed here, and the models
that it finds."""

from scenarios_app.wire.samples import CALL, FILLER, KEY, Asked, Json, Sdk, Sent


def sample(asked: Asked) -> Sent:
    messages: list[Json] = []
    for _ in range(asked.before):
        messages += [
            {"role": "user", "content": FILLER},
            {"role": "assistant", "content": FILLER},
        ]
    messages.append({"role": "user", "content": asked.user})
    if asked.called:
        use = {"type": "tool_use", "id": CALL, "name": asked.called, "input": {}}
        result = {"type": "tool_result", "tool_use_id": CALL, "content": asked.result}
        messages += [
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [result]},
        ]
    body: Json = {
        "model": asked.model,
        "max_tokens": 1024,
        "messages": messages,
        "stream": asked.stream,
    }
    if asked.system:
        body["system"] = asked.system
    if asked.tools:
        schema = {"type": "object"}
        body["tools"] = [{"name": name, "input_schema": schema} for name in asked.tools]
    return Sent("/v1/messages", {"x-api-key": KEY, "anthropic-version": "2023-06-01"}, body)


def clients(origin: str) -> tuple[Sdk, ...]:
    return (Sdk("Anthropic", origin, f'Anthropic(base_url="{origin}", api_key="any")'),)


MODELS: tuple[str, ...] = (
    "claude-opus-5-5",
    "claude-sonnet-5-5",
    "claude-haiku-5-5",
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-opus-4-5",
    "claude-opus-4-1",
    "claude-sonnet-4-5",
    "claude-haiku-4-5",
    "claude-opus-4-0",
    "claude-sonnet-4-0",
    "claude-3-7-sonnet-latest",
    "claude-3-5-haiku-latest",
)
