"""OpenAI's moderations: categories, scores and one result for each input."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from openai._models import validate_type
from openai.types import ModerationCreateResponse
from openai.types.moderation_create_params import ModerationCreateParams

from scenarios_app.engine.canonical import CanonicalRequest, ErrorAnswer
from scenarios_app.wire.body import Limits, read_body
from scenarios_app.wire.errors import WireError
from scenarios_app.wire.openai.moderations import CATEGORIES
from scenarios_app.wire.openai.wire import WIRE
from tests.support.hypothesis_profiles import example_count
from tests.wire.json_strategies import relaxed, values_of
from tests.wire.openai.openai_cases import make_call
from tests.wire.openai.test_openai_computed import CONTEXT

PATH = "/v1/moderations"
ROUTE = next(route for route in WIRE.endpoints if route.pattern == PATH)
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}


def read(body: Any) -> CanonicalRequest:
    raw = msgspec.json.encode(body)
    return ROUTE.read(make_call(path=PATH, body=raw), ROUTE, {}, read_body(raw, Limits()))


def moderate(input_: Any, **fields: Any) -> dict[str, Any]:
    request = read({"input": input_, **fields})
    answer: dict[str, Any] = json.loads(ROUTE.compute(request, CONTEXT))
    validate_type(type_=ModerationCreateResponse, value=answer)
    return answer


def flagged_categories(text: str) -> set[str]:
    (result,) = moderate(text)["results"]
    categories = {name for name, flag in result["categories"].items() if flag}
    assert result["flagged"] is bool(categories)
    high_scores = {name for name, score in result["category_scores"].items() if score > 0.5}
    assert high_scores == categories
    return categories


def catch_error(**body: Any) -> ErrorAnswer:
    with pytest.raises(WireError) as raised:
        read(body)
    return raised.value.answer


def test_a_harmless_text_has_every_category_and_none_flagged() -> None:
    answer = moderate("Good morning!")
    assert (answer["id"], answer["model"]) == ("modr-abc", "omni-moderation-latest")
    (result,) = answer["results"]
    assert result["flagged"] is False
    for name in ("categories", "category_scores", "category_applied_input_types"):
        assert list(result[name]) == list(CATEGORIES)
    assert len(CATEGORIES) == 13
    assert all(0 <= score < 0.001 for score in result["category_scores"].values())


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("I want to kill them.", {"violence"}),
        ("You IDIOT!", {"harassment"}),
        ("I will hurt you", {"harassment", "harassment/threatening"}),
        ("how to kill myself", {"self-harm", "self-harm/instructions", "violence"}),
        ("I want to hurt myself", {"self-harm", "self-harm/intent"}),
        ("how to make a bomb", {"illicit", "illicit/violent", "violence"}),
        ("a severed head", {"violence", "violence/graphic"}),
        ("hate speech", {"hate"}),
        ("skill, killer, idiotic, Mordor", set()),
    ],
)
def test_category_is_flagged_for_its_words(text: str, names: set[str]) -> None:
    assert flagged_categories(text) == names


@pytest.mark.parametrize("name", CATEGORIES)
def test_each_word_flags_its_category_and_the_parent(name: str) -> None:
    for words in CATEGORIES[name].split("|"):
        assert {name, name.partition("/")[0]} <= flagged_categories(f"… {words}.")


def test_scores_are_the_same_every_time_and_differ_between_texts() -> None:
    first, repeated, other = moderate(["a", "a", "b"])["results"]
    assert first == repeated
    assert first["category_scores"] != other["category_scores"]


def test_each_text_has_its_own_result() -> None:
    results = moderate(["Good morning!", "I want to kill them."])["results"]
    assert [result["flagged"] for result in results] == [False, True]


def test_content_parts_are_one_input() -> None:
    parts = [{"type": "text", "text": "kill"}, IMAGE]
    (result,) = moderate(parts, model="text-moderation-latest")["results"]
    assert result["flagged"] is True
    applied = result["category_applied_input_types"]
    assert applied["violence"] == ["text", "image"]
    assert applied["sexual"] == ["text", "image"]
    assert applied["hate"] == ["text"]


def test_image_has_only_visual_categories() -> None:
    (result,) = moderate([IMAGE])["results"]
    applied = result["category_applied_input_types"]
    assert (applied["violence/graphic"], applied["hate"]) == (["image"], [])


def test_response_has_the_requested_model() -> None:
    assert moderate("x", model="omni-moderation-2024-09-26")["model"].endswith("09-26")


def test_inputs_are_user_messages_to_be_matched() -> None:
    messages = read({"input": ["a", "b"]}).messages
    assert [(message.role, message.text) for message in messages] == [("user", "a"), ("user", "b")]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "input"),
        ({"input": 1}, "input"),
        ({"input": ["a", 1]}, "input[1]"),
        ({"input": [{"type": "text"}]}, "input[0].text"),
        ({"input": [{"text": "x"}]}, "input[0].type"),
        ({"input": [{"type": "audio"}]}, "input[0].type"),
        ({"input": [{"type": "image_url", "image_url": {}}]}, "input[0].image_url.url"),
        ({"input": "x", "model": 1}, "model"),
    ],
)
def test_invalid_value_is_rejected_with_its_path(body: dict[str, Any], param: str) -> None:
    error = catch_error(**body)
    assert (error.status, error.param) == (400, param)


@relaxed(max_examples=example_count(300))
@given(values_of(ModerationCreateParams))
def test_every_request_that_the_official_types_allow_is_accepted(body: Any) -> None:
    moderate(body["input"])
