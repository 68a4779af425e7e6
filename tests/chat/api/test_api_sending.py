"""A message on its way in: what is wrong is said before anything is stored, and each message is
sent once, however often and at once it comes."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from chat_app.api import event_stream as streaming
from chat_app.models import Conversation, Message, ModelProfile
from scenarios_app.journal import journal
from scenarios_app.models import ServedRequest
from tests.chat.asking import NOBODYS, Api, error_of
from tests.chat.chatting import scenario
from tests.chat.open_streams import opened
from tests.chat.scripts import ENDLESS
from tests.support.live_server import Live
from traces_app.models import Trace

SEND = "get_chat_response_stream"


def nothing_is_stored() -> bool:
    return not any(model.objects.exists() for model in (Conversation, Message, Trace))


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u3000"])
def test_an_empty_message_is_refused(live: Live, api: Api, text: str) -> None:
    response = api.post(SEND, message=text)
    assert error_of(response) == (400, "VALIDATION_ERROR", "message")
    assert response.json()["message"] == "Message cannot be empty"
    assert nothing_is_stored()


@pytest.mark.parametrize("given", [NOBODYS, "nonsense", "", "\u0000", "' OR 1=1 --", "x" * 9_999])
def test_a_conversation_that_is_not_there_is_not_found(live: Live, api: Api, given: str) -> None:
    response = api.post(SEND, message="Hello", conversation_id=given)
    assert error_of(response) == (404, "NOT_FOUND", "conversation_id")
    assert response.json()["message"] == "Conversation not found"
    assert nothing_is_stored()


def test_anothers_conversation_is_not_found(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi"}))
    theirs = Api(live.base_url, "somebody else").send()
    response = api.post(SEND, message="Hello", conversation_id=theirs.conversation_id)
    assert error_of(response) == (404, "NOT_FOUND", "conversation_id")
    assert Message.objects.count() == 2


@pytest.mark.parametrize("name", ["nobody", "", "\u0000", "DEMO", "demo "])
def test_a_profile_that_is_not_there_is_not_found(live: Live, api: Api, name: str) -> None:
    response = api.post(SEND, message="Hello", profile=name)
    assert error_of(response) == (404, "NOT_FOUND", "profile")
    assert response.json()["message"] == "Profile not found"
    assert nothing_is_stored()


@pytest.mark.parametrize(
    ("columns", "message", "field"),
    [
        ({"model_id": ""}, "Model is required", "profile.model_id"),
        ({"model_id": "  "}, "Model is required", "profile.model_id"),
        ({"provider_id": ""}, "Provider is required", "profile.provider_id"),
    ],
)
def test_a_profile_that_cannot_be_used_is_refused(
    live: Live, api: Api, columns: dict[str, str], message: str, field: str
) -> None:
    """A program or a fixture may have stored it: no form was asked."""
    good = {"provider_id": "openai", "model_id": "gpt-4o", "base_url": "mock:"}
    ModelProfile.objects.create(name="p", **good | columns)
    response = api.post(SEND, message="Hello", profile="p")
    assert error_of(response) == (400, "VALIDATION_ERROR", field)
    assert response.json()["message"] == message
    assert nothing_is_stored()


def test_a_profile_is_used_by_its_name(live: Live, api: Api) -> None:
    ModelProfile.objects.create(
        name="mine", provider_id="openai", model_id="gpt-9", base_url="mock:"
    )
    live.load(
        scenario({"text": "nine"}, name="nine", steps=[_answer("nine", model="gpt-9")]),
        scenario({"text": "any"}, name="any"),
    )
    assert api.send(profile="mine").text == "nine"
    assert api.send(profile=None).text == "any"


def _answer(text: str, *, model: str) -> dict[str, Any]:
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
def test_a_body_of_another_form_is_refused_by_the_name_of_the_place(
    live: Live, api: Api, body: Any, field: str | None
) -> None:
    response = api.ask("POST", SEND, json=body)
    assert error_of(response) == (400, "VALIDATION_ERROR", field)
    assert nothing_is_stored()


def test_a_conversation_that_is_being_answered_takes_no_other_message(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with opened(api) as first:
        response = api.post(SEND, message="And?", conversation_id=first.conversation_id)
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
    response = api.post(SEND, message="Good bye", client_message_id="m1")
    assert error_of(response) == (409, "CONFLICT", "client_message_id")
    assert len(api.loaded(first.conversation_id)) == 2


def test_another_client_may_use_the_same_id(live: Live, api: Api) -> None:
    live.load(scenario({"text": "One"}, {"text": "Two"}))
    first = api.send("Hello", client_message_id="m1")
    theirs = Api(live.base_url, "somebody else").send("Good bye", client_message_id="m1")
    assert theirs.conversation_id != first.conversation_id


@pytest.mark.parametrize("begun", [False, True])
def test_fifty_identical_requests_at_once_make_one_message_and_one_run(
    live: Live, api: Api, begun: bool
) -> None:
    live.load(scenario({"text": "one two three four five", "pacing": {"words_per_chunk": 1}}))
    new = api.post("new_conversation").json()["conversation_id"] if begun else None
    send = {"message": "Hello", "client_message_id": "m1", "conversation_id": new}
    with ThreadPoolExecutor(50) as pool:
        streams = list(pool.map(lambda _: api.send(**send), range(50)))
    assert {stream.raw for stream in streams} == {streams[0].raw}
    assert streams[0].text == "one two three four five"
    assert {stream.trace_id for stream in streams} == {str(Trace.objects.get().pk)}
    assert Message.objects.count() == 2
    assert Conversation.objects.count() == 1
    assert sum("chat-" in row.session for row in _served()) == 1


def _served() -> list[ServedRequest]:
    assert journal.flush()
    return list(ServedRequest.objects.all())


def test_when_too_many_streams_are_open_nothing_is_begun(
    live: Live, api: Api, settings: Any
) -> None:
    live.load(scenario(ENDLESS))
    settings.MOCKLLM_MAX_STREAMS = 1
    with opened(api) as first:
        response = api.post(SEND, message="And?")
        assert error_of(response) == (503, "SERVICE_UNAVAILABLE", None)
        assert response.headers["retry-after"] == "1"
        assert error_of(api.get(f"stream/{first.trace_id}"))[0] == 503
        assert Message.objects.count() == 1
        api.post("cancel_stream", trace_id=first.trace_id)
        first.read()
    live.load(scenario({"text": "Now."}))
    assert api.send("And?").text == "Now."
    assert not streaming._open


def test_a_refused_message_takes_no_stream_from_others(live: Live, api: Api, settings: Any) -> None:
    settings.MOCKLLM_MAX_STREAMS = 1
    for _ in range(3):
        assert api.post(SEND, message="").status_code == 400
        assert api.post(SEND, message="x", conversation_id=str(uuid4())).status_code == 404
    live.load(scenario({"text": "Here."}))
    assert api.send().text == "Here."
