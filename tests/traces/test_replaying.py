"""Replaying recorded runs from exported scenarios: by API, command and admin."""

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
from tests.chat.api_client import Api, Stream
from tests.chat.chat_helpers import scenario
from tests.chat.scripts import TOOL_CALL
from tests.support.live_server import Live
from traces_app.models import Status, Trace

# The user's messages for each scenario of the demo.
DEMO_MESSAGES = {
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


def normalize_events(stream: Stream) -> list[Any]:
    """Return the events, independent of chunk borders, row ids and times."""
    events: list[Any] = []
    for event in stream.events:
        data = {
            key: value
            for key, value in event.data.items()
            if key not in ("conversation_id", "trace_id", "message_id", "timestamp", "duration_ms")
        }
        if events and event.type in ("chunk", "thinking") and events[-1]["type"] == event.type:
            events[-1]["content"] += data["content"]
        else:
            events.append(data)
    return events


def send_messages(api: Api, messages: list[str]) -> list[Stream]:
    streams: list[Stream] = []
    for message in messages:
        conversation = {"conversation_id": streams[0].conversation_id} if streams else {}
        streams.append(api.send(message, **conversation))
    return streams


def load_only(live: Live, document: dict[str, Any]) -> None:
    """Replace all scenarios by this document."""
    Scenario.objects.all().delete()
    live.load(json.loads(json.dumps(document)))


def test_final_report_is_replayed(live: Live, api: Api) -> None:
    report = {"status": "failure", "report_content": "# No", "content_json": {"why": [1]}}
    live.load(scenario({"text": "Looking.", **TOOL_CALL, "final_report": report}))
    first = api.send("Look")
    record = api.get(f"trace/{first.trace_id}").json()
    load_only(live, api.post(f"trace/{first.trace_id}/scenario").json())
    again = api.send("Look")
    assert normalize_events(again) == normalize_events(first)
    assert again.text == "Looking.\n\n# No"
    report_again = api.get(f"trace/{again.trace_id}").json()["report"]
    assert report_again == record["report"] == {**report, "report_format": None, "messages": None}


def test_every_demo_scenario_has_messages() -> None:
    names = {document.name for document in read_files(["examples/scenarios/demo.json"])}
    assert names == set(DEMO_MESSAGES)


@pytest.mark.parametrize("name", DEMO_MESSAGES)
def test_demo_conversation_replays_equally_from_its_scenario(
    live: Live, api: Api, name: str
) -> None:
    live.load(*(dump(document) for document in read_files(["examples/scenarios/demo.json"])))
    first = send_messages(api, DEMO_MESSAGES[name])
    output = StringIO()
    call_command("trace_scenario", first[0].conversation_id, stdout=output)
    load_only(live, json.loads(output.getvalue()))
    again = send_messages(api, DEMO_MESSAGES[name])
    assert [normalize_events(stream) for stream in again] == [
        normalize_events(stream) for stream in first
    ]


def test_run_replays_equally_from_the_apis_scenario(live: Live, api: Api) -> None:
    braces = {"text": "3, or {{ open }}x }}"}
    steps = scenario(
        {"reasoning": "Hm.", "text": "Let me add.", **TOOL_CALL}, braces, variables={"open": "{{"}
    )
    live.load(steps)
    first = api.send("1 + 2?")
    load_only(live, api.request("POST", f"trace/{first.trace_id}/scenario").json())
    assert normalize_events(api.send("1 + 2?")) == normalize_events(first)


def test_unknown_id_is_an_error(live: Live) -> None:
    with pytest.raises(CommandError, match="no trace and no conversation"):
        call_command("trace_scenario", str(UUID(int=7)))


def test_command_fails_for_a_run_that_cannot_be_replayed(live: Live, api: Api) -> None:
    live.load(scenario({"text": "Hi."}))
    stream = api.send()
    Trace.objects.update(status=Status.CANCELLED)
    with pytest.raises(CommandError, match="was cancelled"):
        call_command("trace_scenario", stream.trace_id)


def export_in_admin(client: Client, *traces: str) -> Any:
    form = {"action": "make_scenarios", "_selected_action": list(traces)}
    return client.post("/admin/traces_app/trace/", form, follow=True)


def test_admin_exports_several_runs(live: Live, api: Api, admin_client: Client) -> None:
    live.load(scenario({"text": "One."}, {"text": "Two."}))
    streams = [api.send("first"), api.send("second")]
    response = export_in_admin(admin_client, *(stream.trace_id for stream in streams))
    documents = json.loads(response.content)["scenarios"]
    assert {document["name"] for document in documents} == {
        f"trace-{s.trace_id[:8]}" for s in streams
    }
    Trace.objects.filter(pk=streams[0].trace_id).update(status=Status.CANCELLED)
    error_page = export_in_admin(admin_client, *(stream.trace_id for stream in streams))
    assert b"No scenarios were exported" in error_page.content
