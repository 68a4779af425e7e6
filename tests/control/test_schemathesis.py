"""Requests drawn from the OpenAPI document by schemathesis, and answers held against it."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from scenarios_app.control.pages import _openapi
from tests.live import Live

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


def can_be_wrong(operation: dict[str, Any]) -> bool:
    """Whether there is anything in it that is not just any text of a path."""
    queried = any(p["in"] == "query" for p in operation.get("parameters", ()))
    return queried or "requestBody" in operation


CASES = [
    (method.upper(), path, mode)
    for path, operations in _openapi()["paths"].items()
    for method, operation in operations.items()
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or can_be_wrong(operation)
]
DRAWN = settings(
    max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize(("method", "path", "mode"), CASES)
def test_every_operation_keeps_to_the_document(
    live: Live, method: str, path: str, mode: GenerationMode
) -> None:
    schema = schemathesis.openapi.from_dict(_openapi())
    schema.config.update(base_url=live.base_url)

    @DRAWN
    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        case.call_and_validate(checks=CHECKS)

    ask()
