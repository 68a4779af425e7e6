"""A run is cancelled once: it ends as such for everyone, and what it said until then is kept."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.chat.asking import NOBODYS, Api, error_of
from tests.chat.chatting import scenario
from tests.chat.open_streams import opened
from tests.chat.scripts import ENDLESS, calls
from tests.support.live_server import Live
from traces_app.models import Trace


def test_partial_answer_of_a_cancelled_run_is_stored_as_sent(live: Live, api: Api) -> None:
    live.load(scenario({"reasoning": "I think.", **ENDLESS}))
    with opened(api) as stream:
        stream.until(5)
        api.post("cancel_stream", trace_id=stream.trace_id)
        events = stream.read()
    last = events[-1].data
    assert (last["type"], last["cancelled"]) == ("done", True)
    answer = api.loaded(stream.conversation_id)[-1]
    assert answer["message_id"] == last["message_id"]
    said = "".join(event.data["content"] for event in events if event.type == "chunk")
    assert (answer["content"], answer["status"]) == (said, "cancelled")
    assert api.get(f"trace/{stream.trace_id}").json()["status"] == "cancelled"


def test_when_the_answer_comes_the_run_has_ended(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with opened(api) as stream:
        stream.until(1)
    api.post("cancel_stream", trace_id=stream.trace_id)
    assert Trace.objects.get().status == "cancelled"


def test_by_its_conversation(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with opened(api) as stream:
        answer = api.post("cancel_stream", conversation_id=stream.conversation_id)
        assert answer.json() == {"status": "cancelled", "trace_id": stream.trace_id}
        assert stream.read()[-1].data["cancelled"] is True


def test_in_the_middle_of_a_tool_call(live: Live, api: Api) -> None:
    live.load(scenario(calls("slow", seconds=600)))
    with opened(api) as stream:
        stream.until(2)
        assert stream.events[-1].type == "tool_start"
        api.post("cancel_stream", trace_id=stream.trace_id)
        events = stream.read()
    assert [event.data["status"] for event in events if event.type == "tool_end"] == ["cancelled"]
    assert events[-1].data["cancelled"] is True


def test_afterwards_the_conversation_takes_messages_again(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS, {"text": "Fine."}))
    with opened(api) as stream:
        # The first step answers it before it is cancelled.
        stream.until(2)
        api.post("cancel_stream", trace_id=stream.trace_id)
        stream.read()
    assert api.send("And now?", conversation_id=stream.conversation_id).text == "Fine."


@pytest.mark.parametrize("by", ["trace_id", "conversation_id"])
def test_ended_run_cannot_be_cancelled(live: Live, api: Api, by: str) -> None:
    live.load(scenario({"text": "Hi"}))
    stream = api.send()
    response = api.post("cancel_stream", **{by: getattr(stream, by)})
    assert error_of(response)[:2] == (409, "CONFLICT")
    assert Trace.objects.get().status == "completed"


def test_of_many_who_cancel_at_once_one_does(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with opened(api) as stream:
        stream.until(2)
        with ThreadPoolExecutor(10) as pool:
            cancel = {"trace_id": stream.trace_id}
            answers = list(pool.map(lambda _: api.post("cancel_stream", **cancel), range(10)))
        events = stream.read()
    statuses = {answer.status_code for answer in answers}
    assert 200 in statuses and statuses <= {200, 409}
    assert [event.type for event in events].count("done") == 1
    assert Trace.objects.get().status == "cancelled"


@pytest.mark.parametrize("by", ["trace_id", "conversation_id"])
@pytest.mark.parametrize("given", [NOBODYS, "nonsense", "", "\u0000"])
def test_cancelling_an_unknown_run_is_404(live: Live, api: Api, by: str, given: str) -> None:
    assert error_of(api.post("cancel_stream", **{by: given})) == (404, "NOT_FOUND", by)


@pytest.mark.parametrize("by", ["trace_id", "conversation_id"])
def test_anothers_run_is_not_found_and_goes_on(live: Live, api: Api, by: str) -> None:
    live.load(scenario(ENDLESS))
    with opened(api) as stream:
        other = Api(live.base_url, "somebody else")
        response = other.post("cancel_stream", **{by: getattr(stream, by)})
        assert error_of(response) == (404, "NOT_FOUND", by)
        assert Trace.objects.get().status == "running"
        api.post("cancel_stream", trace_id=stream.trace_id)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"trace_id": NOBODYS, "conversation_id": NOBODYS},
        {"trace_id": 1},
        {"trace_id": None},
        {"trace_id": NOBODYS, "force": True},
    ],
)
def test_it_wants_the_one_or_the_other(live: Live, api: Api, body: dict[str, Any]) -> None:
    assert error_of(api.post("cancel_stream", **body))[:2] == (400, "VALIDATION_ERROR")
