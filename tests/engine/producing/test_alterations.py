"""Alterations change one thing of an answer, or nothing if it does not apply."""

from typing import Any

import msgspec
import pytest

from scenarios_app.engine.canonical import (
    CanonicalRequest,
    Choice,
    FinishReason,
    JsonFormat,
    Message,
    Tool,
)
from scenarios_app.engine.document.scenario import EquivalentChangesDocument
from scenarios_app.engine.document.schema_maker import json_schema
from scenarios_app.engine.parts import (
    AnswerPart,
    Chunk,
    Citation,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    produced_text,
)
from scenarios_app.engine.producing.alterations import (
    ALTERATIONS,
    MAX_VARIANTS,
    OTHER_LANGUAGE,
    REFUSAL,
    UNKNOWN_TOOL,
    Variant,
    alter,
    difference,
    variants_of,
)


def call(arguments: str, name: str = "pay", **keys: Any) -> ToolCallPart:
    return ToolCallPart(keys.pop("id", "c1"), name, arguments, **keys)


def choice(*parts: AnswerPart, finish: FinishReason = "stop", **keys: Any) -> Choice:
    return Choice(tuple(parts), finish, **keys)


TEXT = choice(ReasoningPart("hm"), TextPart("We refund 19.00 euros to Anna."))
CALL = choice(TextPart("One moment."), call('{"to":"Anna","sum":19}'), finish="tool_calls")
CALLS = choice(call('{"n":1}'), call('{"n":2}', "log", id="c2"), finish="tool_calls")


REQUEST = CanonicalRequest("openai", "/", "/", "m")


def request_with_results(*results: str, **keys: Any) -> CanonicalRequest:
    """Return a request with these tool results."""
    parts = tuple(ToolResultPart("c1", "f", result) for result in results)
    return msgspec.structs.replace(REQUEST, messages=(Message("tool", parts),), **keys)


def alter_first_choice(
    name: str, before: Choice, nth: int = 1, request: CanonicalRequest = REQUEST
) -> tuple[list[str], str] | None:
    """Return texts, calls and finish reason after an alteration, or None if it does not apply."""
    choices = alter(name, [before], request, nth=nth)
    if choices is None:
        return None
    (after,) = choices
    return list(map(produced_text, after.parts)), after.finish_reason


def alter_each_place(name: str, before: Choice, request: CanonicalRequest = REQUEST) -> list[str]:
    """Return the altered answer for each place where the alteration applies, as text."""
    return [
        " ".join(map(produced_text, choice.parts))
        for choice in ALTERATIONS[name].apply(before, request)
    ]


CASES: list[tuple[str, Choice, Any]] = [
    ("empty_answer", CALL, ([], "stop")),
    ("max_tokens", TEXT, (["hm", "We refund 19.00"], "length")),
    ("max_tokens", choice(TextPart("a")), None),
    ("max_tokens", choice(TextPart("    a")), None),
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
    ("number", choice(TextPart("9" * 5000)), (["1"], "stop")),
    ("number", choice(TextPart(f"{'9' * 400}.5")), (["1"], "stop")),
    ("number", choice(TextPart("[" * 100_000 + " 7")), (["[" * 100_000 + " 700"], "stop")),
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
    ("argument", choice(call('{"a":1e307}')), (['pay{"a":1}'], "stop")),
    ("argument", choice(call('{"a":[-1e999]}')), (['pay{"a":[1]}'], "stop")),
    ("argument", choice(call(f'{{"a":{"9" * 4299}}}')), (['pay{"a":1}'], "stop")),
    ("argument", choice(call("[" * 100_000)), None),
    ("argument", choice(call('{"a":' * 3000 + "1" + "}" * 3000)), None),
    ("no_argument", CALL, (["One moment.", 'pay{"sum":19}'], "tool_calls")),
    ("no_argument", choice(call("ls", custom=True)), None),
    ("no_argument", choice(call("{}")), None),
    ("call_order", CALLS, (['log{"n":2}', 'pay{"n":1}'], "tool_calls")),
    ("call_order", CALL, None),
    ("no_call", CALLS, (['log{"n":2}'], "tool_calls")),
    ("no_call", CALL, (["One moment."], "stop")),
    ("no_call", TEXT, None),
    ("language", TEXT, (["hm", OTHER_LANGUAGE], "stop")),
]


@pytest.mark.parametrize(("name", "before", "after"), CASES)
def test_alteration_changes_one_thing(name: str, before: Choice, after: Any) -> None:
    assert alter_first_choice(name, before) == after


PLACES: list[tuple[str, Choice, list[str]]] = [
    ("argument", choice(call("ls", custom=True)), ["payls altered"]),
    (
        "number",
        choice(TextPart("1,900 of 2,"), TextPart("3 x4")),
        ["190000 of 2, 3 x4", "1,900 of 200, 3 x4", "1,900 of 2, 300 x4"],
    ),
    ("number", choice(TextPart("[1,2]")), ["[100,2]"]),
    ("number", choice(TextPart('{"a": 1}')), []),
    ("number", choice(TextPart("1", is_json=True)), []),
    ("name", choice(TextPart("Is Paris by Rome?")), ["Is Sirap by Rome?", "Is Paris by Emor?"]),
    (
        "field",
        choice(TextPart('{"a":1,"b":["x",null]}')),
        ['{"a":100,"b":["x",null]}', '{"a":1,"b":["xs",null]}'],
    ),
    (
        "argument",
        CALL,
        ['One moment. pay{"to":"Annas","sum":19}', 'One moment. pay{"to":"Anna","sum":1900}'],
    ),
    ("no_argument", CALL, ['One moment. pay{"sum":19}', 'One moment. pay{"to":"Anna"}']),
    ("no_call", CALLS, ['log{"n":2}', 'pay{"n":1}']),
    ("call_twice", CALLS, ['pay{"n":1} pay{"n":1} log{"n":2}', 'pay{"n":1} log{"n":2} log{"n":2}']),
    ("language", choice(TextPart('{"a": 1}'), TextPart(" ")), []),
]


