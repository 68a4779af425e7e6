"""What OpenAI's own client sends for a described request, and how it is pointed here."""

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
