"""The chat API conforms to its OpenAPI document for generated requests."""

import pytest

from chat_app.api.openapi import document
from tests.chat.api_client import Api
from tests.support.live_server import Live
from tests.support.schema_violations import send_violations
from tests.support.strategies import OperationCase, assert_conforms, operations


@pytest.mark.hypothesis
@pytest.mark.parametrize("operation", operations(document()), ids=lambda d: " ".join(map(str, d)))
def test_every_operation_keeps_to_the_document(
    live: Live, api: Api, operation: OperationCase
) -> None:
    assert_conforms(document(), operation, base_url=live.base_url)


def test_each_rule_of_a_body_is_kept(live: Live, api: Api) -> None:
    statuses = send_violations(document(), base_url=live.base_url)
    assert {violation: status for violation, status in statuses.items() if status != 400} == {}
    assert "POST /api/feedback required message_id" in statuses
