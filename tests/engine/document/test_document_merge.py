"""Documents of one name become one scenario."""

from typing import Any

import pytest

from scenarios_app.engine.document import (
    DocumentError,
    DocumentLimits,
    dump,
    load_documents,
    merge_documents,
)


def scenarios(*documents: dict[str, Any]) -> dict[str, Any]:
    return {"scenarios": [{"name": "a", **document} for document in documents]}


def lines(data: dict[str, Any]) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        load_documents(data)
    return str(caught.value).splitlines()


def says(text: str) -> dict[str, Any]:
    return {"produce": {"text": text}}


def test_steps_follow_one_another() -> None:
    (merged,) = load_documents(
        scenarios({"steps": [says("1"), says("2")]}, {}, {"steps": [says("3")]})
    )
    assert [step.produce.text for step in merged.steps] == ["1", "2", "3"]


def test_value_set_in_one_document_is_kept_by_the_merge() -> None:
    data = scenarios({"steps": []}, {"priority": 5}, {"description": "b", "enabled": False})
    (merged,) = load_documents(data)
    assert dump(merged) == {"name": "a", "description": "b", "priority": 5, "enabled": False}


def test_lists_come_together_without_repeats() -> None:
    data = scenarios(
        {"tags": ["x", "y"], "system_prompt_must_include": ["p"]},
        {"tags": ["y", "z"], "system_prompt_must_include": ["q"]},
    )
    (merged,) = load_documents(data)
    assert merged.tags == ["x", "y", "z"]
    assert merged.system_prompt_must_include == ["p", "q"]


def test_variables_come_together_for_all_steps() -> None:
    data = scenarios({"steps": [says("{{ city }}")]}, {"variables": {"city": "Paris"}})
    (merged,) = load_documents(data)
    assert merged.variables == {"city": "Paris"}


def test_other_names_stay_apart_in_the_order_in_which_they_came() -> None:
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
    assert lines(scenarios(first, {}, second)) == [f"scenarios[2].{line} in scenarios[0]"]
    assert load_documents(scenarios(first, first))


def test_problem_of_the_whole_is_located_in_its_document() -> None:
    turn = {"turn": 1, "produce": {"text": "{{ x }}"}}
    data = scenarios(
        {"select": "first_user_message", "steps": [says("1") | {"turn": 2}]},
        {"variables": {"match": {}}},
        {"steps": [turn, turn]},
    )
    assert lines(data) == [
        "scenarios[1].variables.match: an object of this name would never be seen in an answer",
        "scenarios[2].steps[1].turn: another step has turn 1",
        "scenarios[2].steps[0].produce.text: unknown name in {{ x }}",
        "scenarios[2].steps[1].produce.text: unknown name in {{ x }}",
    ]


def test_loaded_documents_can_be_merged() -> None:
    first, second = (
        load_documents({"name": "a", "tags": [tag], "steps": [says(tag)]})[0] for tag in "xy"
    )
    (merged,) = merge_documents([first, second])
    assert dump(merged) == {"name": "a", "tags": ["x", "y"], "steps": [says("x"), says("y")]}
    assert dump(first) == {"name": "a", "tags": ["x"], "steps": [says("x")]}


def test_merging_keeps_to_the_limits() -> None:
    (document,) = load_documents({"name": "a", "steps": [says("long")]})
    with pytest.raises(DocumentError, match=r"scenarios\[0\].steps\[0\].produce: holds 4 bytes"):
        merge_documents([document], limits=DocumentLimits(text_bytes=3))
