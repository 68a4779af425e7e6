"""The key `user` of a scenario: what loads, what is refused and where, and what is written back."""

from typing import Any

import pytest

from scenarios_app.engine.document import DocumentError, dump, load_documents, load_text

TURN = {"say": "Hello."}
FULL: dict[str, Any] = {
    "turns": [
        TURN,
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


def problems(user: Any) -> list[tuple[str, str]]:
    with pytest.raises(DocumentError) as error:
        load_documents({"name": "a", "user": user})
    return [(one.place, one.message) for one in error.value.problems]


def test_whole_script_is_written_back_unchanged() -> None:
    (document,) = load_documents({"name": "a", "user": FULL})
    assert dump(document) == {"name": "a", "user": FULL}
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
        ({"turns": [TURN | {"enx": True}]}, "user.turns[0].enx", 'did you mean "end"?'),
        ({"turns": [TURN | {"repeat": True}]}, "user.turns[0].repeat", "needs when"),
        ({"turns": [TURN | {"when": {}}]}, "user.turns[0].when", "expected at least one of say"),
        (
            {"turns": [TURN | {"must": [{"say": {"regex": "("}}]}]},
            "user.turns[0].must[0].say.regex",
            "not an RE2 pattern",
        ),
        (
            {"turns": [TURN | {"must": [{"call": {"tool": "x"}}]}]},
            "user.turns[0].must[0].call.tool",
            "unknown key",
        ),
        ({"turns": [TURN | {"when": {"say": "x"}}]}, "user.turns", "must be without when"),
        ({"turns": [TURN], "max_turns": 0}, "user.max_turns", "expected a whole number from 1"),
    ],
)
def test_wrong_script_is_refused_at_its_place(user: Any, place: str, message: str) -> None:
    ((where, text),) = problems(user)
    assert where == place
    assert message in text


def test_problem_of_a_file_has_line_and_column() -> None:
    text = b'{"name": "a",\n "user": {"turns": [{"sya": "x"}]}}'
    with pytest.raises(DocumentError) as error:
        load_text(text, source="a.json")
    assert "a.json:2:22: user.turns[0].sya: unknown key" in str(error.value)


def test_documents_of_one_name_share_a_user() -> None:
    parts = [{"name": "a", "user": FULL}, {"name": "a", "steps": [{"produce": {"text": "x"}}]}]
    (document,) = load_documents(parts)
    assert document.user is not None
    assert len(document.steps) == 1


def test_documents_of_one_name_with_different_users_are_refused() -> None:
    with pytest.raises(DocumentError) as error:
        load_documents([{"name": "a", "user": {"turns": [{"say": t}]}} for t in "xy"])
    assert '[1].user: {"turns": [{"say": "y"}]} differs from {"turns": [{"say": "x"}]}' in str(
        error.value
    )
