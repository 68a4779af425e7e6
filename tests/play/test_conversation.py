"""Documents of conversations: what is read, and what is refused at which place."""

import json
from typing import Any

import pytest

from scenarios_app.engine.document import DocumentError
from scenarios_app.play.conversation import conversation_of, read_play, written

SCENARIO = {"name": "s", "steps": [{"produce": {"text": "hi"}}]}


def problem(value: Any) -> str:
    with pytest.raises(DocumentError) as caught:
        read_play(json.dumps(value).encode(), source="talk.json")
    return str(caught.value)


def test_a_file_holds_one_conversation_or_several() -> None:
    one = {"turns": [{"user": "Hello"}], "scenarios": [SCENARIO]}
    several = {"conversations": [{"turns": [{"user": "Hello"}]}], "scenarios": [SCENARIO]}
    assert read_play(json.dumps(one).encode()) == read_play(json.dumps(several).encode())


@pytest.mark.parametrize(
    ("turns", "told"),
    [
        ([], "turns: expected at least one"),
        ([{}], "turns[0]: expected one of user, tool_results, retry, request"),
        (
            [{"user": "a", "retry": True}],
            "turns[0]: expected one of user, tool_results, retry, request",
        ),
        ([{"retry": True}], "turns[0].retry: nothing was asked before"),
        ([{"user": 7}], "turns[0].user: expected a string"),
        ([{"tool_results": []}], "turns[0].tool_results: expected at least one"),
        (
            [{"user": "a", "expect": {"txt": "b"}}],
            'turns[0].expect.txt: unknown key, did you mean "text"?',
        ),
        (
            [{"user": "a", "expect": {"status": 99}}],
            "turns[0].expect.status: expected an HTTP status from 200 to 599",
        ),
        (
            [{"user": "a", "expect": {"text": {"regex": "(?=x)"}}}],
            "turns[0].expect.text.regex: not an RE2 pattern: look-ahead is not supported",
        ),
        (
            [{"request": {"path": "/nowhere"}}],
            "turns[0].request.path: no provider answers /nowhere",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(turns: list[Any], told: str) -> None:
    assert f"talk.json: {told}" in problem({"turns": turns})


def test_a_provider_that_is_not_known_is_told_with_those_that_are() -> None:
    told = problem({"provider": "acme", "turns": [{"user": "a"}]})
    assert told.startswith('talk.json: provider: "acme" is not known, expected one of openai')


def test_what_is_no_json_is_told() -> None:
    with pytest.raises(DocumentError, match=r"talk.json: not valid JSON, line 1 column 2"):
        read_play(b"{", source="talk.json")


def test_a_conversation_is_written_as_it_is_read() -> None:
    given = {
        "name": "n",
        "provider": "anthropic",
        "model": "claude",
        "stream": True,
        "system": "s",
        "tools": ["t"],
        "turns": [
            {"user": "a", "expect": {"text": "b", "tool_calls": [], "cut": False}},
            {"tool_results": [{"name": "t", "content": "c"}]},
            {"retry": True, "expect": {"status": 429}},
            {"request": {"path": "/v1/messages", "headers": {"x": "y"}, "body": {"a": [1]}}},
        ],
    }
    assert written(conversation_of(given)) == given
