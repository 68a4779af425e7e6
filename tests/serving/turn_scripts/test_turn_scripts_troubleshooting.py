"""Requirement 003's troubleshooting cases, each found out from the journal and nothing else."""

import json
from typing import Any

from scenarios_app.engine.canonical import Json
from scenarios_app.journal.entry import JournalEntry
from tests.engine.turn_scripts import script, turn
from tests.serving.modes import WireName
from tests.serving.pipelines import Playing
from tests.serving.turn_scripts.turns import SESSION, THINKING, talk

SCRIPTS = (
    script(turn(), turn(number=2), turn(number=5), id="run-test-1"),
    script(turn(expectedTools=["read_file", "agent__batch"]), id="tools"),
    script(turn(expectedTemperature=0.42, expectedTopP=0.9), id="sampling"),
    script(turn(failuresBeforeSuccess=2, failureStatus="rate_limit"), id="flaky"),
    script(turn(expectedReasoning="enabled"), turn(number=2, expectedReasoning="enabled"), id="on"),
    script(turn(expectedReasoning="disabled"), id="off"),
)


async def journal_of(*asked: tuple[str, dict[str, Any]], wire: WireName) -> list[JournalEntry]:
    playing = Playing(*SCRIPTS)
    for said, fields in asked:
        await playing.ask(talk(wire, said, **fields))
    return playing.journal


def body_of(entry: JournalEntry) -> Any:
    return json.loads(entry.request_body)


def near(entry: JournalEntry) -> list[tuple[Json, Json]]:
    """The scenario and the first mismatch of each near miss."""
    found: list[tuple[Json, Json]] = []
    for miss in entry.near_misses:
        assert isinstance(miss, dict) and isinstance(miss["mismatches"], list)
        found.append((miss["scenario"], miss["mismatches"][0]))
    return found


async def test_scenario_not_found_shows_what_was_asked_for_and_what_there_is() -> None:
    (entry,) = await journal_of(("run-test-l", {}), wire="openai")
    assert entry.violations == ("Scenario not found: run-test-l",)
    assert (entry.way, entry.matched, entry.scenario) == ("by_id", False, "")
    assert body_of(entry)["messages"][0] == {"role": "user", "content": "run-test-l"}
    assert near(entry)[0] == (
        "run-test-1",
        {
            "field": "select",
            "expected": 'first user message equals "run-test-1"',
            "actual": '"run-test-l"',
        },
    )


async def test_tool_validation_failure_shows_expected_and_offered_tools() -> None:
    (entry,) = await journal_of(("tools", {"tools": ("write_file",)}), wire="anthropic")
    assert entry.violations == ("Expected tools not available: read_file",)
    assert (entry.scenario, entry.step) == ("tools", "1")
    assert [tool["name"] for tool in body_of(entry)["tools"]] == ["write_file"]


async def test_turn_mismatch_shows_the_turn_and_those_that_are_defined() -> None:
    (entry,) = await journal_of(("run-test-1", {"turn": 4}), wire="openai")
    assert entry.violations == ("No turn 4 in scenario run-test-1",)
    roles = [message["role"] for message in body_of(entry)["messages"]]
    assert roles.count("assistant") == 3
    assert {(name, json.dumps(miss)) for name, miss in near(entry)} == {
        ("run-test-1", json.dumps({"field": "turn", "expected": turn, "actual": "4"}))
        for turn in ("1", "2", "5")
    }


async def test_temperature_and_top_p_mismatch_shows_both_values() -> None:
    fields = {"temperature": 0.43}
    (entry,) = await journal_of(("sampling", fields), wire="openai")
    assert entry.violations == (
        "Expected temperature 0.42 but received 0.43",
        "Expected topP 0.9 but received undefined",
    )
    assert body_of(entry)["temperature"] == 0.43 and "top_p" not in body_of(entry)


async def test_retry_not_working_shows_each_attempt_and_what_it_is_counted_by() -> None:
    other = {"headers": {"x-mockllm-session": "other"}}
    asked = [("flaky", {}), ("flaky", {}), ("flaky", other), ("flaky", {})]
    entries = await journal_of(*asked, wire="openai")
    assert [(e.session, e.attempt, e.fault, e.outcome, e.status) for e in entries] == [
        (SESSION, 1, "rate_limit", "fault", 429),
        (SESSION, 2, "rate_limit", "fault", 429),
        ("other", 1, "rate_limit", "fault", 429),
        (SESSION, 2, "", "complete", 200),
    ]
    assert {(e.scenario, e.step, e.provider) for e in entries} == {("flaky", "1", "openai")}


async def test_reasoning_validation_failed_shows_what_was_expected_and_asked_for() -> None:
    thinking = THINKING["anthropic"]
    on, off = await journal_of(("on", {}), ("off", thinking), wire="anthropic")
    assert on.violations == ("Expected reasoning to remain enabled",)
    assert "thinking" not in body_of(on)
    assert off.violations == ("Expected reasoning to be disabled",)
    assert body_of(off)["thinking"]["type"] == "enabled"


async def test_thinking_that_lost_its_signature_is_there_to_be_seen() -> None:
    block = {"type": "thinking", "thinking": "Hm.", "signature": ""}
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    messages = [
        {"role": "user", "content": "on"},
        {"role": "assistant", "content": [block, use]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]},
    ]
    fields = {"messages": messages, **THINKING["anthropic"]}
    (entry,) = await journal_of(("on", fields), wire="anthropic")
    assert entry.violations == ("Expected reasoning to remain enabled",)
    assert body_of(entry)["messages"][1]["content"][0]["signature"] == ""
