"""Requests drawn from an OpenAPI document by schemathesis, and answers held against it: what the
document allows is answered as it says, what it forbids is refused."""

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

from tests.support.hypothesis_profiles import often

Document: TypeAlias = dict[str, Any]
Drawn: TypeAlias = tuple[str, str, GenerationMode]
# In `make test-long`; the suite tries a share of them. Scenario documents are large, one takes as
# long as ten bodies of any other operation, and their own rules have tests of their own.
EXAMPLES, SHARE = 1_000, 40
DOCUMENTS, SHARE_OF_DOCUMENTS = ("/control/scenarios", "/control/recording"), 100
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance]
# Not 404: what is wrong is said before anything is looked for.
REFUSED = ["400", "413", "415"]
EVENTS = "text/event-stream"
# Data of some size take time to be drawn, and no fault of theirs is looked for.
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


def operations(document: Document) -> list[Drawn]:
    """Every operation with what is allowed, and where anything is forbidden with that."""
    return [
        (method.upper(), path, mode)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        for mode in GenerationMode
        if mode is GenerationMode.POSITIVE or _forbids(operation)
    ]


def keeps_to(document: Document, drawn: Drawn, *, base_url: str) -> None:
    """Ask an operation again and again, and hold each answer against the document."""
    method, path, mode = drawn
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=base_url)
    schema.config.checks.negative_data_rejection.expected_statuses = REFUSED
    large = path.startswith(DOCUMENTS) and method in ("POST", "PUT")
    examples = often(EXAMPLES, share=SHARE_OF_DOCUMENTS if large else SHARE)
    _asking(schema[path][method], mode, document, examples=examples)()


def _asking(
    operation: Any, mode: GenerationMode, document: Document, *, examples: int
) -> Callable[[], None]:
    @settings(max_examples=examples, suppress_health_check=SLOW)
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Case) -> None:
        answer = case.call()
        if answer.headers.get("content-type", [""])[0].startswith(EVENTS):
            case.validate_response(answer, checks=[*CHECKS, negative_data_rejection])
            _validate_events(answer, document)
        else:
            checks = [*CHECKS, negative_data_rejection, response_schema_conformance]
            case.validate_response(answer, checks=checks)

    return ask


def _validate_events(answer: Response, document: Document) -> None:
    """Every event of a stream is one that the document knows, and there is one."""
    event = {"$ref": "#/components/schemas/Event", "components": document["components"]}
    validator = Draft202012Validator(event, format_checker=FormatChecker())
    sent = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    assert sent
    for data in sent:
        validator.validate(json.loads(data))


def _forbids(operation: dict[str, Any]) -> bool:
    """Whether there is anything in it that is not just any text of a path."""
    queried = any(p["in"] == "query" for p in operation.get("parameters", ()))
    return queried or "requestBody" in operation
