"""The streamed text and the produced text of each kind of part."""

import json

import pytest

from scenarios_app.engine.canonical import Choice
from scenarios_app.engine.parts import (
    AnswerPart,
    Chunk,
    Citation,
    ReasoningPart,
    RefusalPart,
    ServerToolResultPart,
    ServerToolUsePart,
    TextPart,
    ToolCallPart,
    produced_text,
    streamed_text,
)
from scenarios_app.engine.producing.placeholders import PlaceholderFiller, fill_choice
from scenarios_app.engine.producing.plan import deltas_of
from scenarios_app.engine.producing.usage import count_output
from scenarios_app.engine.scenario import ScriptedChoice

USE = ServerToolUsePart("s1", "web_search", '{"query":"{{ city }}"}')
RESULT = ServerToolResultPart("s1", "web_search", '[{"url":"{{ city }}"}]')


@pytest.mark.parametrize(
    ("part", "streamed", "produced"),
    [
        (TextPart("text", (Citation("u", "a title", "cited"),)), "text", "text"),
        (ReasoningPart("thought", "signature"), "thought", "thought"),
        (RefusalPart("no"), "no", "no"),
        (ToolCallPart("c1", "f", "{}"), "{}", "f{}"),
        (USE, USE.input, f"web_search{USE.input}"),
        (RESULT, "", RESULT.content),
    ],
)
def test_part_streams_its_text_and_may_produce_more(
    part: AnswerPart, streamed: str, produced: str
) -> None:
    assert (streamed_text(part), produced_text(part)) == (streamed, produced)
    assert "".join(deltas_of(part, 1)) == streamed
    assert count_output([Choice((part,), "stop")]) == -(-len(produced) // 4)


def test_a_server_tools_input_streams_in_two_fragments_at_least() -> None:
    assert len(deltas_of(USE, 100)) == 2
    assert list(deltas_of(RESULT, 1)) == []


def test_server_tool_parts_are_filled_as_json() -> None:
    filling = PlaceholderFiller(lambda: {"city": 'the "city"'}, 1000)
    use, result = filling.fill_part(USE), filling.fill_part(RESULT)
    assert isinstance(use, ServerToolUsePart) and isinstance(result, ServerToolResultPart)
    assert json.loads(use.input) == {"query": 'the "city"'}
    assert "{{" not in result.content


def test_server_tool_parts_without_templates_stay_as_they_are() -> None:
    filling = PlaceholderFiller(dict, 1000)
    assert [filling.fill_part(USE), filling.fill_part(RESULT)] == [USE, RESULT]


def test_server_tool_part_ignores_scripted_chunks() -> None:
    scripted = ScriptedChoice((USE,), (Chunk(0, "another"),))
    assert fill_choice(scripted, PlaceholderFiller(dict, 1000)).parts == (USE,)
