"""Answers are numbered by session; a change strikes one, and its step stays for a retry."""

from typing import Any

import msgspec
import pytest

from scenarios_app.engine import changes as module
from scenarios_app.engine.canonical import (
    CanonicalRequest,
    CanonicalResponse,
    Choice,
    Message,
    Usage,
)
from scenarios_app.engine.changes import AnswerChanges, Change, NumberedAnswer
from scenarios_app.engine.document import DocumentError, load_fault
from scenarios_app.engine.matching.select import Decision
from scenarios_app.engine.parts import AnswerPart, Chunk, TextPart, ToolCallPart, ToolResultPart
from scenarios_app.engine.producing.alterations import Variant
from scenarios_app.engine.scenario import Fault
from scenarios_app.engine.state import StepRef

STEP = StepRef("s", "k1", "1")
LIMIT = Fault("rate_limit")


def asked(text: str = "hi", **keys: Any) -> CanonicalRequest:
    message = Message("user", (TextPart(text),))
    return CanonicalRequest(
        provider="openai",
        path="/v1/chat/completions",
        route="/v1/chat/completions",
        model="m",
        messages=(message,),
        **keys,
    )


def response(*parts: AnswerPart) -> CanonicalResponse:
    return CanonicalResponse("id", 0, "m", (Choice(tuple(parts), "stop"),), Usage(1, 1))


def strike(changes: AnswerChanges, session: str = "a", text: str = "hi") -> NumberedAnswer | None:
    return changes.next_if_changed(session, STEP, asked(text), consume=True)


def test_no_session_has_changes_until_some_are_set_and_after_the_end() -> None:
    changes = AnswerChanges()
    assert not changes.by_session
    changes.start(None, ())
    assert changes.by_session
    changes.stop(None)
    assert not changes.by_session


def test_change_strikes_the_answer_of_its_number_in_each_session() -> None:
    changes = AnswerChanges()
    changes.start(None, [Change(2, LIMIT)])
    assert strike(changes) is None
    first = changes.next_answer("a", STEP, asked())
    second = strike(changes)
    assert second is not None and (first.number, second.number) == (1, 2)
    assert second.change_name == "rate_limit" and first.change_name == ""
    assert strike(changes) is None and strike(changes, "b") is None
    assert [answer.number for answer in changes.answers] == [1, 2]


def test_changes_of_a_session_replace_those_of_all_and_leave_other_sessions() -> None:
    changes = AnswerChanges()
    changes.start(None, [Change(1, LIMIT)])
    changes.next_answer("b", STEP, asked())
    changes.start("a", [])
    assert strike(changes) is None
    changes.next_answer("a", STEP, asked())
    changes.start("a", [Change(1, LIMIT)])
    assert [answer.session for answer in changes.answers] == ["b"]
    assert strike(changes) is not None
    changes.stop("a")
    assert strike(changes) is not None, "the change of all sessions is back, and numbers begin anew"


def test_struck_step_is_consumed_once_by_the_next_other_request() -> None:
    changes = AnswerChanges()
    changes.start(None, [Change(1, LIMIT)])
    assert changes.pop_unconsumed_step("a", asked()) is None
    strike(changes)
    assert changes.pop_unconsumed_step("a", asked()) is None, "the same request is a retry"
    assert changes.pop_unconsumed_step("b", asked("more")) is None
    assert changes.pop_unconsumed_step("a", asked("more")) == STEP
    assert changes.pop_unconsumed_step("a", asked("more")) is None


def test_struck_step_that_was_consumed_is_given_back_once() -> None:
    changes = AnswerChanges()
    changes.start("a", [Change(1, LIMIT)])
    strike(changes)
    assert changes.pop_consumed_step("a") is None, "it is not consumed yet"
    changes.pop_unconsumed_step("a", asked("more"))
    assert changes.pop_consumed_step("b") is None
    assert (changes.pop_consumed_step("a"), changes.pop_consumed_step("a")) == (STEP, None)


@pytest.mark.parametrize("session", [None, "a"])
def test_end_of_changes_gives_no_step_back(session: str | None) -> None:
    changes = AnswerChanges()
    changes.start("a", [Change(1, LIMIT)])
    strike(changes)
    changes.pop_unconsumed_step("a", asked("more"))
    changes.stop(session)
    assert changes.pop_consumed_step("a") is None


def test_numbered_answer_has_the_tool_results_after_the_last_answer() -> None:
    old, new = ToolResultPart("1", "f", "old"), ToolResultPart("2", "g", "new", is_error=True)
    call = Message("assistant", (ToolCallPart("2", "g", "{}"),))
    messages = (Message("tool", (old,)), call, Message("tool", (new,)))
    request = msgspec.structs.replace(asked(), messages=messages)
    changes = AnswerChanges()
    assert changes.next_answer("a", STEP, request).results == (new,)
    first = msgspec.structs.replace(asked(), messages=messages[:1])
    assert changes.next_answer("a", STEP, first).results == (old,)


def test_step_that_is_not_consumed_is_not_left_open() -> None:
    changes = AnswerChanges()
    changes.start(None, [Change(1, LIMIT)])
    changes.next_if_changed("a", STEP, asked(), consume=False)
    assert changes.pop_unconsumed_step("a", asked("more")) is None


