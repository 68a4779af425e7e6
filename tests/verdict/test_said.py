"""What answers said, read off their bytes: of each wire, whole and streamed, and cut anywhere."""

import pytest

from scenarios_app.verdict.session import said
from tests.verdict.dialects import DIALECTS, Gemini, Talk
from tests.verdict.scripts import step
from tests.verdict.world import World

TEXT = "One two three “four” five.\nSix \u2028 seven."
ANSWER = {
    "reasoning": "Think first.",
    "text": TEXT,
    "tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}],
}
PATH = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"


class GeminiEvents(Gemini):
    path = PATH
    streams = True


def asked(talk: Talk, *, stream: bool) -> str:
    world = World({"name": "s", "steps": [step("s", produce=ANSWER)]})
    talk.user("[s] question")
    return world.ask(talk.path, talk.body(stream=stream)).body.decode()


@pytest.mark.parametrize("dialect", [*DIALECTS, GeminiEvents])
@pytest.mark.parametrize("stream", [False, True])
def test_an_answers_text_is_read_without_thinking_or_calls(
    dialect: type[Talk], stream: bool
) -> None:
    assert said(asked(dialect(), stream=stream)) == TEXT


@pytest.mark.parametrize("dialect", [one for one in DIALECTS if one.streams])
def test_of_a_stream_that_was_cut_the_text_that_came_is_read(dialect: type[Talk]) -> None:
    body = asked(dialect(), stream=True)
    found = {said(body[:end]) for end in range(0, len(body), 7)}
    assert all(TEXT.startswith(text) for text in found)
    assert len(found) > 2


@pytest.mark.parametrize("body", ["", "\n\n", "data: ", "no JSON", "[" * 5_000, "3", "null", "{}"])
def test_what_is_no_answer_says_nothing(body: str) -> None:
    assert said(body) == ""


def test_of_several_choices_the_first_is_read() -> None:
    first, second = ({"choices": [{"index": n, "delta": {"content": str(n)}}]} for n in (0, 1))
    assert said(f"data: {first}\n\ndata: {second}\n\n".replace("'", '"')) == "0"
