"""Recorded runs played again: from every scenario of the demo, by API, command and admin."""

import json
from io import StringIO
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from scenarios_app.engine.document import dump
from scenarios_app.engine.document.files import read_files
from scenarios_app.models import Scenario
from tests.chat.asking import Api, Stream
from tests.chat.chatting import scenario
from tests.chat.scripts import TOOL_CALL
from tests.support.live_server import Live
from traces_app.models import Status, Trace

# The user's messages for each scenario of the demo.
TALKS = {
    "greeting": ["hello"],
    "weather": ["What is the weather in Paris?"],
    "trip": ["Plan a trip"],
    "story": ["Tell me a story"],
    "thinking": ["Please think"],
    "countdown": ["countdown", "countdown", "countdown"],
    "busy": ["are you busy?", "are you busy?"],
    "cut off": ["cut me off"],
    "refusal": ["the secret recipe"],
}


@pytest.fixture
def api(live: Live) -> Api:
    return Api(live.base_url)


def normalised(stream: Stream) -> list[Any]:
    """Return the events, independent of chunk borders, row ids and times."""
    said: list[Any] = []
    for event in stream.events:
        data = {
            key: value
            for key, value in event.data.items()
            if key not in ("conversation_id", "trace_id", "message_id", "timestamp", "duration_ms")
        }
        if said and event.type in ("chunk", "thinking") and said[-1]["type"] == event.type:
            said[-1]["content"] += data["content"]
        else:
            said.append(data)
    return said


def talk(api: Api, messages: list[str]) -> list[Stream]:
    streams: list[Stream] = []
    for message in messages:
        known = {"conversation_id": streams[0].conversation_id} if streams else {}
        streams.append(api.send(message, **known))
    return streams


def only(live: Live, document: dict[str, Any]) -> None:
    """Have nothing but this to answer from."""
    Scenario.objects.all().delete()
    live.load(json.loads(json.dumps(document)))


def test_a_final_report_is_handed_in_again(live: Live, api: Api) -> None:
    report = {"status": "failure", "report_content": "# No", "content_json": {"why": [1]}}
    live.load(scenario({"text": "Looking.", **TOOL_CALL, "final_report": report}))
    first = api.send("Look")
    record = api.get(f"trace/{first.trace_id}").json()
    only(live, api.post(f"trace/{first.trace_id}/scenario").json())
    again = api.send("Look")
    assert normalised(again) == normalised(first)
    assert again.text == "Looking.\n\n# No"
    told = api.get(f"trace/{again.trace_id}").json()["report"]
    assert told == record["report"] == {**report, "report_format": None, "messages": None}


def test_every_scenario_of_the_demo_has_a_talk() -> None:
    names = {document.name for document in read_files(["examples/scenarios/demo.json"])}
    assert names == set(TALKS)


@pytest.mark.parametrize("name", TALKS)
def test_a_talk_with_the_demo_is_the_same_from_its_own_scenario(
    live: Live, api: Api, name: str
) -> None:
    live.load(*(dump(document) for document in read_files(["examples/scenarios/demo.json"])))
    first = talk(api, TALKS[name])
    output = StringIO()
    call_command("trace_scenario", first[0].conversation_id, stdout=output)
    only(live, json.loads(output.getvalue()))
    again = talk(api, TALKS[name])
    assert [normalised(stream) for stream in again] == [normalised(stream) for stream in first]


def test_one_run_is_the_same_from_the_apis_document(live: Live, api: Api) -> None:
    braces = {"text": "3, or {{ open }}x }}"}
    steps = scenario(
        {"reasoning": "Hm.", "text": "Let me add.", **TOOL_CALL}, braces, variables={"open": "{{"}
    )
    live.load(steps)
    first = api.send("1 + 2?")
    only(live, api.ask("POST", f"trace/{first.trace_id}/scenario").json())
    assert normalised(api.send("1 + 2?")) == normalised(first)


def test_an_id_of_nothing_is_an_error(live: Live) -> None:
    with pytest.raises(CommandError, match="no trace and no conversation"):
        call_command("trace_scenario", str(UUID(int=7)))


def test_command_fails_for_a_run_that_cannot_be_replayed(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi."}))
    stream = api.send()
    Trace.objects.update(status=Status.CANCELLED)
    with pytest.raises(CommandError, match="was cancelled"):
        call_command("trace_scenario", stream.trace_id)


def make(client: Client, *traces: str) -> Any:
    posted = {"action": "make_scenarios", "_selected_action": list(traces)}
    return client.post("/admin/traces_app/trace/", posted, follow=True)


def test_the_admin_makes_documents_of_several(live: Live, api: Api, admin_client: Client) -> None:
    live.load(scenario({"text": "One."}, {"text": "Two."}))
    streams = [api.send("first"), api.send("second")]
    answer = make(admin_client, *(stream.trace_id for stream in streams))
    made = json.loads(answer.content)["scenarios"]
    assert {one["name"] for one in made} == {f"trace-{s.trace_id[:8]}" for s in streams}
    Trace.objects.filter(pk=streams[0].trace_id).update(status=Status.CANCELLED)
    refused = make(admin_client, *(stream.trace_id for stream in streams))
    assert b"No scenarios were exported" in refused.content
