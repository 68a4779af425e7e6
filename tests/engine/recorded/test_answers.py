"""Which requests a recorded answer suits."""

import pytest

from scenarios_app.engine.canonical import SentRequest, attach_sent
from scenarios_app.engine.document.answer import ProduceDocument
from scenarios_app.engine.recorded import RecordedAnswer
from tests.engine.match_builders import CHAT, chat_request


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
def test_recorded_answer_suits_its_endpoint_and_stream_mode(
    recorded: RecordedAnswer, suits: bool
) -> None:
    assert recorded.suits(chat_request("hi")) is suits


def test_unread_request_suits_any_recorded_answer() -> None:
    unread = attach_sent(chat_request("hi"), SentRequest("POST", {}, b"", unread=True))
    assert RecordedAnswer(path="/v1/files", stream=True).suits(unread)


def test_body_of_a_recorded_answer_joins_its_chunks() -> None:
    assert RecordedAnswer(chunks=((0.0, b"a"), (5.0, b"b"))).body == b"ab"


def test_answer_without_a_recording_is_no_unedited_recording() -> None:
    assert not ProduceDocument(text="Hi!").is_unedited_recording
