"""Asks the chat API as a plain HTTP client, and holds every answer against the OpenAPI document: an
undocumented status, a body of another form or an event of another shape fails the test."""

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx2
from jsonschema import Draft202012Validator, FormatChecker

from chat_app.api.urls import document

SECONDS = 30.0
# An id of no row.
NOBODYS = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class Event:
    """One server-sent event: its id, and its data, which is JSON."""

    id: int
    data: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.data["type"])


@dataclass(frozen=True)
class Stream:
    """A stream that was read to its end; `raw` is without comments."""

    response: httpx2.Response
    raw: bytes
    events: list[Event]

    @property
    def trace_id(self) -> str:
        return str(self.response.headers["x-trace-id"])

    @property
    def conversation_id(self) -> str:
        return str(self.response.headers["x-conversation-id"])

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events]

    @property
    def last(self) -> dict[str, Any]:
        return self.events[-1].data

    @property
    def text(self) -> str:
        return "".join(e.data["content"] for e in self.events if e.type == "chunk")

    def of(self, type: str) -> list[dict[str, Any]]:
        return [event.data for event in self.events if event.type == type]


@dataclass(frozen=True)
class Api:
    """The chat API of a running server, as one client uses it."""

    base_url: str
    client_id: str = "reader"
    headers: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **query: Any) -> Any:
        return self.ask("GET", path, params={"client_id": self.client_id, **query})

    def post(self, path: str, **body: Any) -> Any:
        return self.ask("POST", path, json={"client_id": self.client_id, **body})

    def ask(self, method: str, path: str, **options: Any) -> httpx2.Response:
        url = f"{self.base_url}/api/{path}"
        headers = self.headers | options.pop("headers", {})
        response = httpx2.request(method, url, headers=headers, timeout=SECONDS, **options)
        check(method, f"/api/{path}", response)
        return response

    def send(self, message: str = "Hello", **fields: Any) -> Stream:
        """Send a message and hear its whole answer."""
        return read(self.post("get_chat_response_stream", message=message, **fields))

    def follow(self, trace_id: str, **query: Any) -> Stream:
        return read(self.get(f"stream/{trace_id}", **query))

    def loaded(self, conversation_id: str) -> list[dict[str, Any]]:
        """The messages of a conversation."""
        found = self.get("load_conversation", conversation_id=conversation_id)
        assert found.status_code == 200, found.text
        messages: list[dict[str, Any]] = found.json()["messages"]
        return messages


def read(response: httpx2.Response) -> Stream:
    assert response.status_code == 200, response.text
    raw = without_comments(response.content)
    return Stream(response, raw, events_of(raw))


def without_comments(raw: bytes) -> bytes:
    return b"".join(piece + b"\n\n" for piece in raw.split(b"\n\n") if piece[:1] not in (b":", b""))


def events_of(raw: bytes) -> list[Event]:
    """The events of a stream, as its standard says that they are read."""
    assert not raw or raw.endswith(b"\n\n")
    found = []
    for block in raw.decode("utf-8").split("\n\n")[:-1]:
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        assert set(lines) == {"id", "data"}, block
        found.append(Event(int(lines["id"]), json.loads(lines["data"])))
    return found


def error_of(response: Any) -> tuple[int, str, str | None]:
    """Status, code and field of an error."""
    body = response.json()
    assert set(body) == {"code", "message", "field"}
    assert body["message"]
    return response.status_code, body["code"], body["field"]


def check(method: str, path: str, response: Any) -> None:
    """The answer is one that the OpenAPI document knows."""
    kind = response.headers.get("Content-Type", "")
    operation = _operation(method, path)
    if operation is None:
        assert response.status_code in (400, 401, 403, 404, 405), response.content
        _validate({"$ref": "#/components/schemas/ErrorBody"}, response.json())
        return
    answers = operation["responses"]
    assert str(response.status_code) in answers, (method, path, response.status_code)
    content = answers[str(response.status_code)].get("content")
    if content is None:
        assert response.content == b""
        return
    assert kind.partition(";")[0] in content, kind
    schema = content[kind.partition(";")[0]]["schema"]
    match kind.partition(";")[0]:
        case "application/json":
            _validate(schema, response.json())
        case "text/event-stream":
            for event in events_of(without_comments(response.content)):
                _validate(schema["contentSchema"], event.data)
                _known_keys(event)


def _known_keys(event: Event) -> None:
    """An event has the fields of its type and no other."""
    name = document()["components"]["schemas"]["Event"]["discriminator"]["mapping"][event.type]
    shape = document()["components"]["schemas"][name.rpartition("/")[2]]
    assert set(event.data) <= set(shape["properties"]) - {"seq", "at"}, event


def _validate(schema: dict[str, Any], instance: Any) -> None:
    whole = {**schema, "components": document()["components"]}
    Draft202012Validator(whole, format_checker=FormatChecker()).validate(instance)


@cache
def _routes() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    found = []
    for path, operations in document()["paths"].items():
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))
        found.append((re.compile(f"{pattern}/?"), operations))
    # Those without a variable part first.
    return sorted(found, key=lambda route: "[^/]" in route[0].pattern)


def _operation(method: str, path: str) -> dict[str, Any] | None:
    found = (operations for pattern, operations in _routes() if pattern.fullmatch(path))
    return next(found, {}).get(method.lower())
