"""Alterations change one thing of an answer, and leave an answer alone that has nothing of it."""

from typing import Any

import pytest

from scenarios_app.engine.canonical import Choice, FinishReason
from scenarios_app.engine.parts import (
    AnswerPart,
    Chunk,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    produced_text,
)
from scenarios_app.engine.producing.alterations import (
    ALTERATIONS,
    OTHER_LANGUAGE,
    REFUSAL,
    UNKNOWN_TOOL,
    alter,
)


def call(arguments: str, name: str = "pay", **keys: Any) -> ToolCallPart:
    return ToolCallPart(keys.pop("id", "c1"), name, arguments, **keys)


def choice(*parts: AnswerPart, finish: FinishReason = "stop", **keys: Any) -> Choice:
    return Choice(tuple(parts), finish, **keys)


TEXT = choice(ReasoningPart("hm"), TextPart("We refund 19.00 euros to Anna."))
CALL = choice(TextPart("One moment."), call('{"to":"Anna","sum":19}'), finish="tool_calls")
CALLS = choice(call('{"n":1}'), call('{"n":2}', "log", id="c2"), finish="tool_calls")


def altered(name: str, before: Choice) -> Any:
    """Return what the alteration makes: texts, calls and the finish reason; None for nothing."""
    choices = alter(name, [before])
    if choices is None:
        return None
    (after,) = choices
    return list(map(produced_text, after.parts)), after.finish_reason


CASES: list[tuple[str, Choice, Any]] = [
    ("empty_answer", CALL, ([], "stop")),
    ("max_tokens", TEXT, (["hm", "We refund 19.00"], "length")),
    ("max_tokens", choice(TextPart("a")), None),
    ("max_tokens", CALLS, None),
    ("refusal", CALL, ([REFUSAL], "stop")),
    ("broken_arguments", CALLS, (['pay{"n":1', 'log{"n":2}'], "tool_calls")),
    ("broken_arguments", choice(call("x")), None),
    ("broken_arguments", TEXT, None),
    ("unknown_tool", CALLS, ([f'{UNKNOWN_TOOL}{{"n":1}}', 'log{"n":2}'], "tool_calls")),
    ("unknown_tool", TEXT, None),
    ("call_twice", CALLS, (['pay{"n":1}', 'pay{"n":1}', 'log{"n":2}'], "tool_calls")),
    ("call_twice", choice(call("{}", id="")), (["pay{}", "pay{}"], "stop")),
    ("call_twice", TEXT, None),
    ("wrong_finish", CALLS, (['pay{"n":1}', 'log{"n":2}'], "stop")),
    ("wrong_finish", TEXT, (["hm", "We refund 19.00 euros to Anna."], "tool_calls")),
    ("number", TEXT, (["hm", "We refund 1900 euros to Anna."], "stop")),
    ("number", choice(TextPart("0 of v1.2.3")), (["1 of v1.2.3"], "stop")),
    ("number", choice(TextPart("0.125 l")), (["12.5 l"], "stop")),
    ("number", choice(TextPart("none")), None),
    ("number", CALLS, None),
    ("name", TEXT, (["hm", "We refund 19.00 euros to Annas."], "stop")),
    ("name", choice(TextPart("It is Paris.")), (["It is Sirap."], "stop")),
    ("name", choice(TextPart("Nobody")), None),
    ("field", choice(TextPart('{"ok": true}')), (['{"ok":false}'], "stop")),
    ("field", choice(TextPart("[1]")), None),
    ("field", choice(TextPart("{}")), None),
    ("argument", CALL, (["One moment.", 'pay{"to":"Annas","sum":19}'], "tool_calls")),
    ("argument", choice(call('{"a":[{}, null, 2.5]}')), (['pay{"a":[{},null,250]}'], "stop")),
    ("argument", choice(call('{"a":""}')), (['pay{"a":"altered"}'], "stop")),
    ("argument", choice(call('{"a":null}')), None),
    ("argument", choice(call("{")), None),
    ("argument", choice(call("ls 5", custom=True)), (["payls 500"], "stop")),
    ("argument", choice(call("ls", custom=True)), (["payls altered"], "stop")),
    ("no_argument", CALL, (["One moment.", 'pay{"to":"Anna"}'], "tool_calls")),
    ("no_argument", choice(call("ls", custom=True)), None),
    ("no_argument", choice(call("{}")), None),
    ("call_order", CALLS, (['log{"n":2}', 'pay{"n":1}'], "tool_calls")),
    ("call_order", CALL, None),
    ("no_call", CALLS, (['pay{"n":1}'], "tool_calls")),
    ("no_call", CALL, (["One moment."], "stop")),
    ("no_call", TEXT, None),
    ("language", TEXT, (["hm", OTHER_LANGUAGE], "stop")),
]


@pytest.mark.parametrize(("name", "before", "after"), CASES)
def test_alteration_changes_one_thing(name: str, before: Choice, after: Any) -> None:
    assert altered(name, before) == after


def test_every_alteration_has_a_case_and_a_name_for_people() -> None:
    assert {case[0] for case in CASES} == set(ALTERATIONS)
    assert all(alteration.words for alteration in ALTERATIONS.values())


def test_only_the_first_choice_is_altered_and_an_answer_without_choices_is_not() -> None:
    choices = alter("refusal", [TEXT, TEXT])
    assert choices is not None and choices[1] is TEXT
    assert alter("refusal", []) is None


def test_scripted_chunks_go_with_the_parts_that_they_belong_to() -> None:
    chunked = choice(TextPart("a 1"), chunks=(Chunk(0, "a"), Chunk(0, " 1")))
    choices = alter("number", [chunked])
    assert choices is not None and choices[0].chunks is None
