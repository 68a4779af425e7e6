"""Sends random requests of an OpenAPI document (by schemathesis) and checks responses against
it."""

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import schemathesis
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator, FormatChecker
from schemathesis import Case, GenerationMode, Response
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.hypothesis_profiles import example_count

Document: TypeAlias = dict[str, Any]
OperationCase: TypeAlias = tuple[str, str, GenerationMode]
# Examples in `make test-long`; the suite runs one in EXAMPLE_SHARE. Scenario documents are large
# and slow to generate, and other tests check their rules.
EXAMPLES, EXAMPLE_SHARE = 1_000, 40
DOCUMENTS, SHARE_OF_DOCUMENTS = ("/control/scenarios", "/control/recording"), 100
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]
# Not 404, since bodies are validated before anything is looked up.
REJECTION_STATUSES = ["400", "413", "415"]
EVENTS = "text/event-stream"
# Large data take long to generate, and schemathesis makes invalid data by discarding what happens
# to be valid. `assert_conforms` checks that enough requests are left.
SUPPRESSED_CHECKS = [
    HealthCheck.too_slow,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
    HealthCheck.filter_too_much,
]


def operations(document: Document) -> list[OperationCase]:
    """Return every operation with valid data, and with invalid data if its schema forbids any."""
    return [
        (method.upper(), path, mode)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        for mode in GenerationMode
        if mode is GenerationMode.POSITIVE or _forbids(operation)
    ]


def assert_conforms(document: Document, operation: OperationCase, *, base_url: str) -> None:
    """Call an operation with many random requests, and validate each response.

    At least half of the invalid requests must have been sent, since Hypothesis stops silently after
    ten draws for each.
    """
    method, path, mode = operation
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=base_url)
    schema.config.checks.negative_data_rejection.expected_statuses = REJECTION_STATUSES
    large = path.startswith(DOCUMENTS) and method in ("POST", "PUT")
    examples = example_count(EXAMPLES, share=SHARE_OF_DOCUMENTS if large else EXAMPLE_SHARE)
    sent: list[Case] = []
    _make_request_test(schema[path][method], mode, document, examples=examples, sent=sent)()
    assert mode is GenerationMode.POSITIVE or len(sent) >= examples // 2, len(sent)


def _make_request_test(
    operation: Any, mode: GenerationMode, document: Document, *, examples: int, sent: list[Case]
) -> Callable[[], None]:
    @settings(max_examples=examples, suppress_health_check=SUPPRESSED_CHECKS)
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Case) -> None:
        sent.append(case)
        answer = case.call()
        if answer.headers.get("content-type", [""])[0].startswith(EVENTS):
            case.validate_response(answer, checks=[*CHECKS, negative_data_rejection])
            _validate_events(answer, document)
        else:
            checks = [*CHECKS, negative_data_rejection, response_schema_conformance]
            case.validate_response(answer, checks=checks)

    return ask


def _validate_events(answer: Response, document: Document) -> None:
    """Validate every event of a stream, which has at least one."""
    event = {"$ref": "#/components/schemas/Event", "components": document["components"]}
    validator = Draft202012Validator(event, format_checker=FormatChecker())
    payloads = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    assert payloads
    for data in payloads:
        validator.validate(json.loads(data))


def _forbids(operation: dict[str, Any]) -> bool:
    """True if it has parameters or a body that can be invalid."""
    has_query = any(p["in"] == "query" for p in operation.get("parameters", ()))
    return has_query or "requestBody" in operation
