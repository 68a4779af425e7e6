"""Journal rows of answers from templates contain no secret either."""

import pytest

from scenarios_app.engine.journal_entry import clean_entry
from scenarios_app.serving.exchange import head_of
from scenarios_app.serving.playback import Answer
from tests.serving.pipelines import Harness, chat, scenario, text_step
from tests.serving.templates.test_templates import PACED_STEP

SECRET_BODY = '{"api_key": "sk-abcdefghijklmnop"}'


async def rows(harness: Harness, *, stream: bool, fast: bool = True) -> list[tuple[str, str]]:
    """Return the answer texts and bodies in the rows of five equal requests."""
    for _ in range(5):
        await (harness.ask_fast if fast else harness.ask)(chat(stream=stream))
    journal_rows = [clean_entry(entry, body_bytes=65_536) for entry in harness.journal]
    return [(row.response_preview, row.response_body) for row in journal_rows]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "text", ["Hi there!", SECRET_BODY, f"See {SECRET_BODY}", "The key is a token."]
)
async def test_rows_are_those_of_answers_that_are_encoded_each_time(
    text: str, stream: bool
) -> None:
    with_templates, without = (
        Harness(scenario("s", text_step(text))),
        Harness(scenario("s", text_step(text))),
    )
    expected = await rows(without, stream=stream, fast=False)
    assert await rows(with_templates, stream=stream) == expected
    assert [entry.response_plain for entry in without.journal] == [False] * 5
    expected_plain = [False, *[SECRET_BODY not in text] * 4]
    assert [entry.response_plain for entry in with_templates.journal] == expected_plain


@pytest.mark.parametrize("stream", [False, True])
async def test_secret_under_a_known_name_is_masked_in_each_row(stream: bool) -> None:
    harness = Harness(scenario("s", text_step(SECRET_BODY)))
    row_texts = await rows(harness, stream=stream)
    assert len(row_texts) == 5
    assert not any("abcdefghijkl" in body for _, body in row_texts)


async def test_stream_that_ended_early_is_checked_for_secrets() -> None:
    harness, call = Harness(scenario("s", PACED_STEP)), chat(stream=True)
    for _ in range(4):
        answer = harness.short_path.answer(head_of(call), call)
        assert isinstance(answer, Answer)
        answer.finish(early=True)
    assert [entry.response_plain for entry in harness.journal] == [False] * 4
