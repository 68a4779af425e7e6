"""Properties of condition kinds, and registration of a new kind."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.conditions.base import Condition, Need, SubjectTextCondition
from scenarios_app.engine.conditions.match import CONDITION_KINDS
from scenarios_app.engine.conditions.request import (
    AnyTextCondition,
    ModelCondition,
    NamedTextCondition,
    SelectCondition,
    TurnCondition,
)
from scenarios_app.engine.conditions.subjects import RequestReader, Subject
from scenarios_app.engine.conditions.texts import TextCondition
from scenarios_app.engine.document import load_match
from scenarios_app.engine.shapes.fields import Number
from tests.engine.match_builders import build_match, chat_request, match_request, user_text_match


@dataclass(frozen=True, slots=True)
class WarmCondition(Condition):
    """A condition with only the members that are required."""

    key = "warmer_than"
    shape = Number | None
    meaning = "How warm the request must be."

    least: float

    @classmethod
    def compile(cls, value: float | None, place: str) -> Iterator[Condition]:
        if value is not None:
            yield cls(place, value)

    @classmethod
    def phrases(cls, value: Json) -> Iterator[str]:
        yield f"warmer than {value}"

    @property
    def expected(self) -> str:
        return f"more than {self.least:g}"

    def holds(self, reader: RequestReader) -> bool:
        return (reader.request.temperature or 0) > self.least

    def actual(self, reader: RequestReader) -> str:
        return str(reader.request.temperature)


@pytest.fixture
def warm() -> Iterator[None]:
    """Register `WarmCondition`, and remove it afterwards."""
    CONDITION_KINDS.append(WarmCondition)
    yield
    CONDITION_KINDS.remove(WarmCondition)


@pytest.mark.usefixtures("warm")
def test_registered_condition_is_matched_in_documents() -> None:
    match = load_match({"warmer_than": 0.5, "stream": False})
    assert match_request(match, chat_request(temperature=0.9)).matched
    mismatch_result = match_request(match, chat_request(temperature=0.1))
    assert [(m.field, m.expected, m.actual) for m in mismatch_result.mismatches] == [
        ("match.warmer_than", "more than 0.5", "0.1")
    ]
    assert mismatch_result.distance == 0.5


def test_minimal_condition_has_empty_defaults() -> None:
    condition, reader = (
        WarmCondition("match.warmer_than", 0.5),
        RequestReader(chat_request(temperature=1.0)),
    )
    assert (condition.needs, condition.group_names, condition.groups(reader)) == ((), (), {})
    assert not condition.implies(condition)
    assert not condition.excludes(condition)
    assert (
        condition.can_fail_next_turn,
        condition.requires_tool_result,
        condition.is_masked,
        condition.may_be_masked,
    ) == (False,) * 4
    assert list(condition.suspicions(())) == []
    assert condition.distance(reader) == 0.0


def test_conditions_tell_which_values_the_journal_masks() -> None:
    masks = {
        condition.field: (condition.is_masked, condition.may_be_masked, condition.needs_body)
        for condition in load_match(
            {
                "headers": {"Authorization": "Bearer x", "x-team": "qa"},
                "metadata": {"password": "x", "run": "1"},
                "tool_calls": [{"name": "f"}],
            }
        ).conditions
    }
    assert masks == {
        "match.headers.authorization": (True, False, False),
        "match.headers.x-team": (False, False, False),
        "match.metadata.password": (False, True, True),
        "match.metadata.run": (False, False, True),
        "match.tool_calls[0]": (False, True, True),
    }


def test_match_returns_its_alternatives_by_kind() -> None:
    text = TextCondition(equals="x")
    match = build_match(path=(text,), model=(text, text))
    assert (
        match.alternatives("path"),
        match.alternatives("model"),
        build_match().alternatives("path"),
    ) == ((text,), (text, text), ())
    assert match.with_turn(None) is match


@pytest.mark.parametrize(
    ("key", "value", "phrases"),
    [
        ("provider", ["openai", {"contains": "x"}], ["openai or contains “x”"]),
        ("model", "gpt", ["model gpt"]),
        ("path", 5, []),
        ("model", "m" * 40, [f"model {'m' * 40}"]),
        ("model", "m" * 41, [f"model {'m' * 39}…"]),
        ("model", f" {'m' * 38} m {'m' * 9}", [f"model {'m' * 38}…"]),
        ("model", "two\n  words", ["model two words"]),
        ("model", {"startswith": "a", "regex": "b"}, ["model starts with “a” and matches “b”"]),
        ("model", {"contains": "", "regex": 5}, []),
        ("stream", True, ["streamed"]),
        ("stream", False, ["not streamed"]),
        ("stream", "yes", []),
        ("messages", [{"role": "user", "which": 2, "regex": "a"}], ["user 2 matches “a”"]),
        ("messages", [{"role": "tool", "which": "first"}], ["has first tool result"]),
        ("messages", [{"role": "user", "which": "new", "equals": "a"}], ["new user is “a”"]),
        ("messages", [{"role": "user", "which": "any", "equals": "a"}], ["any user is “a”"]),
        (
            "messages",
            [{"role": "user", "contains": "a"}, "b"],
            ["user contains “a”", "message is “b”"],
        ),
        ("messages", {}, []),
        ("tools", ["a", "b", "c", "d" * 50, 5], ["offers a, b, c and 1 more"]),
        ("tools", ["a", "b", "c"], ["offers a, b, c"]),
        ("tools", [], []),
        ("tool_calls", [{"name": "f" * 50}, None], [f"called {'f' * 39}…", "called a tool"]),
        ("tool_results", ["sunny", {"name": "f"}], ["result is “sunny”", "result of f"]),
        ("headers", {"x-a": "1"}, ["header x-a"]),
        ("headers", "x-a", []),
        ("headers", 5, []),
        ("metadata", [], []),
    ],
)
def test_phrases_describe_valid_values_and_skip_invalid_ones(
    key: str, value: Any, phrases: list[str]
) -> None:
    (kind,) = [kind for kind in CONDITION_KINDS if kind.key == key]
    assert list(kind.phrases(value)) == phrases


def test_turn_has_a_phrase_and_select_has_none() -> None:
    assert list(TurnCondition.phrases(2)) == ["turn 2"]
    assert list(TurnCondition.phrases("2")) == []
    assert list(SelectCondition.phrases("x")) == []


def test_abstract_condition_does_not_read_texts() -> None:
    for family in (AnyTextCondition, NamedTextCondition):
        with pytest.raises(NotImplementedError):
            family.read_texts(chat_request(), Subject(family.read_texts))


def test_missing_text_is_described_by_its_key() -> None:
    empty_subject = Subject(lambda request, _: ())
    condition = ModelCondition("match.model", empty_subject, (TextCondition(equals="x"),))
    assert condition.actual(RequestReader(chat_request())) == "no model"
    assert condition.distance(RequestReader(chat_request())) == 1.0


def test_text_condition_needs_its_alternatives_and_is_unrelated_to_another_kind() -> None:
    (condition,) = user_text_match(contains="a").conditions
    assert isinstance(condition, SubjectTextCondition)
    assert condition.needs == (Need(condition.subject, condition.alternatives),)
    assert not condition.implies(WarmCondition("", 1))
    assert not condition.excludes(WarmCondition("", 1))
