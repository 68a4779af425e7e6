"""For which requests a recorded answer stands as it is."""

import pytest

from scenarios_app.engine.canonical import SentRequest, attach_sent
from scenarios_app.engine.document.answer import ProduceDocument
from scenarios_app.engine.recorded import RecordedAnswer
from tests.engine.asking import CHAT, ask


@pytest.mark.parametrize(
    ("recorded", "suits"),
    [
        (RecordedAnswer(), True),
        (RecordedAnswer(path=CHAT, stream=False), True),
        (RecordedAnswer(path="/v1/messages"), False),
        (RecordedAnswer(path=CHAT, stream=True), False),
        (RecordedAnswer(path=CHAT, stream=True, status=429), True),
    ],
)
def test_an_answer_suits_its_endpoint_and_way(recorded: RecordedAnswer, suits: bool) -> None:
    assert recorded.suits(ask("hi")) is suits


def test_unread_request_suits_any_recorded_answer() -> None:
    unread = attach_sent(ask("hi"), SentRequest("POST", {}, b"", unread=True))
    assert RecordedAnswer(path="/v1/files", stream=True).suits(unread)


def test_its_body_is_its_pieces() -> None:
    assert RecordedAnswer(chunks=((0.0, b"a"), (5.0, b"b"))).body == b"ab"


def test_an_answer_without_a_recording_is_none() -> None:
    assert not ProduceDocument(text="Hi!").is_unedited_recording
