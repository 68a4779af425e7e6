"""Documents of the same name are merged to one scenario."""

from typing import Any

import pytest

from scenarios_app.engine.document import (
    DocumentError,
    DocumentLimits,
    dump,
    load_documents,
    merge_documents,
)


def documents_named_a(*documents: dict[str, Any]) -> dict[str, Any]:
    return {"scenarios": [{"name": "a", **document} for document in documents]}


def error_lines(data: dict[str, Any]) -> list[str]:
    with pytest.raises(DocumentError) as error:
        load_documents(data)
    return str(error.value).splitlines()


def text_step(text: str) -> dict[str, Any]:
    return {"produce": {"text": text}}


def test_steps_are_concatenated() -> None:
    (merged,) = load_documents(
        documents_named_a(
            {"steps": [text_step("1"), text_step("2")]}, {}, {"steps": [text_step("3")]}
        )
    )
    assert [step.produce.text for step in merged.steps] == ["1", "2", "3"]


def test_value_set_in_one_document_is_kept_by_the_merge() -> None:
    data = documents_named_a({"steps": []}, {"priority": 5}, {"description": "b", "enabled": False})
    (merged,) = load_documents(data)
    assert dump(merged) == {"name": "a", "description": "b", "priority": 5, "enabled": False}


def test_lists_are_merged_without_duplicates() -> None:
    data = documents_named_a(
        {"tags": ["x", "y"], "system_prompt_must_include": ["p"]},
        {"tags": ["y", "z"], "system_prompt_must_include": ["q"]},
    )
    (merged,) = load_documents(data)
    assert merged.tags == ["x", "y", "z"]
    assert merged.system_prompt_must_include == ["p", "q"]


def test_variables_apply_to_all_steps() -> None:
    data = documents_named_a({"steps": [text_step("{{ city }}")]}, {"variables": {"city": "Paris"}})
    (merged,) = load_documents(data)
    assert merged.variables == {"city": "Paris"}


def test_documents_of_different_names_stay_separate_and_in_order() -> None:
    data = {"scenarios": [{"name": "b"}, {"name": "a"}, {"name": "b", "priority": 1}]}
    assert [dump(document) for document in load_documents(data)] == [
        {"name": "b", "priority": 1},
        {"name": "a"},
    ]


@pytest.mark.parametrize(
    ("first", "second", "line"),
    [
        ({"priority": 1}, {"priority": 2}, "priority: 2 differs from 1"),
        ({"priority": 0}, {"priority": 2}, "priority: 2 differs from 0"),
        ({"enabled": True}, {"enabled": False}, "enabled: false differs from true"),
        ({"description": "x"}, {"description": "y"}, 'description: "y" differs from "x"'),
        (
            {"select": "match"},
            {"select": "first_user_message"},
            'select: "first_user_message" differs from "match"',
        ),
        (
            {"variables": {"a": 1, "b": 1}},
            {"variables": {"a": 1, "b": True}},
            "variables.b: true differs from 1",
        ),
    ],
)
def test_contradiction_between_two_documents_names_both(
    first: dict[str, Any], second: dict[str, Any], line: str
) -> None:
    assert error_lines(documents_named_a(first, {}, second)) == [
        f"scenarios[2].{line} in scenarios[0]"
    ]
    assert load_documents(documents_named_a(first, first))


def test_problem_of_a_merged_scenario_is_located_in_its_document() -> None:
    turn = {"turn": 1, "produce": {"text": "{{ x }}"}}
    data = documents_named_a(
        {"select": "first_user_message", "steps": [text_step("1") | {"turn": 2}]},
        {"variables": {"match": {}}},
        {"steps": [turn, turn]},
    )
    assert error_lines(data) == [
        "scenarios[1].variables.match: an object of this name would never be seen in an answer",
        "scenarios[2].steps[1].turn: another step has turn 1",
        "scenarios[2].steps[0].produce.text: unknown name in {{ x }}",
        "scenarios[2].steps[1].produce.text: unknown name in {{ x }}",
    ]


def test_loaded_documents_can_be_merged() -> None:
    first, second = (
        load_documents({"name": "a", "tags": [tag], "steps": [text_step(tag)]})[0] for tag in "xy"
    )
    (merged,) = merge_documents([first, second])
    assert dump(merged) == {
        "name": "a",
        "tags": ["x", "y"],
        "steps": [text_step("x"), text_step("y")],
    }
    assert dump(first) == {"name": "a", "tags": ["x"], "steps": [text_step("x")]}


def test_merge_enforces_the_limits() -> None:
    (document,) = load_documents({"name": "a", "steps": [text_step("long")]})
    with pytest.raises(DocumentError, match=r"scenarios\[0\].steps\[0\].produce: holds 4 bytes"):
        merge_documents([document], limits=DocumentLimits(text_bytes=3))
