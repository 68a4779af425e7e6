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

from chat_app.api.pages import document
from tests.chat.asking import Api
from tests.live import Live

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
CASES = [
    (method.upper(), path, mode)
    for path, operations in document()["paths"].items()
    for method, operation in operations.items()
    for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or "requestBody" in operation
]
DRAWN = settings(
    max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize(("method", "path", "mode"), CASES)
def test_every_operation_keeps_to_the_document(
    live: Live, api: Api, method: str, path: str, mode: GenerationMode
) -> None:
    schema = schemathesis.openapi.from_dict(document())
    schema.config.update(base_url=live.base_url)

    @DRAWN
    @given(case=schema[path][method].as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        case.call_and_validate(checks=CHECKS)

    ask()
