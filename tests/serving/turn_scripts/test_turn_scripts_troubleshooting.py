"""Requirement 003's troubleshooting cases, diagnosed from the journal alone."""

import json
from typing import Any

from scenarios_app.engine.canonical import Json
from scenarios_app.engine.journal_entry import JournalEntry
from tests.engine.turn_scripts import script, turn
from tests.serving.modes import WireName
from tests.serving.pipelines import Harness
from tests.serving.turn_scripts.turns import SESSION, THINKING, turn_request

SCRIPTS = (
    script(turn(), turn(number=2), turn(number=5), id="run-test-1"),
    script(turn(expectedTools=["read_file", "agent__batch"]), id="tools"),
    script(turn(expectedTemperature=0.42, expectedTopP=0.9), id="sampling"),
    script(turn(failuresBeforeSuccess=2, failureStatus="rate_limit"), id="flaky"),
    script(turn(expectedReasoning="enabled"), turn(number=2, expectedReasoning="enabled"), id="on"),
    script(turn(expectedReasoning="disabled"), id="off"),
)


async def send_all(*requests: tuple[str, dict[str, Any]], wire: WireName) -> list[JournalEntry]:
    harness = Harness(*SCRIPTS)
    for user_text, fields in requests:
        await harness.ask(turn_request(wire, user_text, **fields))
    return harness.journal


def request_body(entry: JournalEntry) -> Any:
    return json.loads(entry.request_body)


def near_misses(entry: JournalEntry) -> list[tuple[Json, Json]]:
    """Return the scenario and the first mismatch of each near miss."""
    mismatches: list[tuple[Json, Json]] = []
    for miss in entry.near_misses:
        assert isinstance(miss, dict) and isinstance(miss["mismatches"], list)
        mismatches.append((miss["scenario"], miss["mismatches"][0]))
    return mismatches


async def test_scenario_not_found_shows_the_id_and_existing_scenarios() -> None:
    (entry,) = await send_all(("run-test-l", {}), wire="openai")
    assert entry.violations == ("Scenario not found: run-test-l",)
    assert (entry.way, entry.matched, entry.scenario) == ("by_id", False, "")
    assert request_body(entry)["messages"][0] == {"role": "user", "content": "run-test-l"}
    assert near_misses(entry)[0] == (
        "run-test-1",
        {
            "field": "select",
            "expected": 'first user message equals "run-test-1"',
            "actual": '"run-test-l"',
        },
    )


async def test_tool_validation_failure_shows_expected_and_offered_tools() -> None:
    (entry,) = await send_all(("tools", {"tools": ("write_file",)}), wire="anthropic")
    assert entry.violations == ("Expected tools not available: read_file",)
    assert (entry.scenario, entry.step) == ("tools", "1")
    assert [tool["name"] for tool in request_body(entry)["tools"]] == ["write_file"]


async def test_turn_mismatch_shows_the_turn_and_those_that_are_defined() -> None:
    (entry,) = await send_all(("run-test-1", {"turn": 4}), wire="openai")
    assert entry.violations == ("No turn 4 in scenario run-test-1",)
    roles = [message["role"] for message in request_body(entry)["messages"]]
    assert roles.count("assistant") == 3
    assert {(name, json.dumps(miss)) for name, miss in near_misses(entry)} == {
        ("run-test-1", json.dumps({"field": "turn", "expected": turn, "actual": "4"}))
        for turn in ("1", "2", "5")
    }


async def test_temperature_and_top_p_mismatch_shows_both_values() -> None:
    fields = {"temperature": 0.43}
    (entry,) = await send_all(("sampling", fields), wire="openai")
    assert entry.violations == (
        "Expected temperature 0.42 but received 0.43",
        "Expected topP 0.9 but received undefined",
    )
    assert request_body(entry)["temperature"] == 0.43 and "top_p" not in request_body(entry)


async def test_retry_not_working_shows_each_attempt_and_what_it_is_counted_by() -> None:
    other = {"headers": {"x-mockllm-session": "other"}}
    requests = [("flaky", {}), ("flaky", {}), ("flaky", other), ("flaky", {})]
    entries = await send_all(*requests, wire="openai")
    assert [(e.session, e.attempt, e.fault, e.outcome, e.status) for e in entries] == [
        (SESSION, 1, "rate_limit", "fault", 429),
        (SESSION, 2, "rate_limit", "fault", 429),
        ("other", 1, "rate_limit", "fault", 429),
        (SESSION, 2, "", "complete", 200),
    ]
    assert {(e.scenario, e.step, e.provider) for e in entries} == {("flaky", "1", "openai")}


async def test_reasoning_validation_failure_shows_expected_and_requested_reasoning() -> None:
    thinking = THINKING["anthropic"]
    on, off = await send_all(("on", {}), ("off", thinking), wire="anthropic")
    assert on.violations == ("Expected reasoning to remain enabled",)
    assert "thinking" not in request_body(on)
    assert off.violations == ("Expected reasoning to be disabled",)
    assert request_body(off)["thinking"]["type"] == "enabled"


async def test_reasoning_that_lost_its_signature_is_in_the_journal() -> None:
    block = {"type": "thinking", "thinking": "Hm.", "signature": ""}
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    messages = [
        {"role": "user", "content": "on"},
        {"role": "assistant", "content": [block, use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]},
    ]
    fields = {"messages": messages, **THINKING["anthropic"]}
    (entry,) = await send_all(("on", fields), wire="anthropic")
    assert entry.violations == ("Expected reasoning to remain enabled",)
    assert request_body(entry)["messages"][1]["content"][0]["signature"] == ""
