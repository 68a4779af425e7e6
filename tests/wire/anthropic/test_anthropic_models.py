"""Anthropic's models list: items that the SDK's types accept, and pages."""

from typing import Any

import pytest
from anthropic.types import ModelInfo
from anthropic.types.beta import BetaModelInfo

from scenarios_app.wire.anthropic.models import model_info, read_page, render_page
from scenarios_app.wire.base import Call
from scenarios_app.wire.errors import WireError
from tests.wire.anthropic.anthropic_cases import call

MODELS = ["a", "b", "c", "d"]


def pages_of(models: list[str], sent: Call) -> dict[str, Any]:
    return render_page(map(model_info, models), read_page(sent))


@pytest.mark.parametrize("model", [ModelInfo, BetaModelInfo])
def test_the_sdks_types_accept_a_model(model: Any) -> None:
    read = model.model_validate(model_info("claude-x"))
    assert (read.id, read.lifecycle, read.display_name) == ("claude-x", "active", "claude-x")


def test_every_capability_that_the_sdk_knows_is_named() -> None:
    known = BetaModelInfo.model_validate(model_info("x")).capabilities
    assert known is not None
    _all_known(known)


@pytest.mark.parametrize(
    ("query", "ids", "has_more"),
    [
        ({}, ["a", "b", "c", "d"], False),
        ({"limit": "2"}, ["a", "b"], True),
        ({"limit": "4"}, ["a", "b", "c", "d"], False),
        ({"after_id": "b"}, ["c", "d"], False),
        ({"after_id": "a", "limit": "2"}, ["b", "c"], True),
        ({"after_id": "d"}, [], False),
        ({"before_id": "d", "limit": "2"}, ["b", "c"], True),
        ({"before_id": "c"}, ["a", "b"], False),
        ({"before_id": "a"}, [], False),
        ({"after_id": "a", "before_id": "d"}, ["b", "c"], False),
        ({"after_id": "unheard", "before_id": "of", "limit": "1"}, ["a"], True),
        ({"after_id": "", "limit": ""}, ["a", "b", "c", "d"], False),
    ],
)
def test_pages(query: dict[str, str], ids: list[str], has_more: bool) -> None:
    page = pages_of(MODELS, call("/v1/models", method="GET", query=query))
    assert [model["id"] for model in page["data"]] == ids
    assert page["has_more"] is has_more
    assert (page["first_id"], page["last_id"]) == ((ids[0], ids[-1]) if ids else (None, None))


def test_a_page_is_twenty_models_unless_told_otherwise() -> None:
    page = pages_of([str(n) for n in range(30)], call("/v1/models", method="GET"))
    assert len(page["data"]) == 20


@pytest.mark.parametrize("limit", ["0", "1001", "-1", "two", "1.5", "٣", "1" * 5000])
def test_a_limit_out_of_range_is_refused(limit: str) -> None:
    with pytest.raises(WireError) as caught:
        read_page(call("/v1/models", method="GET", query={"limit": limit}))
    assert caught.value.answer.status == 400
    assert caught.value.answer.message.startswith("limit:")


def _all_known(value: Any) -> None:
    for name in type(value).model_fields:
        field = getattr(value, name)
        assert field is not None, f"{type(value).__name__}.{name}"
        if not isinstance(field, bool):
            _all_known(field)
