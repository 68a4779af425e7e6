"""The control API keeps to its OpenAPI document, whatever is drawn from it."""

import pytest

from scenarios_app.control.openapi import document
from tests.support.live_server import Live
from tests.support.schema_violations import answers
from tests.support.strategies import Drawn, assert_conforms, operations


@pytest.mark.hypothesis
@pytest.mark.parametrize("drawn", operations(document()), ids=lambda d: " ".join(map(str, d)))
def test_every_operation_keeps_to_the_document(live: Live, drawn: Drawn) -> None:
    assert_conforms(document(), drawn, base_url=live.base_url)


def test_each_rule_of_a_body_is_kept(live: Live) -> None:
    given = answers(document(), base_url=live.base_url)
    assert {asked: status for asked, status in given.items() if status != 400} == {}
    assert "POST /control/verify minLength of session" in given
