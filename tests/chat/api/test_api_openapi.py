"""The OpenAPI document of the chat API: valid, complete, and consistent with the routes."""

import re
from pathlib import Path
from typing import Any

import pytest
from django import urls
from django.test import Client
from drf_spectacular.validation import validate_schema

from chat_app.api.openapi import document
from chat_app.api.shapes import NewBody
from mockllm_site.kit.api.docs_page import example_value
from mockllm_site.kit.api.openapi_document import build_document
from tests.chat.routes import routes
from traces_app.api import EVENTS

# Routes of the contract, besides those that describe the API.
CONTRACT = {
    ("POST", "/api/get_chat_response_stream"),
    ("GET", "/api/stream/{trace_id}"),
    ("POST", "/api/cancel_stream"),
    ("GET", "/api/list_conversations"),
    ("GET", "/api/load_conversation"),
    ("POST", "/api/load_conversation"),
    ("POST", "/api/new_conversation"),
    ("POST", "/api/rename_conversation"),
    ("POST", "/api/rewind_conversation"),
    ("POST", "/api/delete_conversation"),
    ("POST", "/api/feedback"),
    ("GET", "/api/trace/{trace_id}"),
    ("GET", "/api/trace/by_message/{message_id}"),
    ("POST", "/api/trace/{trace_id}/scenario"),
    ("POST", "/api/ab/stream"),
    ("POST", "/api/ab/vote"),
    ("GET", "/api/ab/{comparison_id}"),
    ("GET", "/api/ab/pending"),
    ("GET", "/api/ab/leaderboard"),
}
STREAMS = {
    ("POST", "/api/get_chat_response_stream"),
    ("GET", "/api/stream/{trace_id}"),
    ("POST", "/api/ab/stream"),
}


def operations() -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method.upper(), path): operation
        for path, path_item in document()["paths"].items()
        for method, operation in path_item.items()
    }


def test_the_document_is_valid() -> None:
    assert document()["openapi"] == "3.1.0"
    validate_schema(document())


def test_bodies_without_a_docstring_have_no_description_of_their_base_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(NewBody, "__doc__", None)
    openapi = build_document([urls.path("api/", urls.include("chat_app.api.urls"))])
    schemas = openapi["components"]["schemas"]
    descriptions = [schema["description"] for schema in schemas.values() if "description" in schema]
    assert "description" not in schemas["NewBody"] and "description" in schemas["TraceBody"]
    assert not any("serializer" in text for text in descriptions)


def test_every_route_is_in_the_document_and_no_other() -> None:
    documented_routes = {f"{method} {re.sub('_id}', '}', path)}" for method, path in operations()}
    assert documented_routes == {route.replace(" ", " /api/") for route in routes()}


def test_the_routes_are_those_of_the_contract() -> None:
    assert set(operations()) - CONTRACT == {("GET", "/api/schema/"), ("GET", "/api/docs/")}
    assert set(operations()) >= CONTRACT


def test_every_operation_is_described() -> None:
    path_item = operations()
    names = [operation["operationId"] for operation in path_item.values()]
    assert len(set(names)) == len(names)
    for (method, path), operation in path_item.items():
        assert operation["description"], path
        assert operation["security"] == [{"token": []}, {"login": []}, {}]
        assert len(operation["tags"]) == 1
        statuses = set(operation["responses"])
        assert {"400", "401", "403", "500", "503"} < statuses
        assert any(status.startswith("2") for status in statuses)
        if method == "POST":
            assert {"413", "415"} < statuses
            assert operation["requestBody"]["required"] is True
            assert list(operation["requestBody"]["content"]) == ["application/json"]
        for status, response in operation["responses"].items():
            assert response["description"]
            assert ("content" in response) == (status != "204")


def test_streams_are_described_as_streams_of_events() -> None:
    for name, operation in operations().items():
        content = operation["responses"]["200"]["content"]
        assert ("text/event-stream" in content) == (name in STREAMS)
        if name in STREAMS:
            documented_fields = content["text/event-stream"]["schema"]
            assert documented_fields["contentSchema"] == {"$ref": "#/components/schemas/Event"}
            assert "X-Conversation-Id" in operation["responses"]["200"]["headers"]


def test_every_type_of_event_is_described() -> None:
    event = document()["components"]["schemas"]["Event"]
    assert set(event["discriminator"]["mapping"]) == set(EVENTS)
    assert len(event["oneOf"]) == len(EVENTS)


def test_every_schema_reference_resolves() -> None:
    components = document()["components"]["schemas"]
    referenced = set(re.findall(r"'#/components/schemas/(\w+)'", str(document())))
    assert referenced <= set(components)


def test_security_schemes_are_the_token_and_a_login() -> None:
    schemes = document()["components"]["securitySchemes"]
    assert (schemes["token"]["type"], schemes["token"]["scheme"]) == ("http", "bearer")
    assert (schemes["login"]["type"], schemes["login"]["in"]) == ("apiKey", "cookie")


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["schema/", "schema", "docs/", "docs"])
def test_schema_and_docs_are_found_with_and_without_a_slash(path: str) -> None:
    assert Client().get(f"/api/{path}").status_code == 200


@pytest.mark.django_db
def test_the_docs_page_loads_nothing_from_another_host() -> None:
    response = Client().get("/api/docs/")
    html = response.content.decode()
    assert 'href="/api/schema/"' in html and "mockllm chat API" in html
    assert re.findall(r'(?:src|href)="(?!/(?!/)|#)', html) == []
    assert "default-src 'self'" in response.headers["Content-Security-Policy"]
    assert document() == Client().get("/api/schema/").json()


def test_example_body_has_the_required_fields() -> None:
    schemas = {"Kind": {"enum": ["a", "b"]}, "Loop": {"$ref": "#/components/schemas/Tree"}}
    tree = {"type": "object", "required": ["next"]}
    schemas["Tree"] = tree | {"properties": {"next": {"$ref": "#/components/schemas/Loop"}}}
    body = {
        "type": "object",
        "required": ["text", "count", "kind", "either"],
        "properties": {
            "text": {"type": "string"},
            "count": {"type": ["integer", "null"], "default": 7},
            "kind": {"$ref": "#/components/schemas/Kind"},
            "either": {"oneOf": [{"type": "array"}, {"type": "string"}]},
            "left_out": {"type": "string"},
        },
    }
    assert example_value(body, schemas) == {"text": "", "count": 7, "kind": "a", "either": []}
    assert example_value(tree, schemas) == {"next": {}}
    assert example_value(schemas["Tree"], schemas, 1) == {"next": {}}


@pytest.mark.django_db
def test_index_page_links_to_the_api_docs() -> None:
    assert 'href="/api/docs/"' in Client().get("/").content.decode()


MANUAL = (Path(__file__).resolve().parents[3] / "docs" / "chat.md").read_text()


def test_the_manual_has_every_event_with_its_fields() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (`[^|]*`) \|", MANUAL, re.MULTILINE)
    documented_fields = {
        name: set(re.findall(r"`(\w+)`", fields)) for name, fields in rows if name in EVENTS
    }
    required_fields = {
        name: {key for key, field in shape().fields.items() if field.required and key != "type"}
        for name, shape in EVENTS.items()
    }
    assert documented_fields == required_fields | {
        "done": {"conversation_id", "message_id", "trace_id"}
    }


def test_the_manual_names_every_route() -> None:
    for method, path in CONTRACT - {("GET", "/api/ab/{comparison_id}")}:
        manual_path = re.sub(r"\{\w+\}", lambda name: name[0][1:-1].upper(), path)
        assert manual_path in MANUAL, (method, path)
