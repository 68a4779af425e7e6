"""A plain HTTP client of the chat API that validates every response against the OpenAPI document.

An undocumented status, body or event fails the test."""

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx2
from jsonschema import Draft202012Validator, FormatChecker

from chat_app.api.openapi import document

TIMEOUT_SECONDS = 30.0
# The id of no row.
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class Event:
    """A server-sent event: its id, and its JSON data."""

    id: int
    data: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.data["type"])


@dataclass(frozen=True)
class Stream:
    """A stream that was read to its end; `raw` excludes comments."""

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
        return self.request("GET", path, params={"client_id": self.client_id, **query})

    def post(self, path: str, **body: Any) -> Any:
        return self.request("POST", path, json={"client_id": self.client_id, **body})

    def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        url = f"{self.base_url}/api/{path}"
        headers = self.headers | options.pop("headers", {})
        response = httpx2.request(method, url, headers=headers, timeout=TIMEOUT_SECONDS, **options)
        assert_documented(method, f"/api/{path}", response)
        return response

    def send(self, message: str = "Hello", **fields: Any) -> Stream:
        """Send a message and read the response stream to its end."""
        return read_stream(self.post("get_chat_response_stream", message=message, **fields))

    def follow(self, trace_id: str, **query: Any) -> Stream:
        return read_stream(self.get(f"stream/{trace_id}", **query))

    def load_messages(self, conversation_id: str) -> list[dict[str, Any]]:
        """Return the messages of a conversation."""
        response = self.get("load_conversation", conversation_id=conversation_id)
        assert response.status_code == 200, response.text
        messages: list[dict[str, Any]] = response.json()["messages"]
        return messages


def read_stream(response: httpx2.Response) -> Stream:
    assert response.status_code == 200, response.text
    raw = without_comments(response.content)
    return Stream(response, raw, parse_events(raw))


def without_comments(raw: bytes) -> bytes:
    return b"".join(block + b"\n\n" for block in raw.split(b"\n\n") if block[:1] not in (b":", b""))


def parse_events(raw: bytes) -> list[Event]:
    """Parse a stream of server-sent events."""
    assert not raw or raw.endswith(b"\n\n")
    events = []
    for block in raw.decode("utf-8").split("\n\n")[:-1]:
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        assert set(lines) == {"id", "data"}, block
        events.append(Event(int(lines["id"]), json.loads(lines["data"])))
    return events


def error_of(response: Any) -> tuple[int, str, str | None]:
    """Return the status, code and field of an error response."""
    body = response.json()
    assert set(body) == {"code", "message", "field"}
    assert body["message"]
    return response.status_code, body["code"], body["field"]


def assert_documented(method: str, path: str, response: Any) -> None:
    """Assert that the OpenAPI document describes the response."""
    content_type = response.headers.get("Content-Type", "")
    operation = _operation(method, path)
    if operation is None:
        assert response.status_code in (400, 401, 403, 404, 405), response.content
        _validate({"$ref": "#/components/schemas/ErrorBody"}, response.json())
        return
    responses = operation["responses"]
    assert str(response.status_code) in responses, (method, path, response.status_code)
    content = responses[str(response.status_code)].get("content")
    if content is None:
        assert response.content == b""
        return
    assert content_type.partition(";")[0] in content, content_type
    schema = content[content_type.partition(";")[0]]["schema"]
    match content_type.partition(";")[0]:
        case "application/json":
            _validate(schema, response.json())
        case "text/event-stream":
            for event in parse_events(without_comments(response.content)):
                _validate(schema["contentSchema"], event.data)
                _assert_documented_keys(event)


def _assert_documented_keys(event: Event) -> None:
    """Assert that an event has only the fields of its type."""
    name = document()["components"]["schemas"]["Event"]["discriminator"]["mapping"][event.type]
    shape = document()["components"]["schemas"][name.rpartition("/")[2]]
    assert set(event.data) <= set(shape["properties"]) - {"seq", "at"}, event


def _validate(schema: dict[str, Any], instance: Any) -> None:
    full_schema = {**schema, "components": document()["components"]}
    Draft202012Validator(full_schema, format_checker=FormatChecker()).validate(instance)


@cache
def _routes() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    compiled_routes = []
    for path, operations in document()["paths"].items():
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))
        compiled_routes.append((re.compile(f"{pattern}/?"), operations))
    # Paths without variables come first.
    return sorted(compiled_routes, key=lambda route: "[^/]" in route[0].pattern)


def _operation(method: str, path: str) -> dict[str, Any] | None:
    matches = (operations for pattern, operations in _routes() if pattern.fullmatch(path))
    return next(matches, {}).get(method.lower())
