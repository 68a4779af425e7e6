"""Sending messages: errors are reported before anything is stored, and repeats are sent once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from chat_app.api import event_stream as streaming
from chat_app.models import Conversation, Message, ModelProfile
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from tests.chat.api_client import UNKNOWN_ID, Api, error_of
from tests.chat.chat_helpers import scenario
from tests.chat.open_streams import open_stream
from tests.chat.scripts import ENDLESS
from tests.support.live_server import Live
from traces_app.models import Trace

SEND_PATH = "get_chat_response_stream"


def is_database_empty() -> bool:
    return not any(model.objects.exists() for model in (Conversation, Message, Trace))


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000"])
def test_an_empty_message_is_refused(live: Live, api: Api, text: str) -> None:
    response = api.post(SEND_PATH, message=text)
    assert error_of(response) == (400, "VALIDATION_ERROR", "message")
    assert response.json()["message"] == "Message cannot be empty"
    assert is_database_empty()


@pytest.mark.parametrize(
    "conversation_id", [UNKNOWN_ID, "nonsense", "", "\u0000", "' OR 1=1 --", "x" * 9_999]
)
def test_unknown_conversation_is_not_found(live: Live, api: Api, conversation_id: str) -> None:
    response = api.post(SEND_PATH, message="Hello", conversation_id=conversation_id)
    assert error_of(response) == (404, "NOT_FOUND", "conversation_id")
    assert response.json()["message"] == "Conversation not found"
    assert is_database_empty()


def test_conversation_of_another_client_is_not_found(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi"}))
    theirs = Api(live.base_url, "somebody else").send()
    response = api.post(SEND_PATH, message="Hello", conversation_id=theirs.conversation_id)
    assert error_of(response) == (404, "NOT_FOUND", "conversation_id")
    assert Message.objects.count() == 2


@pytest.mark.parametrize("name", ["nobody", "", "\u0000", "DEMO", "demo "])
def test_unknown_profile_is_not_found(live: Live, api: Api, name: str) -> None:
    response = api.post(SEND_PATH, message="Hello", profile=name)
    assert error_of(response) == (404, "NOT_FOUND", "profile")
    assert response.json()["message"] == "Profile not found"
    assert is_database_empty()


@pytest.mark.parametrize(
    ("columns", "message", "field"),
    [
        ({"model_id": ""}, "Model is required", "profile.model_id"),
        ({"model_id": "  "}, "Model is required", "profile.model_id"),
        ({"provider_id": ""}, "Provider is required", "profile.provider_id"),
    ],
)
def test_unusable_profile_is_refused(
    live: Live, api: Api, columns: dict[str, str], message: str, field: str
) -> None:
    """A program or a fixture may have stored such a profile without form validation."""
    good = {"provider_id": "openai", "model_id": "gpt-4o", "base_url": "mock:"}
    ModelProfile.objects.create(name="p", **good | columns)
    response = api.post(SEND_PATH, message="Hello", profile="p")
    assert error_of(response) == (400, "VALIDATION_ERROR", field)
    assert response.json()["message"] == message
    assert is_database_empty()


def test_a_profile_is_used_by_its_name(live: Live, api: Api) -> None:
    ModelProfile.objects.create(
        name="mine", provider_id="openai", model_id="gpt-9", base_url="mock:"
    )
    live.load(
        scenario({"text": "nine"}, name="nine", steps=[_model_step("nine", model="gpt-9")]),
        scenario({"text": "any"}, name="any"),
    )
    assert api.send(profile="mine").text == "nine"
    assert api.send(profile=None).text == "any"


def _model_step(text: str, *, model: str) -> dict[str, Any]:
    return {"match": {"model": {"equals": model}}, "produce": {"text": text}}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "client_id"),
        ({"client_id": "c"}, "message"),
        ({"client_id": "", "message": "x"}, "client_id"),
        ({"client_id": None, "message": "x"}, "client_id"),
        ({"client_id": 7, "message": "x"}, "client_id"),
        ({"client_id": "c" * 201, "message": "x"}, "client_id"),
        ({"client_id": "c\u0000", "message": "x"}, "client_id"),
        ({"client_id": "c", "message": 7}, "message"),
        ({"client_id": "c", "message": None}, "message"),
        ({"client_id": "c", "message": ["x"]}, "message"),
        ({"client_id": "c", "message": "a\u0000b"}, "message"),
        ({"client_id": "c", "message": "x", "conversation_id": 7}, "conversation_id"),
        ({"client_id": "c", "message": "x", "profile": {}}, "profile"),
        ({"client_id": "c", "message": "x", "client_message_id": 1}, "client_message_id"),
        ({"client_id": "c", "message": "x", "client_message_id": "m" * 201}, "client_message_id"),
        ({"client_id": "c", "message": "x", "msg": "y"}, "msg"),
        ([], None),
        ("text", None),
    ],
)
def test_malformed_body_is_refused_with_its_field(
    live: Live, api: Api, body: Any, field: str | None
) -> None:
    response = api.request("POST", SEND_PATH, json=body)
    assert error_of(response) == (400, "VALIDATION_ERROR", field)
    assert is_database_empty()


def test_message_during_a_run_is_a_conflict(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with open_stream(api) as first:
        response = api.post(SEND_PATH, message="And?", conversation_id=first.conversation_id)
        assert error_of(response) == (409, "CONFLICT", "conversation_id")
        assert Message.objects.count() == 1
        api.post("cancel_stream", trace_id=first.trace_id)
    live.load(scenario({"text": "Now."}))
    assert api.send("And?", conversation_id=first.conversation_id).text == "Now."


def test_the_same_client_message_id_gives_the_same_run(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Once."}))
    first = api.send("Hello", client_message_id="m1")
    again = api.send("Hello", client_message_id="m1")
    assert again.raw == first.raw
    assert (again.trace_id, again.conversation_id) == (first.trace_id, first.conversation_id)
    other = str(uuid4())
    assert api.send("Hello", client_message_id="m1", conversation_id=other).raw == first.raw
    assert (Message.objects.count(), Trace.objects.count()) == (2, 1)


def test_the_same_id_with_another_text_is_a_conflict(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Once."}))
    first = api.send("Hello", client_message_id="m1")
    response = api.post(SEND_PATH, message="Good bye", client_message_id="m1")
    assert error_of(response) == (409, "CONFLICT", "client_message_id")
    assert len(api.load_messages(first.conversation_id)) == 2


def test_another_client_may_use_the_same_id(live: Live, api: Api) -> None:
    live.load(scenario({"text": "One"}, {"text": "Two"}))
    first = api.send("Hello", client_message_id="m1")
    theirs = Api(live.base_url, "somebody else").send("Good bye", client_message_id="m1")
    assert theirs.conversation_id != first.conversation_id


@pytest.mark.parametrize("is_existing_conversation", [False, True])
def test_fifty_concurrent_identical_requests_make_one_message_and_one_run(
    live: Live, api: Api, is_existing_conversation: bool
) -> None:
    live.load(scenario({"text": "one two three four five", "pacing": {"words_per_chunk": 1}}))
    new = (
        api.post("new_conversation").json()["conversation_id"] if is_existing_conversation else None
    )
    fields = {"message": "Hello", "client_message_id": "m1", "conversation_id": new}
    with ThreadPoolExecutor(50) as pool:
        streams = list(pool.map(lambda _: api.send(**fields), range(50)))
    assert {stream.raw for stream in streams} == {streams[0].raw}
    assert streams[0].text == "one two three four five"
    assert {stream.trace_id for stream in streams} == {str(Trace.objects.get().pk)}
    assert Message.objects.count() == 2
    assert Conversation.objects.count() == 1
    assert sum("chat-" in row.session for row in _journal_rows()) == 1


def _journal_rows() -> list[ServedRequest]:
    assert journal.flush()
    return list(ServedRequest.objects.all())


def test_message_beyond_the_stream_limit_starts_no_run(live: Live, api: Api, settings: Any) -> None:
    live.load(scenario(ENDLESS))
    settings.MOCKLLM_MAX_STREAMS = 1
    with open_stream(api) as first:
        response = api.post(SEND_PATH, message="And?")
        assert error_of(response) == (503, "SERVICE_UNAVAILABLE", None)
        assert response.headers["retry-after"] == "1"
        assert error_of(api.get(f"stream/{first.trace_id}"))[0] == 503
        assert Message.objects.count() == 1
        api.post("cancel_stream", trace_id=first.trace_id)
        first.read_to_end()
    live.load(scenario({"text": "Now."}))
    assert api.send("And?").text == "Now."
    assert not streaming._open


def test_refused_message_uses_no_stream_slot(live: Live, api: Api, settings: Any) -> None:
    settings.MOCKLLM_MAX_STREAMS = 1
    for _ in range(3):
        assert api.post(SEND_PATH, message="").status_code == 400
        assert api.post(SEND_PATH, message="x", conversation_id=str(uuid4())).status_code == 404
    live.load(scenario({"text": "Here."}))
    assert api.send().text == "Here."
