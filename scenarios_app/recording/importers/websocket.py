"""Reads pydantic-ai's cassettes of WebSockets, which list the messages of OpenAI's Responses."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from scenarios_app.recording import Interaction, RecordedRequest, RecordedResponse
from scenarios_app.recording.importers.reader import FileValue
from scenarios_app.wire.openai.responses.messages import read_server_message
from scenarios_app.wire.sockets import STREAM_HEADERS, ServerMessage

_URL: Final = "https://api.openai.com/v1/responses"
_CREATE: Final = "response.create"
# Values of YAML that JSON lacks become texts, as in other cassettes.
_to_json = partial(json.dumps, ensure_ascii=False, default=str)
# Fields of a message that the body of an HTTP request does not have.
_OF_MESSAGES: Final = frozenset({"type", "stream_id"})


@dataclass(frozen=True, slots=True)
class _Turn:
    """A request with the messages that answer it."""

    fields: dict[str, Any]
    answer: list[ServerMessage] = field(default_factory=list)

    @property
    def is_answered(self) -> bool:
        """True if the last message ends the answer."""
        return bool(self.answer) and self.answer[-1].ends

    def to_interaction(self) -> Interaction:
        """Return request and response as over HTTP; it is cut if its last message is missing."""
        body = {key: value for key, value in self.fields.items() if key not in _OF_MESSAGES}
        data = _to_json({**body, "stream": True})
        head = self.answer[0].head if self.answer else (200, STREAM_HEADERS)
        chunks = tuple(
            (0.0, exchange.body_after(number)) for number, exchange in enumerate(self.answer)
        )
        response = RecordedResponse(*head, chunks, cut=not self.is_answered)
        sent = RecordedRequest("POST", _URL, body=data.encode("utf-8", "surrogatepass"))
        return Interaction(sent, response)


def recognizes(value: Any) -> bool:
    """True if a decoded file is a cassette of pydantic-ai with WebSocket messages."""
    messages = value.get("interactions") if isinstance(value, dict) else None
    first = messages[0] if isinstance(messages, list) and messages else None
    return isinstance(first, dict) and "direction" in first


def read_interactions(cassette: FileValue) -> Iterator[Interaction | str]:
    """Yield the interactions, and a note for each message left out; raises DocumentError."""
    turns: list[_Turn] = []
    for message in cassette.at("interactions").items():
        direction, data = message.at("direction").text(), message.maybe("data")
        kind = data.maybe("type").value
        if direction == "sent" and kind == _CREATE:
            turns.append(_Turn(data.object()))
        elif direction == "received":
            try:
                received = read_server_message(_to_json(data.object()).encode())
            except ValueError as error:
                raise data.error(f"cannot be read as a message: {error}") from None
            lane = (turn for turn in turns if turn.fields.get("stream_id") == received.stream_id)
            open_turn = next((turn for turn in lane if not turn.is_answered), None)
            if open_turn is None:
                yield f"left out: a received {kind!r} that answers no {_CREATE!r}"
            else:
                open_turn.answer.append(received)
        elif direction == "sent":
            yield f"left out: a sent {kind!r}"
        elif direction != "closed":
            raise message.at("direction").type_error("'sent', 'received' or 'closed'")
    yield from (turn.to_interaction() for turn in turns)
