"""What OpenAI's own client sends for a described request, how it is pointed here, and the models
that it finds."""

from scenarios_app.wire.samples import CALL, FILLER, KEY, Asked, Json, Sdk, Sent


def sample(asked: Asked) -> Sent:
    messages: list[Json] = [{"role": "system", "content": asked.system}] if asked.system else []
    for _ in range(asked.before):
        messages += [
            {"role": "user", "content": FILLER},
            {"role": "assistant", "content": FILLER},
        ]
    messages.append({"role": "user", "content": asked.user})
    if asked.called:
        function = {"name": asked.called, "arguments": "{}"}
        call = {"id": CALL, "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": CALL, "content": asked.result},
        ]
    body: Json = {"model": asked.model, "messages": messages, "stream": asked.stream}
    if asked.tools:
        body["tools"] = [{"type": "function", "function": {"name": name}} for name in asked.tools]
    return Sent("/v1/chat/completions", {"authorization": f"Bearer {KEY}"}, body)


def sample_response(asked: Asked) -> Sent:
    items: list[Json] = []
    for _ in range(asked.before):
        items += [
            {"role": "user", "content": FILLER},
            {"role": "assistant", "content": FILLER},
        ]
    items.append({"role": "user", "content": asked.user})
    if asked.called:
        items += [
            {"type": "function_call", "call_id": CALL, "name": asked.called, "arguments": "{}"},
            {"type": "function_call_output", "call_id": CALL, "output": asked.result},
        ]
    body: Json = {"model": asked.model, "input": items, "stream": asked.stream}
    if asked.system:
        body["instructions"] = asked.system
    if asked.tools:
        body["tools"] = [
            {"type": "function", "name": name, "parameters": {}, "strict": False}
            for name in asked.tools
        ]
    return Sent("/v1/responses", {"authorization": f"Bearer {KEY}"}, body)


def clients(origin: str) -> tuple[Sdk, ...]:
    v1 = f"{origin}/v1"
    azure = f'azure_endpoint="{origin}", api_key="any", api_version="2024-10-21"'
    return (
        Sdk("OpenAI", v1, f'OpenAI(base_url="{v1}", api_key="any")'),
        Sdk("Azure OpenAI", origin, f"AzureOpenAI({azure})"),
    )


MODELS: tuple[str, ...] = (
    "gpt-6-astra",
    "gpt-5",
    "gpt-5-mini",
    "gpt-5-nano",
    "gpt-4.1",
    "gpt-4.1-mini",
    "gpt-4.1-nano",
    "gpt-4o",
    "gpt-4o-mini",
    "gpt-4-turbo",
    "gpt-4",
    "gpt-3.5-turbo",
    "gpt-3.5-turbo-instruct",
    "o1",
    "o3",
    "o3-mini",
    "o4-mini",
    "omni-moderation-latest",
    "text-embedding-3-large",
    "text-embedding-3-small",
    "text-embedding-ada-002",
)
