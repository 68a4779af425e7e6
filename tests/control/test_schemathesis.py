"""The control API conforms to its OpenAPI document for generated requests."""

import pytest

from scenarios_app.control.openapi import document
from tests.support.live_server import Live
from tests.support.schema_violations import send_violations
from tests.support.strategies import OperationCase, assert_conforms, operations


@pytest.mark.hypothesis
@pytest.mark.parametrize("operation", operations(document()), ids=lambda d: " ".join(map(str, d)))
def test_every_operation_conforms_to_the_document(live: Live, operation: OperationCase) -> None:
    assert_conforms(document(), operation, base_url=live.base_url)


def test_bodies_that_violate_a_schema_rule_are_rejected(live: Live) -> None:
    status_codes = send_violations(document(), base_url=live.base_url)
    assert {violation: status for violation, status in status_codes.items() if status != 400} == {}
    assert "POST /control/verify minLength of session" in status_codes
