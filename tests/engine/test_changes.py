"""Changes of a session's numbered answers; a struck step stays for a retry."""

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


def make_request(text: str = "hi", **keys: Any) -> CanonicalRequest:
    message = Message("user", (TextPart(text),))
    return CanonicalRequest(
        provider="openai",
        path="/v1/chat/completions",
        route="/v1/chat/completions",
        model="m",
        messages=(message,),
        **keys,
    )


def make_response(*parts: AnswerPart) -> CanonicalResponse:
    return CanonicalResponse("id", 0, "m", (Choice(tuple(parts), "stop"),), Usage(1, 1))


def next_changed_answer(
    changes: AnswerChanges, session: str = "a", text: str = "hi"
) -> NumberedAnswer | None:
    return changes.next_if_changed(session, STEP, make_request(text), consume=True)


def test_changes_are_active_between_start_and_stop() -> None:
    changes = AnswerChanges()
    assert not changes.by_session
    changes.start(None, ())
    assert changes.by_session
    changes.stop(None)
    assert not changes.by_session


def test_change_strikes_the_answer_of_its_number_in_each_session() -> None:
    changes = AnswerChanges()
    changes.start(None, [Change(2, LIMIT)])
    assert next_changed_answer(changes) is None
    first = changes.next_answer("a", STEP, make_request())
    second = next_changed_answer(changes)
    assert second is not None and (first.number, second.number) == (1, 2)
    assert second.change_name == "rate_limit" and first.change_name == ""
    assert next_changed_answer(changes) is None and next_changed_answer(changes, "b") is None
    assert [answer.number for answer in changes.answers] == [1, 2]


def test_changes_of_a_session_replace_those_of_all_and_leave_other_sessions() -> None:
    changes = AnswerChanges()
    changes.start(None, [Change(1, LIMIT)])
    changes.next_answer("b", STEP, make_request())
    changes.start("a", [])
    assert next_changed_answer(changes) is None
    changes.next_answer("a", STEP, make_request())
    changes.start("a", [Change(1, LIMIT)])
    assert [answer.session for answer in changes.answers] == ["b"]
    assert next_changed_answer(changes) is not None
    changes.stop("a")
    assert next_changed_answer(changes) is not None, (
        "the change of all sessions is back, and numbers begin anew"
    )


def test_struck_step_is_consumed_once_by_the_next_other_request() -> None:
    changes = AnswerChanges()
    changes.start(None, [Change(1, LIMIT)])
    assert changes.pop_unconsumed_step("a", make_request()) is None
    next_changed_answer(changes)
    assert changes.pop_unconsumed_step("a", make_request()) is None, "the same request is a retry"
    assert changes.pop_unconsumed_step("b", make_request("more")) is None
    assert changes.pop_unconsumed_step("a", make_request("more")) == STEP
    assert changes.pop_unconsumed_step("a", make_request("more")) is None


def test_struck_step_that_was_consumed_is_given_back_once() -> None:
    changes = AnswerChanges()
    changes.start("a", [Change(1, LIMIT)])
    next_changed_answer(changes)
    assert changes.pop_consumed_step("a") is None, "it is not consumed yet"
    changes.pop_unconsumed_step("a", make_request("more"))
    assert changes.pop_consumed_step("b") is None
    assert (changes.pop_consumed_step("a"), changes.pop_consumed_step("a")) == (STEP, None)


@pytest.mark.parametrize("session", [None, "a"])
def test_end_of_changes_gives_no_step_back(session: str | None) -> None:
    changes = AnswerChanges()
    changes.start("a", [Change(1, LIMIT)])
    next_changed_answer(changes)
    changes.pop_unconsumed_step("a", make_request("more"))
    changes.stop(session)
    assert changes.pop_consumed_step("a") is None


def test_numbered_answer_has_the_tool_results_after_the_last_answer() -> None:
    old_result, new_result = (
        ToolResultPart("1", "f", "old"),
        ToolResultPart("2", "g", "new", is_error=True),
    )
    call = Message("assistant", (ToolCallPart("2", "g", "{}"),))
    messages = (Message("tool", (old_result,)), call, Message("tool", (new_result,)))
    request = msgspec.structs.replace(make_request(), messages=messages)
    changes = AnswerChanges()
    assert changes.next_answer("a", STEP, request).results == (new_result,)
    first_request = msgspec.structs.replace(make_request(), messages=messages[:1])
    assert changes.next_answer("a", STEP, first_request).results == (old_result,)


def test_step_with_consume_false_is_not_kept_for_a_retry() -> None:
    changes = AnswerChanges()
    changes.start(None, [Change(1, LIMIT)])
    changes.next_if_changed("a", STEP, make_request(), consume=False)
    assert changes.pop_unconsumed_step("a", make_request("more")) is None


def test_numbered_answer_keeps_the_text_and_calls_before_the_alteration() -> None:
    changes = AnswerChanges()
    changes.start(None, [Change(1, alteration="number")])
    numbered = next_changed_answer(changes)
    assert numbered is not None and numbered.change_name == "", "not applied yet"
    parts = (TextPart("It is 21."), ToolCallPart("", "f", "{}", namespace="ns"))
    altered = numbered.apply_alteration(make_response(*parts), make_request())
    assert altered.choices[0].parts[0] == TextPart("It is 2100.")
    assert (numbered.text, numbered.calls) == ("It is 21.", ("ns.f",))
    assert numbered.change_name == "number"
    assert (numbered.before, numbered.after) == ("21", "2100")
    assert Variant("number", 1, "21", "2100") in numbered.variants


