"""A page's fields show a document without loss: what they cannot show stays JSON."""

import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from mockllm_site.paths import FIXTURES
from scenarios_app.admin.editor.layout import SCENARIO, STEP
from scenarios_app.admin.editor.places import KINDS, Layout
from scenarios_app.engine.document import dump
from tests.round_trips.collected import docs_documents, gallery_documents, recorded_documents
from tests.round_trips.generated import generated
from tests.round_trips.random_documents import random_document


def check(layout: Layout, document: Any) -> None:
    """Assert that splitting and joining gives the document again, key for key."""
    text = json.dumps(document)
    values, rest = layout.split(document)
    assert json.dumps(layout.join(values, rest, like=document)) == text
    in_any_order = json.dumps(layout.join(values, rest), sort_keys=True)
    assert in_any_order == json.dumps(document, sort_keys=True)
    assert json.dumps(document) == text
    # A field is empty only if nothing is at its place, or it says what is there.
    named = {field.place for field, _, _ in layout.unshown(values, rest)}
    for place, field in layout.fields.items():
        if field.kind in KINDS and place not in values and place not in named:
            assert "(" in place or value_at(document, field.keys) is MISSING, place


MISSING = object()


def value_at(document: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        document = document.get(key, MISSING) if isinstance(document, dict) else MISSING
    return document


def check_random(count: int) -> None:
    random = Random(7)
    for _ in range(count):
        for layout in (STEP, STEP, STEP, SCENARIO):
            check(layout, random_document(random, layout))


def test_random_documents_are_the_same_after_the_page() -> None:
    check_random(250)


@pytest.mark.long
def test_many_random_documents_are_the_same_after_the_page() -> None:
    check_random(25_000)


def collected() -> Iterator[dict[str, Any]]:
    for documents in (docs_documents, gallery_documents, recorded_documents, generated):
        yield from (dump(document) for document in documents())
    for path in FIXTURES.glob("*.json"):
        for row in json.loads(path.read_bytes()):
            yield row["fields"].get("document", {})


def test_documents_of_the_product_are_the_same_after_the_page() -> None:
    for document in collected():
        own = {key: value for key, value in document.items() if key != "steps"}
        check(SCENARIO, own)
        for step in [*document.get("steps", ()), document]:
            check(STEP, step)


@pytest.mark.parametrize(
    ("step", "values", "rest"),
    [
        # What the field shows, also a default that was written.
        ({"produce": {"text": "a\r\nb"}}, {"produce.text": "a\r\nb"}, {}),
        ({"turn": None, "consume": True}, {"turn": None, "consume": True}, {}),
        ({"match": {"model": {"regex": "^gpt"}}}, {"match.model": {"regex": "^gpt"}}, {}),
        # What no field can show.
        ({"produce": {"text": ""}}, {}, {"produce.*": {"text": ""}}),
        ({"produce": 5, "x": 1}, {}, {"*": {"produce": 5, "x": 1}}),
        ({"match": {}}, {}, {"*": {"match": {}}}),
        ({"failures": {"fault": {"code": 1}}}, {}, {"failures.fault.*": {"code": 1}}),
        ({"match": {"model": ["a", "b"]}}, {}, {"match.*": {"model": ["a", "b"]}}),
        ({"turn": True, "consume": 1}, {}, {"*": {"turn": True, "consume": 1}}),
        ([1], {}, {"*": [1]}),
    ],
)
def test_value_is_shown_or_stays_json(
    step: Any, values: dict[str, Any], rest: dict[str, Any]
) -> None:
    assert STEP.split(step) == (values, rest)
    check(STEP, step)


SYSTEM, USER = {"role": "system", "contains": "s"}, {"role": "user", "contains": "u"}
LAST = {"which": "last", "role": "user", "equals": "u", "ignore_case": True}


@pytest.mark.parametrize(
    ("messages", "field_values", "others"),
    [
        ([SYSTEM, USER], {"system": {"contains": "s"}, "user": {"contains": "u"}}, []),
        ([USER, SYSTEM], {"user": {"contains": "u"}}, [SYSTEM]),
        ([LAST], {"user": {"which": "last", "equals": "u", "ignore_case": True}}, []),
        ([USER, USER], {"user": {"contains": "u"}}, [USER]),
        ([{**SYSTEM, "ignore_case": True}], {}, [{**SYSTEM, "ignore_case": True}]),
        ([{**USER, "which": "first"}, USER], {}, [{**USER, "which": "first"}, USER]),
        ([{**USER, "regex": "u"}], {}, [{**USER, "regex": "u"}]),
        (["u"], {}, ["u"]),
    ],
)
def test_first_condition_of_a_role_is_shown(
    messages: list[Any], field_values: dict[str, Any], others: list[Any]
) -> None:
    step = {"match": {"messages": messages}}
    values, rest = STEP.split(step)
    assert values == {f"match.messages({role})": value for role, value in field_values.items()}
    assert rest == ({"match.*": {"messages": others}} if others else {})
    check(STEP, step)


def test_changed_value_leaves_the_order_of_keys() -> None:
    step = {"produce": {"x": 1, "text": "a"}, "y": 2, "match": {"path": "/", "stream": True}}
    values, rest = STEP.split(step)
    values |= {"produce.text": "b", "match.model": "m", "name": "n"}
    del values["match.path"]
    joined = STEP.join(values, rest, like=step)
    assert json.dumps(joined) == json.dumps(
        {
            "name": "n",
            "produce": {"x": 1, "text": "b"},
            "y": 2,
            "match": {"stream": True, "model": "m"},
        }
    )
