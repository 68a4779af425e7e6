"""Cancelling a run ends it once, for every follower, and stores its text so far."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.chat.api_client import UNKNOWN_ID, Api, error_of
from tests.chat.chat_helpers import scenario
from tests.chat.open_streams import open_stream
from tests.chat.scripts import ENDLESS, call_tool
from tests.support.live_server import Live
from traces_app.models import Trace


def test_partial_answer_of_a_cancelled_run_is_stored_as_sent(live: Live, api: Api) -> None:
    live.load(scenario({"reasoning": "I think.", **ENDLESS}))
    with open_stream(api) as stream:
        stream.read_events(5)
        api.post("cancel_stream", trace_id=stream.trace_id)
        events = stream.read_to_end()
    last = events[-1].data
    assert (last["type"], last["cancelled"]) == ("done", True)
    answer = api.load_messages(stream.conversation_id)[-1]
    assert answer["message_id"] == last["message_id"]
    text = "".join(event.data["content"] for event in events if event.type == "chunk")
    assert (answer["content"], answer["status"]) == (text, "cancelled")
    assert api.get(f"trace/{stream.trace_id}").json()["status"] == "cancelled"


def test_run_has_ended_when_the_cancel_response_arrives(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with open_stream(api) as stream:
        stream.read_events(1)
    api.post("cancel_stream", trace_id=stream.trace_id)
    assert Trace.objects.get().status == "cancelled"


def test_run_is_cancelled_by_its_conversation_id(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with open_stream(api) as stream:
        answer = api.post("cancel_stream", conversation_id=stream.conversation_id)
        assert answer.json() == {"status": "cancelled", "trace_id": stream.trace_id}
        assert stream.read_to_end()[-1].data["cancelled"] is True


def test_running_tool_call_is_cancelled(live: Live, api: Api) -> None:
    live.load(scenario(call_tool("slow", seconds=600)))
    with open_stream(api) as stream:
        stream.read_events(2)
        assert stream.events[-1].type == "tool_start"
        api.post("cancel_stream", trace_id=stream.trace_id)
        events = stream.read_to_end()
    assert [event.data["status"] for event in events if event.type == "tool_end"] == ["cancelled"]
    assert events[-1].data["cancelled"] is True


def test_conversation_accepts_messages_after_a_cancelled_run(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS, {"text": "Fine."}))
    with open_stream(api) as stream:
        # The first step answers it before it is cancelled.
        stream.read_events(2)
        api.post("cancel_stream", trace_id=stream.trace_id)
        stream.read_to_end()
    assert api.send("And now?", conversation_id=stream.conversation_id).text == "Fine."


@pytest.mark.parametrize("by", ["trace_id", "conversation_id"])
def test_ended_run_cannot_be_cancelled(live: Live, api: Api, by: str) -> None:
    live.load(scenario({"text": "Hi"}))
    stream = api.send()
    response = api.post("cancel_stream", **{by: getattr(stream, by)})
    assert error_of(response)[:2] == (409, "CONFLICT")
    assert Trace.objects.get().status == "completed"


def test_concurrent_cancels_end_the_run_once(live: Live, api: Api) -> None:
    live.load(scenario(ENDLESS))
    with open_stream(api) as stream:
        stream.read_events(2)
        with ThreadPoolExecutor(10) as pool:
            cancel = {"trace_id": stream.trace_id}
            responses = list(pool.map(lambda _: api.post("cancel_stream", **cancel), range(10)))
        events = stream.read_to_end()
    statuses = {answer.status_code for answer in responses}
    assert 200 in statuses and statuses <= {200, 409}
    assert [event.type for event in events].count("done") == 1
    assert Trace.objects.get().status == "cancelled"


@pytest.mark.parametrize("by", ["trace_id", "conversation_id"])
@pytest.mark.parametrize("run_id", [UNKNOWN_ID, "nonsense", "", "\u0000"])
def test_cancelling_an_unknown_run_is_404(live: Live, api: Api, by: str, run_id: str) -> None:
    assert error_of(api.post("cancel_stream", **{by: run_id})) == (404, "NOT_FOUND", by)


@pytest.mark.parametrize("by", ["trace_id", "conversation_id"])
def test_run_of_another_client_cannot_be_cancelled(live: Live, api: Api, by: str) -> None:
    live.load(scenario(ENDLESS))
    with open_stream(api) as stream:
        other = Api(live.base_url, "somebody else")
        response = other.post("cancel_stream", **{by: getattr(stream, by)})
        assert error_of(response) == (404, "NOT_FOUND", by)
        assert Trace.objects.get().status == "running"
        api.post("cancel_stream", trace_id=stream.trace_id)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"trace_id": UNKNOWN_ID, "conversation_id": UNKNOWN_ID},
        {"trace_id": 1},
        {"trace_id": None},
        {"trace_id": UNKNOWN_ID, "force": True},
    ],
)
def test_cancel_needs_exactly_one_id(live: Live, api: Api, body: dict[str, Any]) -> None:
    assert error_of(api.post("cancel_stream", **body))[:2] == (400, "VALIDATION_ERROR")
