"""What Google's own client sends for a described request, how it is pointed here, and the models
that it finds."""

from urllib.parse import quote

from scenarios_app.wire.samples import FILLER, KEY, Asked, Json, Sdk, Sent


def sample(asked: Asked) -> Sent:
    contents: list[Json] = []
    for _ in range(asked.before):
        contents += [_content("user", FILLER), _content("model", FILLER)]
    contents.append(_content("user", asked.user))
    if asked.called:
        call = {"functionCall": {"name": asked.called, "args": {}}}
        answer = {"name": asked.called, "response": {"result": asked.result}}
        contents += [
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [{"functionResponse": answer}]},
        ]
    body: Json = {"contents": contents}
    if asked.system:
        body["systemInstruction"] = {"parts": [{"text": asked.system}]}
    if asked.tools:
        body["tools"] = [{"functionDeclarations": [{"name": name} for name in asked.tools]}]
    verb = "streamGenerateContent?alt=sse" if asked.stream else "generateContent"
    model = quote(asked.model, safe="")
    return Sent(f"/v1beta/models/{model}:{verb}", {"x-goog-api-key": KEY}, body)


def clients(origin: str) -> tuple[Sdk, ...]:
    code = f'genai.Client(api_key="any", http_options={{"base_url": "{origin}"}})'
    return (Sdk("Gemini", origin, code),)


def _content(role: str, text: str) -> Json:
    return {"role": role, "parts": [{"text": text}]}


MODELS: tuple[str, ...] = (
    "gemini-3.8-flash",
    "gemini-3.5-flash",
    "gemini-3.1-pro-preview",
    "gemini-3.1-flash-lite",
    "gemini-3-pro-preview",
    "gemini-3-flash-preview",
    "gemini-2.5-pro",
    "gemini-2.5-flash",
    "gemini-2.5-flash-lite",
    "gemini-2.0-flash",
    "gemini-2.0-flash-lite",
    "gemini-1.5-pro",
    "gemini-1.5-flash",
    "gemini-embedding-2",
    "gemini-embedding-001",
    "text-embedding-004",
)
