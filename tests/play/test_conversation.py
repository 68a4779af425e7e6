"""Conversation documents: valid forms, and errors with their paths."""

import json
import re
from typing import Any

import pytest

from scenarios_app.engine.document import DocumentError
from scenarios_app.play.conversation import dump_play, load_conversation, read_play

SCENARIO = {"name": "s", "steps": [{"produce": {"text": "hi"}}]}


def read_error(value: Any) -> str:
    with pytest.raises(DocumentError) as caught:
        read_play(json.dumps(value).encode(), source="talk.json")
    return str(caught.value)


def test_file_holds_one_conversation_or_several() -> None:
    one = {"turns": [{"user": "Hello"}], "scenarios": [SCENARIO]}
    several = {"conversations": [{"turns": [{"user": "Hello"}]}], "scenarios": [SCENARIO]}
    assert read_play(json.dumps(one).encode()) == read_play(json.dumps(several).encode())


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ([], "turns: expected at least one"),
        ([{}], "turns[0]: expected one of user, tool_results, retry, request"),
        (
            [{"user": "a", "retry": True}],
            "turns[0]: expected one of user, tool_results, retry, request",
        ),
        ([{"retry": True}], "turns[0].retry: there was no request before"),
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
def test_invalid_turn_is_rejected_with_its_path(turns: list[Any], message: str) -> None:
    line = read_error({"turns": turns})
    assert re.match(r"talk\.json:1:\d+: ", line) and message in line


def test_unknown_provider_is_rejected_with_the_known_ones() -> None:
    message = read_error({"provider": "acme", "turns": [{"user": "a"}]})
    assert message.startswith(
        'talk.json:1:2: provider: "acme" is not known, expected one of openai'
    )


def test_invalid_json_is_rejected_with_its_position() -> None:
    with pytest.raises(DocumentError, match=r"talk.json:1:2: not valid JSON"):
        read_play(b"{", source="talk.json")


def test_conversation_is_dumped_as_it_was_loaded() -> None:
    document = {
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
    assert dump_play(load_conversation(document)) == document


def test_yaml_conversation_with_a_schema_is_read() -> None:
    text = "$schema: a\nturns: [{user: hi}]\nscenarios: [{$schema: a, name: s}]\n"
    play = read_play(text.encode(), source="talk.yaml")
    assert [turn.user for turn in play.conversations[0].turns] == ["hi"]
    assert "$schema" not in dump_play(play)
    with pytest.raises(DocumentError, match=r"talk.yml:2:14: scenarios\[0\].name: expected"):
        read_play(b"turns: [{user: hi}]\nscenarios: [{name: 5}]\n", source="talk.yml")
