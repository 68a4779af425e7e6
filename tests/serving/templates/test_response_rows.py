"""The journal's rows of prepared answers hold no secret either, though nobody looks again."""

import pytest

from scenarios_app.journal.entry import row_of
from scenarios_app.serving.playback import Answer
from tests.serving.pipelines import Playing, chat, says, scenario
from tests.serving.templates.test_templates import each_time

NAMED = '{"api_key": "sk-abcdefghijklmnop"}'


async def rows(playing: Playing, *, stream: bool) -> list[tuple[str, str]]:
    """What rows show of five answers to the same request."""
    for _ in range(5):
        await playing.ask(chat(stream=stream))
    found = [row_of(entry, body_bytes=65_536) for entry in playing.journal]
    return [(row.answered, row.response_text) for row in found]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("text", ["Hi there!", NAMED, f"See {NAMED}", "The key is a token."])
async def test_rows_are_those_of_answers_that_are_encoded_each_time(
    text: str, stream: bool
) -> None:
    prepared, fresh = Playing(scenario("s", says(text))), Playing(scenario("s", says(text)))
    each_time(fresh)
    assert await rows(prepared, stream=stream) == await rows(fresh, stream=stream)
    assert [entry.response_plain for entry in fresh.journal] == [False] * 5
    plain = [False, False, *[NAMED not in text] * 3]
    assert [entry.response_plain for entry in prepared.journal] == plain


@pytest.mark.parametrize("stream", [False, True])
async def test_a_named_secret_is_masked_in_each(stream: bool) -> None:
    playing = Playing(scenario("s", says(NAMED)))
    shown = await rows(playing, stream=stream)
    assert len(shown) == 5
    assert not any("abcdefghijkl" in body for _, body in shown)


async def test_a_stream_that_was_made_to_end_is_looked_through() -> None:
    slow = says("a b c")
    slow["produce"]["pacing"] = {"chunk_ms": 1, "words_per_chunk": 1}
    playing = Playing(scenario("s", slow))
    for _ in range(4):
        answer: Answer = await playing.pipeline.answer(chat(stream=True))
        answer.finish(early=True)
    assert [entry.response_plain for entry in playing.journal] == [False] * 4
