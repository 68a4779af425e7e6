"""Text of response bodies of each wire: complete, streamed, and cut anywhere."""

import pytest

from scenarios_app.verdict import session
from scenarios_app.verdict.judge import judge
from scenarios_app.verdict.session import response_text
from tests.verdict.dialects import DIALECTS, ApiConversation, Gemini, OpenAI
from tests.verdict.random_scenarios import step
from tests.verdict.simulated_server import SimulatedServer

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


def response_body(conversation: ApiConversation, *, stream: bool) -> str:
    server = SimulatedServer({"name": "s", "steps": [step("s", produce=ANSWER)]})
    conversation.add_user_message("[s] question")
    return server.ask(conversation.path, conversation.body(stream=stream)).body.decode()


@pytest.mark.parametrize("dialect", [*DIALECTS, GeminiEvents])
@pytest.mark.parametrize("stream", [False, True])
def test_response_text_excludes_reasoning_and_tool_calls(
    dialect: type[ApiConversation], stream: bool
) -> None:
    assert response_text(response_body(dialect(), stream=stream)) == TEXT


@pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS if dialect.streams])
def test_cut_stream_gives_the_text_up_to_there(dialect: type[ApiConversation]) -> None:
    body = response_body(dialect(), stream=True)
    texts = {response_text(body[:end]) for end in range(0, len(body), 7)}
    assert all(TEXT.startswith(text) for text in texts)
    assert len(texts) > 2


@pytest.mark.parametrize("body", ["", "\n\n", "data: ", "no JSON", "[" * 5_000, "3", "null", "{}"])
def test_body_that_is_no_response_gives_no_text(body: str) -> None:
    assert response_text(body) == ""


def test_response_text_is_that_of_the_first_choice() -> None:
    first, second = ({"choices": [{"index": n, "delta": {"content": str(n)}}]} for n in (0, 1))
    assert response_text(f"data: {first}\n\ndata: {second}\n\n".replace("'", '"')) == "0"


def test_each_response_is_parsed_once_however_many_conversations_continue_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = SimulatedServer({"name": "s", "steps": [step("s", produce={"text": TEXT})]})
    for _ in range(5):
        conversation = OpenAI()
        for _ in range(2):
            conversation.add_user_message("[s] question")
            server.ask(conversation.path, conversation.body(stream=True))
            conversation.add_reply(TEXT)
    bodies: list[str] = []

    def parse(body: str) -> str:
        bodies.append(body)
        return response_text(body)

    monkeypatch.setattr(session, "response_text", parse)
    assert judge(server.session()).findings == ()
    assert 0 < len(bodies) <= 5