def test_change_of_a_step_strikes_whenever_it_answers_and_is_consumed_as_usual() -> None:
    changes = AnswerChanges()
    changes.start(None, [Change(alteration="number", step="s/1", nth=2)])
    for _ in range(2):
        assert next_changed_answer(changes) is None
        numbered = changes.next_answer("a", STEP, make_request())
        altered = numbered.apply_alteration(make_response(TextPart("1 or 2")), make_request())
        assert altered.choices[0].parts == (TextPart("1 or 200"),)
        assert numbered.change_name == "number"
    other_answer = changes.next_answer("a", StepRef("s", "k2", "2"), make_request())
    assert other_answer.change is None
    assert changes.pop_unconsumed_step("a", make_request("more")) is None


def test_alteration_that_does_not_apply_leaves_the_answer() -> None:
    changes = AnswerChanges()
    changes.start(None, [Change(1, alteration="call_twice")])
    numbered = next_changed_answer(changes)
    assert numbered is not None
    response = make_response(TextPart("a"))
    assert (
        numbered.apply_alteration(response, make_request()) is response
        and numbered.change_name == ""
    )


def test_answer_without_an_alteration_is_only_noted() -> None:
    numbered = AnswerChanges().next_answer("a", STEP, make_request())
    response = make_response(TextPart("a"))
    assert numbered.apply_alteration(response, make_request()) is response and numbered.text == "a"
    response_without_choices = CanonicalResponse("id", 0, "m", (), Usage(1, 1))
    numbered_without_choices = AnswerChanges().next_answer("a", STEP, make_request())
    assert (
        numbered_without_choices.apply_alteration(response_without_choices, make_request())
        is response_without_choices
        and numbered_without_choices.variants == ()
    )


def test_fault_moves_into_the_part_that_its_change_names() -> None:
    fault = Fault("disconnect")
    parts = (TextPart("one two three"), ToolCallPart("", "f", '{"a":1}'), TextPart("x"))
    choices = make_response(*parts).choices

    def moved_after_chunks(inside: Any, words_per_chunk: int = 1) -> int:
        numbered = NumberedAnswer(
            "a", 1, "s", "1", "openai", True, change=Change(1, fault, inside=inside)
        )
        return numbered.move_fault(fault, choices, False, words_per_chunk).after_chunks

    assert (
        moved_after_chunks(""),
        moved_after_chunks("text"),
        moved_after_chunks("call"),
        moved_after_chunks("call", 9),
    ) == (1, 1, 4, 2)
    textless = NumberedAnswer(
        "a", 1, "s", "1", "openai", True, change=Change(1, fault, inside="text")
    )
    assert textless.move_fault(fault, make_response(*parts[1:2]).choices, False, 1) is fault
    assert textless.move_fault(fault, (), False, 1) is fault
    unchanged = NumberedAnswer("a", 1, "s", "1", "openai", True)
    assert unchanged.move_fault(fault, choices, False, 1) is fault


@pytest.mark.parametrize(("sequential", "after_chunks"), [(False, 2), (True, 4)])
def test_fault_moves_into_the_scripted_chunks_of_its_part(
    sequential: bool, after_chunks: int
) -> None:
    fault = Fault("disconnect")
    change = Change(1, fault, inside="call")
    numbered = NumberedAnswer("a", 1, "s", "1", "openai", True, change=change)
    parts = (TextPart("one two three"), ToolCallPart("", "f", "{}"))
    chunks = (Chunk(0, "one "), Chunk(1, "{}"), Chunk(0, "two "), Chunk(0, "three"))
    choices = (Choice(parts, "tool_calls", chunks=chunks),)
    assert numbered.move_fault(fault, choices, sequential, 9).after_chunks == after_chunks


def test_number_of_kept_answers_is_limited(monkeypatch: Any) -> None:
    monkeypatch.setattr(module, "MAX_ANSWERS", 2)
    changes = AnswerChanges()
    for _ in range(3):
        numbered = changes.next_answer("a", STEP, make_request())
    assert (numbered.number, len(changes.answers)) == (3, 2)


def test_numbered_answer_knows_tool_results_and_sockets() -> None:
    numbered = AnswerChanges().next_answer(
        "a", STEP, make_request(headers={"sec-websocket-key": "k"})
    )
    assert numbered.socket and numbered.results == ()


def test_decision_names_the_change_that_struck_its_answer() -> None:
    assert Decision("step", "match").change == ""
    changes = AnswerChanges()
    changes.start(None, [Change(1, LIMIT)])
    assert (
        Decision("failure", "match", numbered=next_changed_answer(changes)).change == "rate_limit"
    )


def test_fault_of_a_change_is_compiled_or_rejected_with_its_path() -> None:
    assert load_fault({"kind": "rate_limit"}) == LIMIT
    with pytest.raises(DocumentError, match=r"changes\[2\]\.fault\.kind: expected one of"):
        load_fault({"kind": "x"}, loc=("changes", 2, "fault"))
