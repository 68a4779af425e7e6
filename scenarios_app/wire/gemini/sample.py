"""Sample requests of Google's client, its setup, and the default list of models."""

from urllib.parse import quote

from scenarios_app.engine.canonical import Message
from scenarios_app.wire.samples import (
    API_KEY,
    JsonObject,
    SampleCall,
    SampleRequest,
    SdkSetup,
    arguments_of,
    calls_of,
    results_of,
)


def sample(request: SampleRequest) -> SampleCall:
    contents = [_content_body(message) for message in request.messages]
    body: JsonObject = {"contents": contents}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": request.system}]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [{"name": name} for name in request.tools]}]
    verb = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
    model = quote(request.model, safe="")
    return SampleCall(f"/v1beta/models/{model}:{verb}", {"x-goog-api-key": API_KEY}, body)


def sdk_setups(origin: str) -> tuple[SdkSetup, ...]:
    code = f'genai.Client(api_key="any", http_options={{"base_url": "{origin}"}})'
    return (SdkSetup("Gemini", origin, code),)


def _content_body(message: Message) -> JsonObject:
    calls, results = calls_of(message), results_of(message)
    text = message.text if message.role != "tool" else ""
    parts: list[JsonObject] = [{"text": text}] if text or not (calls or results) else []
    parts += [{"functionCall": {"name": c.name, "args": arguments_of(c)}} for c in calls]
    parts += [
        {"functionResponse": {"name": result.name, "response": {"result": result.content}}}
        for result in results
    ]
    return {"role": "model" if message.role == "assistant" else "user", "parts": parts}


MODELS: tuple[str, ...] = (
    *("gemini-3.8-flash", "gemini-3.5-flash", "gemini-3.1-pro-preview", "gemini-3.1-flash-lite"),
    *("gemini-3-pro-preview", "gemini-3-flash-preview"),
    *("gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite"),
    *("gemini-2.0-flash", "gemini-2.0-flash-lite", "gemini-1.5-pro", "gemini-1.5-flash"),
    *("gemini-embedding-2", "gemini-embedding-001", "text-embedding-004"),
)
