"""Short constructors of recorded requests, responses and their scenarios."""

import json
from typing import Any

from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.document import Conversion, to_document

CHAT = "https://api.openai.com/v1/chat/completions"
MESSAGES = "https://api.anthropic.com/v1/messages"
RESPONSES = "https://api.openai.com/v1/responses"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash"
OLLAMA = "http://localhost:11434/api/chat"
CHAT_BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9}
ANSWER = {
    "id": "c",
    "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}],
}
BODIES: dict[str, Any] = {
    RESPONSES: {"model": "m", "input": "hi"},
    f"{GEMINI}:generateContent": {"contents": [{"parts": [{"text": "hi"}]}]},
    f"{GEMINI}:streamGenerateContent": {"contents": [{"parts": [{"text": "hi"}]}]},
}


def request(url: str = CHAT, body: Any = None, **headers: str) -> RecordedRequest:
    content = BODIES.get(url, CHAT_BODY) if body is None else body
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return RecordedRequest("POST", url, tuple(headers.items()), data)


def response(body: Any, status: int = 200, **headers: str) -> RecordedResponse:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return RecordedResponse(status, tuple(headers.items()), ((0.0, data),))


def events(*values: Any) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(value).encode() for value in values)


def convert(url: str, body: Any, **keys: Any) -> Conversion:
    """Convert one response from a URL to a scenario document."""
    request_body = keys.pop("request_body", None)
    return to_document("one", [Interaction(request(url, request_body, **keys), response(body))])


def convert_parts(url: str, body: Any, **keys: Any) -> dict[str, Any]:
    """Convert one response; return what its step produces, without the recorded bytes."""
    produce: dict[str, Any] = convert(url, body, **keys).document["steps"][0]["produce"]
    return {key: value for key, value in produce.items() if key != "recorded"}


def completion(reason: str = "stop", **message: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": None, **message}
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}
