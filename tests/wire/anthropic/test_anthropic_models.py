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


def render_models_page(models: list[str], request_call: Call) -> dict[str, Any]:
    return render_page(map(model_info, models), read_page(request_call))


@pytest.mark.parametrize("model", [ModelInfo, BetaModelInfo])
def test_the_sdks_types_accept_a_model(model: Any) -> None:
    parsed_model = model.model_validate(model_info("claude-x"))
    assert (parsed_model.id, parsed_model.lifecycle, parsed_model.display_name) == (
        "claude-x",
        "active",
        "claude-x",
    )


def test_model_has_every_capability_of_the_sdks_type() -> None:
    capabilities = BetaModelInfo.model_validate(model_info("x")).capabilities
    assert capabilities is not None
    _assert_no_field_is_none(capabilities)


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
def test_models_page_follows_the_query(
    query: dict[str, str], ids: list[str], has_more: bool
) -> None:
    page = render_models_page(MODELS, call("/v1/models", method="GET", query=query))
    assert [model["id"] for model in page["data"]] == ids
    assert page["has_more"] is has_more
    assert (page["first_id"], page["last_id"]) == ((ids[0], ids[-1]) if ids else (None, None))


def test_default_page_has_twenty_models() -> None:
    page = render_models_page([str(n) for n in range(30)], call("/v1/models", method="GET"))
    assert len(page["data"]) == 20


@pytest.mark.parametrize("limit", ["0", "1001", "-1", "two", "1.5", "٣", "1" * 5000])
def test_limit_out_of_range_is_rejected(limit: str) -> None:
    with pytest.raises(WireError) as raised:
        read_page(call("/v1/models", method="GET", query={"limit": limit}))
    assert raised.value.answer.status == 400
    assert raised.value.answer.message.startswith("limit:")


def _assert_no_field_is_none(value: Any) -> None:
    for name in type(value).model_fields:
        field = getattr(value, name)
        assert field is not None, f"{type(value).__name__}.{name}"
        if not isinstance(field, bool):
            _assert_no_field_is_none(field)
