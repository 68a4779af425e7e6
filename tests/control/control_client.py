"""A client of the control API that checks every response against the OpenAPI document."""

import json
import re
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.test import Client
from jsonschema import Draft202012Validator, FormatChecker

from scenarios_app.control.openapi import document

KEY = "sk-of-this-test"


class Control:
    """The control API of this process."""

    def __init__(self, **headers: str) -> None:
        self.client = Client(headers={"host": "localhost:5099", **headers})

    def get(self, path: str, **query: Any) -> HttpResponse:
        return self.request("GET", path, query=query)

    def delete(self, path: str, **query: Any) -> HttpResponse:
        return self.request("DELETE", path, query=query)

    def post(self, path: str, body: Any, **query: Any) -> HttpResponse:
        return self.request("POST", path, query=query, body=body)

    def put(self, path: str, body: Any, **query: Any) -> HttpResponse:
        return self.request("PUT", path, query=query, body=body)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Send a request; `body` is raw bytes or a JSON value."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        url = f"/control/{path}" + (f"?{urlencode(query)}" if query else "")
        # Without a body, Django's client would omit the content type.
        extra: dict[str, Any] = {"CONTENT_TYPE": content_type} if body == b"" else {}
        request_body = b"" if body is None else data
        response = self.client.generic(
            method, url, request_body, content_type, headers=headers, **extra
        )
        check(method, url.partition("?")[0], response)
        return response


def check(method: str, path: str, response: Any) -> None:
    """Fail unless the OpenAPI document describes the response's status and body."""
    response_type = response.headers.get("Content-Type", "")
    operation = _operation(method, path)
    if operation is None:
        assert response.status_code in (400, 401, 403, 404, 405), response.content
        expected: dict[str, Any] = {"$ref": "#/components/schemas/ErrorBody"}
    else:
        responses = operation["responses"]
        assert str(response.status_code) in responses, (method, path, response.status_code)
        content = responses[str(response.status_code)].get("content")
        if content is None:
            assert response.content == b""
            return
        (media_type,) = content
        assert response_type.partition(";")[0] == media_type
        if media_type != "application/json":
            return
        expected = content[media_type]["schema"]
    assert response_type == "application/json"
    schema = {**expected, "components": document()["components"]}
    Draft202012Validator(schema, format_checker=FormatChecker()).validate(response.json())


@cache
def _routes() -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    routes = []
    for path, operations in document()["paths"].items():
        # Names may hold a slash; ids do not.
        pattern = re.escape(path).replace(r"\{name\}", ".+").replace(r"\{id\}", "[^/]+")
        routes.append((re.compile(f"{pattern}/?"), operations))
    # Longest first, because a step's path also looks like a name.
    return sorted(routes, key=lambda route: len(route[0].pattern), reverse=True)


def _operation(method: str, path: str) -> dict[str, Any] | None:
    matching_operations = (
        operations for pattern, operations in _routes() if pattern.fullmatch(path)
    )
    return next(matching_operations, {}).get(method.lower())


def error_of(response: Any) -> tuple[int, str, str | None]:
    """Return the status, code and field of an error."""
    body = response.json()
    assert set(body) == {"code", "message", "field"}
    assert body["message"]
    return response.status_code, body["code"], body["field"]


def scenario(name: str, *steps: Any, **fields: Any) -> dict[str, Any]:
    """Return a scenario document; without `steps` it has one step that replies with its name."""
    return {"name": name, **fields, "steps": list(steps) or [text_step(name)]}


def text_step(text: str, **keys: Any) -> dict[str, Any]:
    """Return a step that replies with a text."""
    return {"produce": {"text": text}, **keys}


def chat(
    text: str = "Hello", *, key: str = KEY, headers: dict[str, str] | None = None, **fields: Any
) -> Any:
    """Send an OpenAI chat request through the Django view."""
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **fields}
    return Client().post(
        "/v1/chat/completions",
        json.dumps(body),
        "application/json",
        headers={"authorization": f"Bearer {key}", **(headers or {})},
    )


def reply_text(response: Any) -> str:
    """Return the text of a chat response, or the message of its error."""
    body = response.json()
    if response.status_code != 200:
        return str(body["error"]["message"])
    return str(body["choices"][0]["message"]["content"])
