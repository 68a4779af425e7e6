"""Sample requests of OpenAI's client, its setup, and the default list of models."""

from collections.abc import Collection

from scenarios_app.engine.canonical import Message
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.wire.samples import (
    API_KEY,
    JsonObject,
    SampleCall,
    SampleRequest,
    SdkSetup,
    calls_of,
    results_of,
)


def sample_chat_call(request: SampleRequest) -> SampleCall:
    """Return a call of the Chat Completions API."""
    body: JsonObject = {"model": request.model, "messages": [], "stream": request.stream}
    if request.system:
        body["messages"].append({"role": "system", "content": request.system})
    for message in request.messages:
        body["messages"] += _message_objects(message)
    if request.tools:
        body["tools"] = [{"type": "function", "function": {"name": name}} for name in request.tools]
    return SampleCall("/v1/chat/completions", {"authorization": f"Bearer {API_KEY}"}, body)


def _message_objects(message: Message) -> list[JsonObject]:
    """Return a message in the form of chat completions; each tool result is a message."""
    if message.role == "tool":
        return [
            {"role": "tool", "tool_call_id": result.tool_call_id, "content": result.content}
            for result in results_of(message)
        ]
    written: JsonObject = {"role": message.role, "content": message.text}
    if calls := calls_of(message):
        written["content"] = message.text or None
        written["tool_calls"] = [_call_json(call) for call in calls]
    return [written]


def _call_json(call: ToolCallPart) -> JsonObject:
    if call.custom:
        content = {"name": call.name, "input": call.arguments}
        return {"id": call.id, "type": "custom", "custom": content}
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def sample_responses_call(request: SampleRequest) -> SampleCall:
    """Return a call of the Responses API."""
    calls = [call for message in request.messages for call in calls_of(message)]
    custom = {call.id for call in calls if call.custom}
    items = [item for message in request.messages for item in _message_items(message, custom)]
    body: JsonObject = {"model": request.model, "input": items, "stream": request.stream}
    if request.system:
        body["instructions"] = request.system
    if request.tools:
        body["tools"] = [
            {"type": "function", "name": name, "parameters": {}, "strict": False}
            for name in request.tools
        ]
    return SampleCall("/v1/responses", {"authorization": f"Bearer {API_KEY}"}, body)


def _message_items(message: Message, custom: Collection[str]) -> list[JsonObject]:
    """Return the items of a message; `custom` are the ids of calls of custom tools."""
    calls = calls_of(message)
    items: list[JsonObject] = []
    if message.role != "tool" and (message.text or not calls):
        items.append({"role": message.role, "content": message.text})
    items += [
        {
            "type": "custom_tool_call" if call.custom else "function_call",
            "call_id": call.id,
            "name": call.name,
            "input" if call.custom else "arguments": call.arguments,
            **({"namespace": call.namespace} if call.namespace else {}),
        }
        for call in calls
    ]
    return items + [
        {
            "type": f"{'custom_tool' if result.tool_call_id in custom else 'function'}_call_output",
            "call_id": result.tool_call_id,
            "output": result.content,
        }
        for result in results_of(message)
    ]


def sdk_setups(origin: str) -> tuple[SdkSetup, ...]:
    """Return how to point OpenAI's SDK at a server, as a client of OpenAI and of Azure."""
    v1 = f"{origin}/v1"
    azure = f'azure_endpoint="{origin}", api_key="any", api_version="2024-10-21"'
    return (
        SdkSetup("OpenAI", v1, f'OpenAI(base_url="{v1}", api_key="any")'),
        SdkSetup("Azure OpenAI", origin, f"AzureOpenAI({azure})"),
    )


MODELS: tuple[str, ...] = (
    *("gpt-6-astra", "gpt-5", "gpt-5-mini", "gpt-5-nano"),
    *("gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano", "gpt-4o", "gpt-4o-mini", "gpt-4-turbo", "gpt-4"),
    *("gpt-3.5-turbo", "gpt-3.5-turbo-instruct", "o1", "o3", "o3-mini", "o4-mini"),
    *("omni-moderation-latest", "text-embedding-3-large", "text-embedding-3-small"),
    "text-embedding-ada-002",
)
