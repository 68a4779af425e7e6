"""The OpenAPI document is valid and complete; the JSON Schema of scenario documents."""

import re
from typing import Any

import pytest
from django.urls import URLPattern
from drf_spectacular.validation import validate_schema
from jsonschema import Draft202012Validator

from scenarios_app.control.urls import urlpatterns
from tests.control.control_client import Control, scenario

METHODS = ("get", "post", "put", "delete")


@pytest.fixture
def document(control: Control) -> dict[str, Any]:
    response = control.get("schema/")
    assert response.status_code == 200
    openapi_document: dict[str, Any] = response.json()
    return openapi_document


def operations(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method.upper(), path): operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


def routes() -> set[tuple[str, str]]:
    """Return method and path of every route of the URLconf that has a schema.

    Routes that differ only in a slash at the end are counted once.
    """
    routes: set[tuple[str, str]] = set()
    for route in urlpatterns:
        assert isinstance(route, URLPattern)
        view = route.callback
        if view.cls.schema is None:
            # MCP describes its own messages.
            continue
        path = "/control/" + re.sub(r"<\w+:(\w+)>", r"{\1}", str(route.pattern))
        handlers = [m.upper() for m in METHODS if hasattr(view.cls, m)]
        other_path = path[:-1] if path.endswith("/") else f"{path}/"
        if ("GET", other_path) not in routes and ("POST", other_path) not in routes:
            routes.update((method, path) for method in handlers)
    return routes


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    assert document["openapi"] == "3.1.0"
    validate_schema(document)


def test_every_route_is_in_the_document_and_no_other(document: dict[str, Any]) -> None:
    assert set(operations(document)) == routes()


def test_document_has_the_routes_of_the_contract(document: dict[str, Any]) -> None:
    assert set(operations(document)) == {
        ("GET", "/control/scenarios"),
        ("POST", "/control/scenarios"),
        ("GET", "/control/scenarios/{name}"),
        ("PUT", "/control/scenarios/{name}"),
        ("DELETE", "/control/scenarios/{name}"),
        ("POST", "/control/scenarios/{name}/steps"),
        ("POST", "/control/reset"),
        ("GET", "/control/state"),
        ("GET", "/control/requests"),
        ("DELETE", "/control/requests"),
        ("GET", "/control/requests/{id}"),
        ("POST", "/control/verify"),
        ("GET", "/control/verdict"),
        ("POST", "/control/verdict"),
        ("GET", "/control/coverage"),
        ("DELETE", "/control/coverage"),
        ("GET", "/control/coverage/faults"),
        ("POST", "/control/coverage/faults"),
        ("GET", "/control/recording"),
        ("PUT", "/control/recording"),
        ("DELETE", "/control/recording"),
        ("GET", "/control/drift"),
        ("GET", "/control/changes"),
        ("PUT", "/control/changes"),
        ("DELETE", "/control/changes"),
        ("POST", "/control/explain"),
        ("GET", "/control/schema/"),
        ("GET", "/control/schema/scenario.json"),
        ("GET", "/control/docs/"),
    }


def test_every_operation_is_described(document: dict[str, Any]) -> None:
    operations_by_route = operations(document)
    names = [operation["operationId"] for operation in operations_by_route.values()]
    assert len(set(names)) == len(names)
    for (method, path), operation in operations_by_route.items():
        assert operation["description"], path
        assert operation["security"] == [{"token": []}, {}]
        statuses = set(operation["responses"])
        assert {"400", "401", "403", "500", "503"} < statuses
        assert any(status.startswith("2") for status in statuses)
        if method in ("POST", "PUT"):
            assert {"413", "415"} < statuses
            assert operation["requestBody"]["required"] is True
            assert list(operation["requestBody"]["content"]) == ["application/json"]
        for status, answer in operation["responses"].items():
            assert answer["description"]
            assert ("content" in answer) == (status != "204")


def test_every_field_and_query_parameter_has_a_description(document: dict[str, Any]) -> None:
    undescribed_fields = [
        f"{name}.{field}"
        for name, shape in document["components"]["schemas"].items()
        for field, value in shape.get("properties", {}).items()
        if "description" not in value
    ]
    undescribed_parameters = [
        parameter["name"]
        for operation in operations(document).values()
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query" and not parameter.get("description")
    ]
    assert undescribed_fields + undescribed_parameters == []


def test_every_reference_has_a_target(document: dict[str, Any]) -> None:
    components = document["components"]["schemas"]
    referenced_names = set(re.findall(r"'#/components/schemas/(\w+)'", str(document)))
    assert referenced_names <= set(components)
    assert "$defs" not in str(document)


def test_document_names_the_bearer_token(document: dict[str, Any]) -> None:
    (scheme,) = document["components"]["securitySchemes"].values()
    assert (scheme["type"], scheme["scheme"]) == ("http", "bearer")


def test_scenario_schema_accepts_valid_and_rejects_invalid_documents(control: Control) -> None:
    schema = control.get("schema/scenario.json").json()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    assert validator.is_valid(scenario("x"))
    assert validator.is_valid({"scenarios": [scenario("x")]})
    assert not validator.is_valid({**scenario("x"), "priorty": 1})


def test_request_body_schema_accepts_valid_and_rejects_invalid_documents(
    document: dict[str, Any],
) -> None:
    body = operations(document)["POST", "/control/scenarios"]["requestBody"]
    schema = {
        **body["content"]["application/json"]["schema"],
        "components": document["components"],
    }
    validator = Draft202012Validator(schema)
    assert validator.is_valid(scenario("x"))
    assert validator.is_valid({"scenarios": [scenario("x")]})
    assert not validator.is_valid({**scenario("x"), "priorty": 1})


@pytest.mark.parametrize("path", ["schema", "docs", "schema/scenario.json/"])
def test_schemas_are_served_with_and_without_a_slash(control: Control, path: str) -> None:
    assert control.client.get(f"/control/{path}").status_code == 200
