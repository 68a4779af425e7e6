"""Replaying runs with tools without their MCP server: traces are equal except ids and times."""

import json
from pathlib import Path
from typing import Any

import pytest

from scenarios_app.models import Scenario
from tests.chat.api_client import Api
from tests.chat.chat_helpers import scenario
from tests.chat.tools.tool_servers import SCRIPT
from tests.support import fork_server
from tests.support.live_server import Live

QUESTION = "Use them all"
# Fields that differ between two equal runs. A trace has only the names of tools, so the estimate
# lacks their descriptions.
VOLATILE_FIELDS = {
    "estimated_tokens",
    *("trace_id", "conversation_id", "message_id", "user_message_id", "answered_by"),
    *("at", "started_at", "first_token_at", "finished_at", "timestamp"),
    *("duration_ms", "first_token_ms"),
}


def tool_call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "arguments": arguments}


ROUNDS = (
    {
        "text": "Let me see.",
        "tool_calls": [
            tool_call("a", "add", a=17, b=25),
            tool_call("b", "echo", text="{{ city }}, or {{ open }}x }} \n é"),
            tool_call("c", "fail", message="Not today."),
            tool_call("d", "pieces"),
            tool_call("e", "long", length=20_000),
            {"id": "f", "name": "nowhere", "arguments": {}},
            {"id": "g", "name": "add", "arguments": "{"},
            tool_call("h", "add", a="no number", b=1),
        ],
    },
    {"tool_calls": [tool_call("i", "next_number")]},
    {"tool_calls": [tool_call("j", "next_number"), tool_call("k", "hang")]},
    {"tool_calls": [tool_call("l", "crash")]},
    {"text": "That was all."},
)


def without_times(value: Any) -> Any:
    """Return a trace's record without ids and times."""
    match value:
        case dict():
            return {
                key: without_times(inner)
                for key, inner in value.items()
                if key not in VOLATILE_FIELDS
            }
        case list():
            return [without_times(inner) for inner in value]
    return value


def normalize_record(record: dict[str, Any]) -> dict[str, Any]:
    """Sort events of tool calls by id, as calls end in any order, and join pieces of text."""
    events: list[dict[str, Any]] = []
    for event in record["events"]:
        fields = {key: value for key, value in without_times(event).items() if key != "seq"}
        if events and event["type"] == "chunk" == events[-1]["type"]:
            events[-1]["content"] += fields["content"]
        else:
            events.append(fields)
    by_call = sorted(
        (event for event in events if "tool_call_id" in event),
        key=lambda event: str(event["tool_call_id"]),
    )
    others = [event for event in events if "tool_call_id" not in event]
    return {**without_times(record), "events": [others, by_call], "totals": None}


def write_servers(folder: Path, **commands: list[str]) -> str:
    file = folder / f"{'-'.join(commands)}-{len(list(folder.iterdir()))}.json"
    file.write_text(json.dumps({name: {"command": command} for name, command in commands.items()}))
    return str(file)


def write_replaying_server(folder: Path, document: dict[str, Any], *options: str) -> str:
    """Write a servers file in which `demo` replays the tools of a document."""
    file = folder / "replayed.json"
    file.write_text(json.dumps(document))
    program = [fork_server.python(), "-P", "-m", "mockllm_site", "mcp", str(file), *options]
    return write_servers(folder, demo=program)


@pytest.fixture
def api(live: Live) -> Api:
    return Api(live.base_url)


def test_run_replays_equally_without_its_mcp_server(
    live: Live, api: Api, tmp_path: Path, settings: Any
) -> None:
    settings.MCP_CALL_SECONDS = 3
    settings.MCP_SERVERS = write_servers(tmp_path, demo=[fork_server.python(), "-P", str(SCRIPT)])
    live.load(scenario(*ROUNDS, variables={"city": "Zürich", "open": "{{"}))
    recorded = api.get(f"trace/{api.send(QUESTION).trace_id}").json()
    assert recorded["status"] == "completed"
    document = api.post(f"trace/{recorded['trace_id']}/scenario").json()
    Scenario.objects.all().delete()
    live.load(document)
    settings.MCP_SERVERS = write_replaying_server(tmp_path, document)
    # Twice: recorded results are not consumed.
    for _ in range(2):
        again = api.get(f"trace/{api.send(QUESTION).trace_id}").json()
        assert normalize_record(again) == normalize_record(recorded)
    outputs = {e["tool_call_id"]: e for e in again["events"] if e["type"] == "tool_output"}
    assert (outputs["i"]["output"], outputs["j"]["output"]) == ("1", "2")
    assert outputs["e"]["full_length"] == 20_000
    assert outputs["k"]["code"] == outputs["l"]["code"] == "SERVICE_UNAVAILABLE"


def test_unrecorded_call_is_an_error_in_the_trace(
    live: Live, api: Api, tmp_path: Path, settings: Any
) -> None:
    recorded_call = {**tool_call("a", "add", a=1, b=2), "result": "3"}
    document = scenario(
        {"tool_calls": [recorded_call, tool_call("b", "add", a=1, b=3)]}, {"text": "So be it."}
    )
    settings.MCP_SERVERS = write_replaying_server(tmp_path, document)
    live.load(document)
    stream = api.send(QUESTION)
    events = api.get(f"trace/{stream.trace_id}").json()["events"]
    outputs = {e["tool_call_id"]: e for e in events if e["type"] == "tool_output"}
    assert (outputs["a"]["output"], outputs["a"]["is_error"]) == ("3", False)
    assert outputs["b"]["is_error"]
    assert outputs["b"]["output"] == (
        'Error: add with {"a":1,"b":3} was not recorded: recorded are {"a":1,"b":2}'
    )
    assert stream.text == "So be it."