@pytest.mark.parametrize(("name", "before", "places"), PLACES)
def test_alteration_applies_at_each_place_of_its_kind(
    name: str, before: Choice, places: list[str]
) -> None:
    assert alter_each_place(name, before) == places
    for nth, text in enumerate(places, 1):
        altered_answer = alter_first_choice(name, before, nth)
        assert altered_answer is not None and " ".join(altered_answer[0]) == text
    assert alter_first_choice(name, before, len(places) + 1) is None


@pytest.mark.parametrize(
    ("text", "results", "expected"),
    [
        (
            "It is 21 or 21.5 in Paris, 21!",
            ["Paris: 21"],
            ["It is 2100 or 21.5 in Paris, 2100!", "It is 21 or 21.5 in Sirap, 21!"],
        ),
        ("Paris is sunny.", ["lonDon"], []),
        ("The order is shipped.", ["state: shipped", "x"], ["The order is not shipped."]),
        ("Fine.", [], []),
    ],
)
def test_contradiction_changes_what_the_text_repeats_of_the_results(
    text: str, results: list[str], expected: list[str]
) -> None:
    assert (
        alter_each_place("result", choice(TextPart(text)), request_with_results(*results))
        == expected
    )


STATE_SCHEMA = {
    "type": "object",
    "properties": {"state": {"anyOf": [{"enum": ["open", "done"]}]}, "n": {"maximum": 9}},
}


def test_field_and_argument_stay_valid_by_their_schemas() -> None:
    json_answer = choice(TextPart('{"state":"open","n":1}'))
    json_request = msgspec.structs.replace(
        REQUEST, json=JsonFormat(STATE_SCHEMA, "response_format")
    )
    assert alter_each_place("field", json_answer, json_request) == ['{"state":"done","n":1}']
    tools_request = msgspec.structs.replace(
        REQUEST, tools=(Tool("log"), Tool("pay", schema=STATE_SCHEMA), Tool("pay", namespace="n"))
    )
    with_call = choice(call('{"state":"done"}'))
    assert alter_each_place("argument", with_call, tools_request) == ['pay{"state":"open"}']
    assert alter_each_place("argument", with_call) == ['pay{"state":"Enod"}']


def test_broken_schema_restricts_nothing() -> None:
    json_request = msgspec.structs.replace(REQUEST, json=JsonFormat({"type": 7}, "response_format"))
    assert alter_each_place("field", choice(TextPart('{"n":1}')), json_request) == ['{"n":100}']


def test_variants_are_distinct_and_limited() -> None:
    variants = list(variants_of(choice(TextPart("It is 21.")), request_with_results("21")))
    assert variants == [
        Variant("empty_answer", 1, "It is 21.", ""),
        Variant("refusal", 1, "It is 21", REFUSAL.rstrip(".")),
        Variant("result", 1, "21", "2100"),
        Variant("language", 1, "It is 21", OTHER_LANGUAGE.rstrip(".")),
    ], "`number` is the same as `result`"
    answer_with_numbers = choice(TextPart(" and ".join(map(str, range(50)))))
    numbers = [
        variant
        for variant in variants_of(answer_with_numbers, REQUEST)
        if variant.alteration == "number"
    ]
    assert len(numbers) == MAX_VARIANTS


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (CALL, choice(TextPart("One moment."), call('{"to":"Anna"}')), ("sum=19", "")),
        (choice(call("ls", custom=True)), choice(call("rm", custom=True)), ("ls", "rm")),
        (choice(call("{")), choice(call("")), ("{", "")),
        (TEXT, TEXT, ("", "")),
        (
            CALLS,
            choice(*reversed(CALLS.parts), finish="tool_calls"),
            ("pay(n=1) log(n=2)", "log(n=2) pay(n=1)"),
        ),
        (choice(RefusalPart("x" * 200)), choice(), (f"{'x' * 119}…", "")),
    ],
)
def test_difference_is_the_text_between_common_words(
    first: Choice, second: Choice, expected: tuple[str, str]
) -> None:
    assert difference(first, second) == expected


def test_every_alteration_has_a_case_and_a_readable_name() -> None:
    assert {case[0] for case in CASES} | {"result"} == set(ALTERATIONS)
    assert all(alteration.words for alteration in ALTERATIONS.values())


def test_steps_can_declare_every_alteration_that_a_model_could_make_equivalent() -> None:
    possible = [name for name, alteration in ALTERATIONS.items() if not alteration.broken]
    assert list(EquivalentChangesDocument.model_fields) == possible
    keys = json_schema()["$defs"]["EquivalentChangesDocument"]["properties"]
    assert all(ALTERATIONS[name].words in key["description"] for name, key in keys.items())


def test_only_the_first_choice_is_altered_and_an_answer_without_choices_is_not() -> None:
    choices = alter("refusal", [TEXT, TEXT], REQUEST)
    assert choices is not None and choices[1] is TEXT
    assert alter("refusal", [], REQUEST) is None


def test_altered_text_loses_its_scripted_chunks_and_citations() -> None:
    cited_text = TextPart("a 1", citations=(Citation(url="u"),))
    choices = alter("number", [choice(cited_text, chunks=(Chunk(0, "a"), Chunk(0, " 1")))], REQUEST)
    assert choices is not None and choices[0].chunks is None
    assert choices[0].parts == (TextPart("a 100"),)
