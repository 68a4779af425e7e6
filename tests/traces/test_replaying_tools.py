"""Runs with tools played again without the MCP server that had the tools: the same trace but ids
and times, and a call that was not recorded is told there."""

import json
from pathlib import Path
from typing import Any

import pytest

from scenarios_app.models import Scenario
from tests.chat.asking import Api
from tests.chat.chatting import scenario
from tests.chat.tools.tool_servers import SCRIPT
from tests.support import fork_server
from tests.support.live_server import Live

QUESTION = "Use them all"
# Fields that differ between two equal runs. A trace has only the names of tools, so the estimate
# lacks their descriptions.
NEW = {
    "estimated_tokens",
    *("trace_id", "conversation_id", "message_id", "user_message_id", "answered_by"),
    *("at", "started_at", "first_token_at", "finished_at", "timestamp"),
    *("duration_ms", "first_token_ms"),
}


def call(id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "name": name, "arguments": arguments}


ROUNDS = (
    {
        "text": "Let me see.",
        "tool_calls": [
            call("a", "add", a=17, b=25),
            call("b", "echo", text="{{ city }}, or {{ open }}x }} \n é"),
            call("c", "fail", message="Not today."),
            call("d", "pieces"),
            call("e", "long", length=20_000),
            {"id": "f", "name": "nowhere", "arguments": {}},
            {"id": "g", "name": "add", "arguments": "{"},
            call("h", "add", a="no number", b=1),
        ],
    },
    {"tool_calls": [call("i", "next_number")]},
    {"tool_calls": [call("j", "next_number"), call("k", "hang")]},
    {"tool_calls": [call("l", "crash")]},
    {"text": "That was all."},
)


def without_times(value: Any) -> Any:
    """A trace's record without ids and times."""
    match value:
        case dict():
            return {key: without_times(inner) for key, inner in value.items() if key not in NEW}
        case list():
            return [without_times(inner) for inner in value]
    return value


def ordered(record: dict[str, Any]) -> dict[str, Any]:
    """Calls of one round end in any order: their events by their ids; pieces of text are joined."""
    events: list[dict[str, Any]] = []
    for event in record["events"]:
        kept = {key: value for key, value in without_times(event).items() if key != "seq"}
        if events and event["type"] == "chunk" == events[-1]["type"]:
            events[-1]["content"] += kept["content"]
        else:
            events.append(kept)
    by_call = sorted(
        (event for event in events if "tool_call_id" in event),
        key=lambda event: str(event["tool_call_id"]),
    )
    others = [event for event in events if "tool_call_id" not in event]
    return {**without_times(record), "events": [others, by_call], "totals": None}


def servers(folder: Path, **commands: list[str]) -> str:
    file = folder / f"{'-'.join(commands)}-{len(list(folder.iterdir()))}.json"
    file.write_text(json.dumps({name: {"command": one} for name, one in commands.items()}))
    return str(file)


def replaying(folder: Path, document: dict[str, Any], *options: str) -> str:
    """A file of servers in which the tools of a document stand for those of the server `demo`."""
    file = folder / "replayed.json"
    file.write_text(json.dumps(document))
    program = [fork_server.python(), "-P", "-m", "mockllm_site", "mcp", str(file), *options]
    return servers(folder, demo=program)


@pytest.fixture
def api(live: Live) -> Api:
    return Api(live.base_url)


def test_a_run_is_the_same_without_the_server_of_its_tools(
    live: Live, api: Api, tmp_path: Path, settings: Any
) -> None:
    settings.MCP_CALL_SECONDS = 3
    settings.MCP_SERVERS = servers(tmp_path, demo=[fork_server.python(), "-P", str(SCRIPT)])
    live.load(scenario(*ROUNDS, variables={"city": "Zürich", "open": "{{"}))
    recorded = api.get(f"trace/{api.send(QUESTION).trace_id}").json()
    assert recorded["status"] == "completed"
    document = api.post(f"trace/{recorded['trace_id']}/scenario").json()
    Scenario.objects.all().delete()
    live.load(document)
    settings.MCP_SERVERS = replaying(tmp_path, document)
    # Twice: recorded results are not consumed.
    for _ in range(2):
        again = api.get(f"trace/{api.send(QUESTION).trace_id}").json()
        assert ordered(again) == ordered(recorded)
    outputs = {e["tool_call_id"]: e for e in again["events"] if e["type"] == "tool_output"}
    assert (outputs["i"]["output"], outputs["j"]["output"]) == ("1", "2")
    assert outputs["e"]["full_length"] == 20_000
    assert outputs["k"]["code"] == outputs["l"]["code"] == "SERVICE_UNAVAILABLE"


def test_a_call_that_was_not_recorded_is_told_in_the_trace(
    live: Live, api: Api, tmp_path: Path, settings: Any
) -> None:
    written = {**call("a", "add", a=1, b=2), "result": "3"}
    document = scenario(
        {"tool_calls": [written, call("b", "add", a=1, b=3)]}, {"text": "So be it."}
    )
    settings.MCP_SERVERS = replaying(tmp_path, document)
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
