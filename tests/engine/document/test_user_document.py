"""The key `user` of a scenario: loading, errors with their paths, and dumping."""

from typing import Any

import pytest

from scenarios_app.engine.document import DocumentError, dump, load_documents, load_text

HELLO_TURN = {"say": "Hello."}
FULL_USER: dict[str, Any] = {
    "turns": [
        HELLO_TURN,
        {
            "say": "12",
            "when": {"say": {"contains": "number"}, "not_call": {"name": "refund"}},
            "must": [{"not_say": "no"}, {"call": {"name": "refund", "arguments": {"order": 12}}}],
            "end": True,
            "repeat": True,
        },
    ],
    "must": [{"say": "bye"}],
    "max_turns": 8,
}


def load_problems(user: Any) -> list[tuple[str, str]]:
    with pytest.raises(DocumentError) as error:
        load_documents({"name": "a", "user": user})
    return [(problem.place, problem.message) for problem in error.value.problems]


def test_user_with_all_keys_is_dumped_unchanged() -> None:
    (document,) = load_documents({"name": "a", "user": FULL_USER})
    assert dump(document) == {"name": "a", "user": FULL_USER}
    assert load_documents(dump(document)) == [document]


def test_scenario_without_a_user_has_none() -> None:
    (document,) = load_documents({"name": "a"})
    assert document.user is None


@pytest.mark.parametrize(
    ("user", "place", "message"),
    [
        ([], "user", "expected an object"),
        ({}, "user.turns", "missing"),
        ({"turns": []}, "user.turns", "expected at least one"),
        ({"turns": [{}]}, "user.turns[0].say", "missing"),
        ({"turns": [{"say": ""}]}, "user.turns[0].say", "expected a string of at least one"),
        ({"turns": [HELLO_TURN | {"enx": True}]}, "user.turns[0].enx", 'did you mean "end"?'),
        ({"turns": [HELLO_TURN | {"repeat": True}]}, "user.turns[0].repeat", "needs when"),
        (
            {"turns": [HELLO_TURN | {"when": {}}]},
            "user.turns[0].when",
            "expected at least one of say",
        ),
        (
            {"turns": [HELLO_TURN | {"must": [{"say": {"regex": "("}}]}]},
            "user.turns[0].must[0].say.regex",
            "not an RE2 pattern",
        ),
        (
            {"turns": [HELLO_TURN | {"must": [{"call": {"tool": "x"}}]}]},
            "user.turns[0].must[0].call.tool",
            "unknown key",
        ),
        ({"turns": [HELLO_TURN | {"when": {"say": "x"}}]}, "user.turns", "must be without when"),
        (
            {"turns": [HELLO_TURN], "max_turns": 0},
            "user.max_turns",
            "expected a whole number from 1",
        ),
    ],
)
def test_invalid_user_is_rejected_with_its_path(user: Any, place: str, message: str) -> None:
    ((problem_place, problem_message),) = load_problems(user)
    assert problem_place == place
    assert message in problem_message


def test_problem_of_a_user_in_a_file_has_line_and_column() -> None:
    text = b'{"name": "a",\n "user": {"turns": [{"sya": "x"}]}}'
    with pytest.raises(DocumentError) as error:
        load_text(text, source="a.json")
    assert "a.json:2:22: user.turns[0].sya: unknown key" in str(error.value)


def test_documents_of_the_same_name_share_a_user() -> None:
    parts = [{"name": "a", "user": FULL_USER}, {"name": "a", "steps": [{"produce": {"text": "x"}}]}]
    (document,) = load_documents(parts)
    assert document.user is not None
    assert len(document.steps) == 1


def test_documents_of_the_same_name_with_different_users_are_rejected() -> None:
    with pytest.raises(DocumentError) as error:
        load_documents([{"name": "a", "user": {"turns": [{"say": t}]}} for t in "xy"])
    assert '[1].user: {"turns": [{"say": "y"}]} differs from {"turns": [{"say": "x"}]}' in str(
        error.value
    )
