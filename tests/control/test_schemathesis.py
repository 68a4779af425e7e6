"""The control API keeps to its OpenAPI document, whatever is drawn from it."""

from typing import Any

import httpx2
import pytest

from scenarios_app.control.pages import _openapi
from tests.drawn import Drawn, keeps_to, operations
from tests.live import Live
from tests.violations import violations


@pytest.mark.hypothesis
@pytest.mark.parametrize("drawn", operations(_openapi()), ids=lambda d: " ".join(map(str, d)))
def test_every_operation_keeps_to_the_document(live: Live, drawn: Drawn) -> None:
    keeps_to(_openapi(), drawn, base_url=live.base_url)


@pytest.mark.parametrize(
    ("method", "path", "rule", "body"),
    [pytest.param(*one, id=" ".join(one[:3])) for one in violations(_openapi())],
)
def test_each_rule_of_a_body_is_kept(
    live: Live, method: str, path: str, rule: str, body: Any
) -> None:
    answer = httpx2.request(method, live.base_url + path, json=body, trust_env=False)
    assert answer.status_code == 400, (rule, body, answer.text)
