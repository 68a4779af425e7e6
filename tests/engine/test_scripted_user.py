"""Conversations of a scripted user: the next turn, the end, and checkpoints."""

from typing import Any

import pytest

from scenarios_app.engine.document import UserDocument, load_documents
from scenarios_app.engine.parts import ToolCallPart
from scenarios_app.engine.scripted_user import Checkpoint, Simulation

CALL = ToolCallPart("call_1", "refund", '{"order": 12, "reason": "late"}')


def script(*turns: Any, **keys: Any) -> UserDocument:
    (document,) = load_documents({"name": "a", "user": {"turns": list(turns), **keys}})
    assert document.user is not None
    return document.user


def play(
    user_document: UserDocument, *answers: str, calls: tuple[ToolCallPart, ...] = ()
) -> Simulation:
    """Play a script with these answers; the calls come with the last answer."""
    simulation = Simulation(user_document)
    for number, answer in enumerate(answers, 1):
        if simulation.next_message() is None:
            break
        simulation.add_answer(answer, calls if number == len(answers) else ())
    assert simulation.next_message() is None
    return simulation


def user_texts(simulation: Simulation) -> list[str]:
    return [turn.say for turn in simulation.turns]


def failed_checkpoints(simulation: Simulation) -> list[tuple[str, str]]:
    """Return name and actual value of the failed checkpoints."""
    turns = [checkpoint for turn in simulation.turns for checkpoint in turn.checkpoints]
    return [
        (checkpoint.name, checkpoint.actual)
        for checkpoint in (*turns, *simulation.checkpoints)
        if not checkpoint.ok
    ]


def test_turns_without_conditions_are_sent_in_order() -> None:
    simulation = play(script({"say": "a"}, {"say": "b"}), "1", "2")
    assert user_texts(simulation) == ["a", "b"]
    assert simulation.passed


def test_first_matching_turn_that_was_not_sent_is_next() -> None:
    condition = {"say": {"contains": "number"}}
    simulation = play(
        script({"when": condition, "say": "12"}, {"say": "refund"}, {"say": "bye"}),
        *("your number?", "your number, again?", "thanks"),
    )
    assert user_texts(simulation) == ["refund", "12", "bye"]
    assert simulation.passed


def test_repeated_turn_is_sent_again_and_is_optional() -> None:
    repeated_turn = {"when": {"say": {"contains": "?"}}, "say": "yes", "repeat": True}
    assert user_texts(play(script(repeated_turn, {"say": "go"}), "sure?", "really?", "done")) == [
        *("go", "yes", "yes"),
    ]
    assert play(script(repeated_turn, {"say": "go"}), "done").passed


def test_turn_with_end_ends_the_conversation_with_turns_left() -> None:
    simulation = play(script({"say": "a", "end": True}, {"say": "b"}), "1")
    assert user_texts(simulation) == ["a"]
    assert simulation.passed


def test_unsent_turn_fails_a_script_without_end() -> None:
    simulation = play(
        script(
            {"say": "a"}, {"when": {"say": {"contains": "number"}, "not_say": "no"}, "say": "b"}
        ),
        "Hello.",
    )
    (checkpoint,) = simulation.checkpoints
    wanted = 'turn 2 after say: contains "number" and not_say: equals "no"'
    assert checkpoint == Checkpoint("next", wanted, '"Hello."', ok=False)
    assert checkpoint.label == "next turn"
    assert not simulation.passed


def test_conversation_that_stops_before_its_end_fails() -> None:
    end_turn = {"when": {"say": "bye"}, "say": "b", "end": True, "repeat": True}
    simulation = play(script({"say": "a"}, end_turn), "Hello.")
    assert [(checkpoint.expected, checkpoint.ok) for checkpoint in simulation.checkpoints] == [
        ("a turn with end", False)
    ]


def test_more_turns_than_allowed_fail() -> None:
    repeated_turn = {"when": {"say": {"contains": "?"}}, "say": "yes", "repeat": True}
    simulation = play(script({"say": "go"}, repeated_turn, max_turns=3), "a?", "b?", "c?", "d?")
    assert user_texts(simulation) == ["go", "yes", "yes"]
    assert failed_checkpoints(simulation) == [("max_turns", 'the user has more to say: "yes"')]


