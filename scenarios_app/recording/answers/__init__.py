"""Recorded answers read back into the parts of a document, which people can edit, by what answers
at their endpoint: one module a provider's form."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from scenarios_app.recording import RecordedResponse
from scenarios_app.recording.answers import anthropic, chat, gemini, ollama, responses
from scenarios_app.recording.answers.content import Said, events_of, loaded
from scenarios_app.recording.places import Placed

Whole: TypeAlias = Callable[[Any], Said | None]
Stream: TypeAlias = Callable[[list[Any]], Said | None]


@dataclass(frozen=True, slots=True)
class Form:
    """How the answers of an endpoint are read, whole and streamed."""

    whole: Whole
    stream: Stream


_CHAT = Form(chat.of_whole, chat.of_stream)
_GEMINI = Form(gemini.of_whole, gemini.of_stream)
_OLLAMA = Form(ollama.of_whole, ollama.of_stream)
# By how their canonical paths end.
FORMS: Final[Mapping[str, Form]] = {
    "/chat/completions": _CHAT,
    "/v1/completions": _CHAT,
    "/v1/responses": Form(responses.of_whole, responses.of_stream),
    "/v1/messages": Form(anthropic.of_whole, anthropic.of_stream),
    ":generateContent": _GEMINI,
    ":streamGenerateContent": _GEMINI,
    "/api/chat": _OLLAMA,
    "/api/generate": _OLLAMA,
}


def said_by(where: Placed, response: RecordedResponse) -> Said | None:
    """What the answer said; None where it is an error, or of an endpoint at which no model answers,
    or not of the form that is known there."""
    endpoint = where.target.endpoint
    if endpoint is None or not endpoint.generates or response.status != 200:
        return None
    form = next((form for end, form in FORMS.items() if endpoint.canonical.endswith(end)), None)
    if form is None:
        return None
    body = response.body
    value = loaded(body)
    try:
        return form.whole(value) if isinstance(value, dict) else form.stream(events_of(body))
    except (AttributeError, KeyError, TypeError, ValueError):
        # A shape that no provider sends; it replays as it came all the same.
        return None