def test_numbered_answer_says_what_the_answer_held_before_it_was_altered() -> None:
    changes = AnswerChanges()
    changes.start(None, [Change(1, alteration="number")])
    numbered = strike(changes)
    assert numbered is not None and numbered.change_name == "", "not applied yet"
    parts = (TextPart("It is 21."), ToolCallPart("", "f", "{}", namespace="ns"))
    altered = numbered.apply_alteration(response(*parts), asked())
    assert altered.choices[0].parts[0] == TextPart("It is 2100.")
    assert (numbered.text, numbered.calls) == ("It is 21.", ("ns.f",))
    assert numbered.change_name == "number"
    assert (numbered.before, numbered.after) == ("21", "2100")
    assert Variant("number", 1, "21", "2100") in numbered.variants


def test_change_of_a_step_strikes_whenever_it_answers_and_is_consumed_as_usual() -> None:
    changes = AnswerChanges()
    changes.start(None, [Change(alteration="number", step="s/1", nth=2)])
    for _ in range(2):
        assert strike(changes) is None
        numbered = changes.next_answer("a", STEP, asked())
        altered = numbered.apply_alteration(response(TextPart("1 or 2")), asked())
        assert altered.choices[0].parts == (TextPart("1 or 200"),)
        assert numbered.change_name == "number"
    other = changes.next_answer("a", StepRef("s", "k2", "2"), asked())
    assert other.change is None
    assert changes.pop_unconsumed_step("a", asked("more")) is None


def test_alteration_that_does_not_apply_leaves_the_answer() -> None:
    changes = AnswerChanges()
    changes.start(None, [Change(1, alteration="call_twice")])
    numbered = strike(changes)
    assert numbered is not None
    before = response(TextPart("a"))
    assert numbered.apply_alteration(before, asked()) is before and numbered.change_name == ""


def test_answer_without_an_alteration_is_only_noted() -> None:
    numbered = AnswerChanges().next_answer("a", STEP, asked())
    before = response(TextPart("a"))
    assert numbered.apply_alteration(before, asked()) is before and numbered.text == "a"
    none = CanonicalResponse("id", 0, "m", (), Usage(1, 1))
    empty = AnswerChanges().next_answer("a", STEP, asked())
    assert empty.apply_alteration(none, asked()) is none and empty.variants == ()


def test_fault_moves_into_the_part_that_its_change_names() -> None:
    cut = Fault("disconnect")
    parts = (TextPart("one two three"), ToolCallPart("", "f", '{"a":1}'), TextPart("x"))
    choices = response(*parts).choices

    def after(inside: Any, words: int = 1) -> int:
        numbered = NumberedAnswer(
            "a", 1, "s", "1", "openai", True, change=Change(1, cut, inside=inside)
        )
        return numbered.move_fault(cut, choices, False, words).after_chunks

    assert (after(""), after("text"), after("call"), after("call", 9)) == (1, 1, 4, 2)
    textless = NumberedAnswer(
        "a", 1, "s", "1", "openai", True, change=Change(1, cut, inside="text")
    )
    assert textless.move_fault(cut, response(*parts[1:2]).choices, False, 1) is cut
    assert textless.move_fault(cut, (), False, 1) is cut
    unchanged = NumberedAnswer("a", 1, "s", "1", "openai", True)
    assert unchanged.move_fault(cut, choices, False, 1) is cut


@pytest.mark.parametrize(("sequential", "after_chunks"), [(False, 2), (True, 4)])
def test_fault_moves_into_the_scripted_chunks_of_its_part(
    sequential: bool, after_chunks: int
) -> None:
    cut = Fault("disconnect")
    change = Change(1, cut, inside="call")
    numbered = NumberedAnswer("a", 1, "s", "1", "openai", True, change=change)
    parts = (TextPart("one two three"), ToolCallPart("", "f", "{}"))
    chunks = (Chunk(0, "one "), Chunk(1, "{}"), Chunk(0, "two "), Chunk(0, "three"))
    choices = (Choice(parts, "tool_calls", chunks=chunks),)
    assert numbered.move_fault(cut, choices, sequential, 9).after_chunks == after_chunks


def test_a_client_that_never_stops_does_not_fill_the_memory(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "MAX_ANSWERS", 2)
    changes = AnswerChanges()
    for _ in range(3):
        numbered = changes.next_answer("a", STEP, asked())
    assert (numbered.number, len(changes.answers)) == (3, 2)


def test_numbered_answer_knows_tool_results_and_sockets() -> None:
    numbered = AnswerChanges().next_answer("a", STEP, asked(headers={"sec-websocket-key": "k"}))
    assert numbered.socket and numbered.results == ()


def test_decision_names_the_change_that_struck_its_answer() -> None:
    assert Decision("step", "match").change == ""
    changes = AnswerChanges()
    changes.start(None, [Change(1, LIMIT)])
    assert Decision("failure", "match", numbered=strike(changes)).change == "rate_limit"


def test_fault_of_no_step_is_compiled_or_refused_with_its_place() -> None:
    assert load_fault({"kind": "rate_limit"}) == LIMIT
    with pytest.raises(DocumentError, match=r"changes\[2\]\.fault\.kind: expected one of"):
        load_fault({"kind": "x"}, loc=("changes", 2, "fault"))