def test_last_allowed_turn_may_end_the_conversation() -> None:
    assert play(script({"say": "a"}, {"say": "b"}, max_turns=2), "1", "2").passed


@pytest.mark.parametrize(
    ("must", "answer", "calls", "holds"),
    [
        ({"say": {"contains": "REFUND", "ignore_case": True}}, "your refund", (), True),
        ({"say": {"contains": "refund"}}, "your money", (), False),
        ({"not_say": {"regex": "[0-9]{4}"}}, "card 1234", (), False),
        ({"not_say": {"regex": "[0-9]{4}"}}, "card", (), True),
        ({"call": {"name": "refund", "arguments": {"order": 12}}}, "x", (CALL,), True),
        ({"call": {"name": "refund", "arguments": {"order": 13}}}, "x", (CALL,), False),
        ({"call": {"name": "refund"}}, "refund", (), False),
        ({"not_call": {"name": "refund"}}, "x", (CALL,), False),
        ({"not_call": {"name": "cancel"}}, "x", (CALL,), True),
        ({"say": "x", "call": {"name": "refund"}}, "x", (), False),
    ],
)
def test_checkpoint_of_a_turn_judges_its_answer(
    must: Any, answer: str, calls: tuple[ToolCallPart, ...], holds: bool
) -> None:
    simulation = play(script({"say": "a", "must": [must]}), answer, calls=calls)
    assert simulation.passed is holds


def test_checkpoint_names_expected_and_actual_value() -> None:
    must = [{"call": {"name": "refund"}, "not_say": "no"}]
    simulation = play(script({"say": "a", "must": must}), "no")
    assert simulation.turns[0].checkpoints == [
        Checkpoint("not_say", 'equals "no"', '"no"', ok=False),
        Checkpoint("call", 'call of "refund"', "no calls", ok=False),
    ]
    assert [checkpoint.label for checkpoint in simulation.turns[0].checkpoints] == [
        "must not say",
        "must have called",
    ]


def test_calls_of_earlier_answers_count_as_called() -> None:
    must = [{"call": {"name": "refund"}}]
    simulation = Simulation(script({"say": "a"}, {"say": "b", "must": must}))
    simulation.next_message()
    simulation.add_answer("1", [CALL])
    simulation.next_message()
    simulation.add_answer("2")
    assert simulation.passed


def test_texts_of_earlier_answers_are_not_the_answer() -> None:
    must = [{"say": {"contains": "1"}}]
    simulation = play(script({"say": "a"}, {"say": "b", "must": must}), "1", "2")
    assert failed_checkpoints(simulation) == [("say", '"2"')]


def test_checkpoint_of_the_conversation_judges_all_answers() -> None:
    must = [{"say": "1"}, {"not_say": "2"}]
    simulation = play(script({"say": "a"}, {"say": "b"}, must=must), "1", "2")
    assert failed_checkpoints(simulation) == [("not_say", '"1", "2"')]


def test_turn_matches_by_a_preceding_call() -> None:
    thanks_turn = {"when": {"call": {"name": "refund"}}, "say": "thanks"}
    simulation = Simulation(script({"say": "a"}, thanks_turn))
    simulation.next_message()
    simulation.add_answer("1", [CALL])
    assert simulation.next_message() == "thanks"


def test_missing_answer_ends_and_fails_the_conversation() -> None:
    simulation = Simulation(script({"say": "a"}, {"say": "b"}))
    simulation.next_message()
    simulation.fail("exit code 1")
    assert simulation.next_message() is None
    assert failed_checkpoints(simulation) == [("answer", "exit code 1")]
    assert not simulation.passed


@pytest.mark.parametrize(
    ("user_document", "needed"),
    [
        (script({"say": "a", "must": [{"say": "b"}]}, must=[{"not_say": "c"}]), False),
        (script({"say": "a", "must": [{"not_call": {"name": "b"}}]}), True),
        (script({"say": "a"}, {"say": "b", "when": {"call": {}}}), True),
        (script({"say": "a"}, must=[{"call": {"name": "b"}}]), True),
    ],
)
def test_script_with_call_conditions_needs_calls(user_document: UserDocument, needed: bool) -> None:
    assert user_document.needs_calls is needed
