"""Templates in texts and JSON arguments are filled up to the text limit."""

import gc
import json
from weakref import ref

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenarios_app.engine.canonical import Choice
from scenarios_app.engine.parts import (
    AnswerPart,
    Chunk,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
)
from scenarios_app.engine.producing.placeholders import PlaceholderFiller, TextTooLong, fill_choice
from scenarios_app.engine.scenario import ScriptedChoice

VALUES = {"city": 'Saint-"Louis"\n\\', "n": "3"}


def make_filler(limit: int = 1000, **values: str) -> PlaceholderFiller:
    return PlaceholderFiller(lambda: {**VALUES, **values}, limit)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (TextPart("in {{ city }}"), TextPart('in Saint-"Louis"\n\\')),
        (RefusalPart("not {{n}}"), RefusalPart("not 3")),
        (ReasoningPart("{{ n }}", "sig", "{{ n }}"), ReasoningPart("3", "sig", "{{ n }}")),
        (ToolCallPart("{{n}}", "get_{{ n }}", "{}"), ToolCallPart("{{n}}", "get_3", "{}")),
    ],
)
def test_every_kind_of_part_is_filled(part: AnswerPart, expected: AnswerPart) -> None:
    assert make_filler().fill_part(part) == expected


@pytest.mark.parametrize("part", [TextPart("x {y}"), ToolCallPart("id", "f", '{"a":{"b":1}}')])
def test_part_without_templates_is_returned_unchanged(part: AnswerPart) -> None:
    assert make_filler().fill_part(part) is part


def test_values_are_computed_once_and_only_for_a_template() -> None:
    computed: list[int] = []
    filler = PlaceholderFiller(lambda: computed.append(1) or VALUES, 1000)
    filler.fill_part(TextPart("plain"))
    assert not computed
    filler.fill_part(TextPart("{{ n }} {{ n }}"))
    filler.fill_part(ToolCallPart("id", "f", '{"a":"{{ n }}"}'))
    assert computed == [1]


def test_template_without_a_value_stays() -> None:
    assert PlaceholderFiller(dict, 10).fill_part(TextPart("{{ n }}")) == TextPart("{{ n }}")


def test_filler_is_freed_without_the_garbage_collector() -> None:
    filler = make_filler()
    filler.fill_part(TextPart("{{ n }}"))
    filler.fill_part(ToolCallPart("id", "f", '{"a":"{{ n }}"}'))
    filler_ref = ref(filler)
    gc.disable()
    try:
        del filler
        assert filler_ref() is None
    finally:
        gc.enable()


def test_values_in_json_arguments_are_escaped_and_nothing_else_changes() -> None:
    filled = make_filler().fill_json('{"city": "in {{ city }}!",  "count": 1e3, "{{ n }}": [true]}')
    assert filled == ('{"city": "in Saint-\\"Louis\\"\\n\\\\!",  "count": 1e3, "3": [true]}')
    assert json.loads(filled)["city"] == f"in {VALUES['city']}!"


def test_values_in_invalid_json_arguments_are_not_escaped() -> None:
    assert make_filler().fill_json('{"city": "{{ city }}') == '{"city": "Saint-"Louis"\n\\'
    assert make_filler().fill_json('{"count": {{ n }}}') == '{"count": 3}'


def test_arguments_nested_too_deep_are_filled_as_text() -> None:
    deep = "[" * 100_000
    assert make_filler().fill_json(deep + "{{ n }}") == deep + "3"


@given(st.text())
def test_json_arguments_hold_any_value(value: str) -> None:
    filled = make_filler(10**6, city=value).fill_json('{"a":["{{ city }}","-{{city}}-"]}')
    assert json.loads(filled) == {"a": [value, f"-{value}-"]}


def test_text_beyond_the_limit_is_an_error() -> None:
    assert make_filler(9, v="123").fill_part(TextPart("{{v}}{{v}}{{v}}")) == TextPart("123" * 3)
    with pytest.raises(TextTooLong):
        make_filler(8, v="123").fill_part(TextPart("{{v}}{{v}}{{v}}"))


def test_limit_applies_to_all_parts_together() -> None:
    filler = make_filler(8, v="123")
    filler.fill_part(TextPart("{{v}}"))
    filler.fill_part(ToolCallPart("id", "f", '{"a":"{{v}}"}'))
    with pytest.raises(TextTooLong):
        filler.fill_part(ReasoningPart("{{v}}"))


def test_each_chunk_is_filled_and_parts_are_joined_from_chunks() -> None:
    choice = ScriptedChoice(
        (TextPart("stale"), ToolCallPart("", "f_{{ n }}", "stale"), ReasoningPart("{{ n }}")),
        chunks=(
            Chunk(0, "n is {{ n }}"),
            Chunk(1, '{"city":"{{ city }}'),
            Chunk(0, " {{ n"),
            Chunk(1, '","n":{{n}}}'),
            Chunk(0, " }}"),
        ),
    )
    assert fill_choice(choice, make_filler()) == Choice(
        (
            TextPart("n is 3 {{ n }}"),
            ToolCallPart("", "f_3", '{"city":"Saint-"Louis"\n\\","n":3}'),
            ReasoningPart("3"),
        ),
        "tool_calls",
        chunks=(
            Chunk(0, "n is 3"),
            Chunk(1, '{"city":"Saint-"Louis"\n\\'),
            Chunk(0, " {{ n"),
            Chunk(1, '","n":3}'),
            Chunk(0, " }}"),
        ),
    )


def test_chunk_of_text_that_is_valid_json_is_not_escaped() -> None:
    text = '{"city": "{{ city }}"}'
    chunks = (Chunk(0, text),)
    scripted_choice = ScriptedChoice((TextPart(text),), chunks, "stop_sequence", "END")
    choice = fill_choice(scripted_choice, make_filler())
    filled_text = f'{{"city": "{VALUES["city"]}"}}'
    assert choice == Choice(
        (TextPart(filled_text),), "stop_sequence", "END", (Chunk(0, filled_text),)
    )


def test_a_chunk_that_holds_whole_json_arguments_stays_json() -> None:
    choice = ScriptedChoice(
        (ToolCallPart("id", "f", ""),), chunks=(Chunk(0, '{"city":"{{ city }}"}'),)
    )
    part = fill_choice(choice, make_filler()).parts[0]
    assert isinstance(part, ToolCallPart)
    assert json.loads(part.arguments) == {"city": VALUES["city"]}


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ((), "stop"),
        ((TextPart("a"),), "stop"),
        ((RefusalPart("a"),), "stop"),
        ((TextPart("a"), ToolCallPart("id", "f", "{}")), "tool_calls"),
    ],
)
def test_the_finish_reason_follows_from_the_content(
    parts: tuple[AnswerPart, ...], reason: str
) -> None:
    assert fill_choice(ScriptedChoice(parts), make_filler()).finish_reason == reason


def test_scripted_finish_reason_is_kept() -> None:
    choice = ScriptedChoice(
        (ToolCallPart("id", "f", "{}"),), finish_reason="stop_sequence", stop_sequence="END"
    )
    filled = fill_choice(choice, make_filler())
    assert (filled.finish_reason, filled.stop_sequence) == ("stop_sequence", "END")
