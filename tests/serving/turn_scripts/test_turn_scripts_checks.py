"""The expectations of requirement 003's scripts on a request, on every wire."""

import logging
from typing import Any

import pytest

from scenarios_app.wire.base import Call
from tests.engine.turn_scripts import script, turn
from tests.serving.dialects import DIALECTS
from tests.serving.modes import WIRES, WireName
from tests.serving.pipelines import Harness, chat, claude, llama, responses
from tests.serving.turn_scripts.turns import (
    ERROR,
    FALLBACK,
    MODEL,
    SESSION,
    THINKING,
    is_failure,
    send_turn,
    violations,
)

EVERY_WIRE = pytest.mark.parametrize("wire", WIRES)

PROMPT = script(turn(), systemPromptMustInclude=["be kind", "be brief"])


@EVERY_WIRE
@pytest.mark.parametrize(
    ("system", "missing"),
    [("", "be kind, be brief"), ("be kind", "be brief"), ("Be Kind. be brief", "be kind")],
)
async def test_system_prompt_missing_fragments(wire: WireName, system: str, missing: str) -> None:
    harness = Harness(PROMPT)
    answer = await send_turn(harness, wire, "script", system=system)
    assert is_failure(answer, ERROR, f"System prompt missing: {missing}")
    complete_answer = await send_turn(
        harness, wire, "script", system="Always be brief and be kind."
    )
    assert complete_answer.text == "fine"


SCRIPT: dict[str, str] = {"role": "user", "content": "script"}
KIND, BRIEF = ({"role": "system", "content": text} for text in ("be kind", "be brief"))
BOTH = {"role": "developer", "content": "be brief, be kind"}
BLOCKS = [{"type": "text", "text": text} for text in ("be kind", "be brief")]


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        (chat(model=MODEL, messages=[KIND, BRIEF, SCRIPT]), "be brief"),
        (chat(model=MODEL, messages=[SCRIPT, BOTH, KIND]), ""),
        (responses(model=MODEL, messages=[BOTH, SCRIPT], instructions="be kind"), "be brief"),
        (responses(model=MODEL, messages=[BOTH, SCRIPT], instructions=None), ""),
        (claude(model=MODEL, messages=[SCRIPT], system=BLOCKS), ""),
        (llama(model=MODEL, messages=[KIND, BRIEF, SCRIPT]), "be brief"),
    ],
)
async def test_fragments_are_looked_for_in_the_first_system_message(
    call: Call, missing: str
) -> None:
    harness = Harness(PROMPT)
    status, _, _ = await harness.ask(call)
    expected = (f"System prompt missing: {missing}",) if missing else ()
    assert (status, await violations(harness)) == (200, expected)


TOOLS = script(turn(expectedTools=["get weather", "agent__batch", "read"]))


@EVERY_WIRE
async def test_tool_validation(wire: WireName) -> None:
    harness = Harness(TOOLS)
    answer = await send_turn(harness, wire, "script", tools=("get_weather",))
    assert is_failure(answer, ERROR, "Expected tools not available: read")
    answer = await send_turn(harness, wire, "script")
    assert is_failure(answer, ERROR, "Expected tools not available: get weather, read")
    answer = await send_turn(harness, wire, "script", tools=("get_weather<|x|>", "read", "more"))
    assert answer.text == "fine"


@EVERY_WIRE
async def test_allow_missing_tools_skips_tool_validation(wire: WireName) -> None:
    harness = Harness(script(turn(expectedTools=["read"], allowMissingTools=True)))
    assert (await send_turn(harness, wire, "script")).text == "fine"


@EVERY_WIRE
@pytest.mark.parametrize(
    ("key", "field", "name"),
    [("expectedTemperature", "temperature", "temperature"), ("expectedTopP", "top_p", "topP")],
)
async def test_temperature_and_top_p_validation(
    wire: WireName, key: str, field: str, name: str
) -> None:
    expectation: dict[str, Any] = {key: 0.42}
    harness = Harness(script(turn(**expectation)))
    for fields, received in (({field: 0.5}, "0.5"), ({field: 1}, "1"), ({}, "undefined")):
        answer = await send_turn(harness, wire, "script", **fields)
        assert is_failure(answer, ERROR, f"Expected {name} 0.42 but received {received}")
    for near in (0.42, 0.4200009, 0.4199991):
        assert (await send_turn(harness, wire, "script", **{field: near})).text == "fine"


@EVERY_WIRE
async def test_reasoning_state_validation(wire: WireName) -> None:
    harness = Harness(
        script(turn(expectedReasoning="enabled"), id="on"),
        script(turn(expectedReasoning="disabled"), id="off"),
        script(turn(), id="either"),
    )
    thinking = THINKING[wire]
    answer = await send_turn(harness, wire, "on")
    assert is_failure(answer, ERROR, "Expected reasoning to remain enabled")
    answer = await send_turn(harness, wire, "off", **thinking)
    assert is_failure(answer, ERROR, "Expected reasoning to be disabled")
    for id, fields in (("on", thinking), ("off", {}), ("either", thinking), ("either", {})):
        assert (await send_turn(harness, wire, id, **fields)).text == "fine"


OFF: list[tuple[WireName, dict[str, Any]]] = [
    ("openai", {"reasoning_effort": "none"}),
    ("openai", {"reasoning": {"enabled": False}}),
    ("openai", {"reasoning_effort": None}),
    ("anthropic", {"thinking": {"type": "disabled"}}),
    ("anthropic", {"thinking": None}),
    ("ollama", {"think": False}),
    ("ollama", {"think": "none"}),
]


@pytest.mark.parametrize(("wire", "fields"), OFF)
async def test_reasoning_switched_off_counts_as_disabled(
    wire: WireName, fields: dict[str, Any]
) -> None:
    harness = Harness(script(turn(expectedReasoning="disabled")))
    assert (await send_turn(harness, wire, "script", **fields)).text == "fine"


STRICT = script(
    turn(
        expectedTools=["read"],
        expectedTemperature=0.5,
        expectedTopP=0.9,
        expectedReasoning="enabled",
    ),
    systemPromptMustInclude=["harness"],
)
EVERYTHING_WRONG = (
    "System prompt missing: harness",
    "Expected tools not available: read",
    "Expected temperature 0.5 but received undefined",
    "Expected topP 0.9 but received undefined",
    "Expected reasoning to remain enabled",
)


@EVERY_WIRE
async def test_the_execution_flow_checks_in_the_requirements_order(wire: WireName) -> None:
    harness = Harness(STRICT)
    valid_fields: list[tuple[str, dict[str, Any]]] = [
        ("system", {"system": "harness"}),
        ("tools", {"tools": ("read",)}),
        ("temperature", {"temperature": 0.5}),
        ("top_p", {"top_p": 0.9}),
    ]
    fields: dict[str, Any] = {}
    for message, (_, added_fields) in zip(EVERYTHING_WRONG, [*valid_fields, ("", {})], strict=True):
        assert is_failure(await send_turn(harness, wire, "script", **fields), ERROR, message)
        fields |= added_fields
    assert (await send_turn(harness, wire, "script", **fields, **THINKING[wire])).text == "fine"


@EVERY_WIRE
async def test_every_violation_is_in_the_journal_the_state_and_once_in_the_log(
    wire: WireName, caplog: pytest.LogCaptureFixture
) -> None:
    harness = Harness(STRICT)
    with caplog.at_level(logging.WARNING):
        await send_turn(harness, wire, "script")
        await send_turn(harness, wire, "nobody")
        await send_turn(harness, wire, "script", system="harness", turn=2)
    expected = (
        *EVERYTHING_WRONG,
        "Scenario not found: nobody",
        "No turn 2 in scenario script",
    )
    assert await violations(harness) == expected
    assert tuple(v for entry in harness.journal for v in entry.violations) == expected
    log_messages = [record.getMessage() for record in caplog.records]
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert [message.rpartition(": ")[2] for message in log_messages] == [
        violation.rpartition(": ")[2] for violation in expected
    ]
    assert all(line.endswith(text) for line, text in zip(log_messages, expected, strict=True))
    assert all(SESSION in line for line in log_messages)


@EVERY_WIRE
async def test_a_missing_turn_is_checked_for_its_system_prompt_alone(wire: WireName) -> None:
    harness = Harness(STRICT)
    answer = await send_turn(harness, wire, "script", turn=2)
    assert is_failure(answer, ERROR, "System prompt missing: harness")
    answer = await send_turn(harness, wire, "script", turn=2, system="harness")
    assert is_failure(answer, FALLBACK, "No turn 2 in scenario script")


@pytest.mark.parametrize("stream", [False, True])
@EVERY_WIRE
async def test_error_recovery_all_errors_produce_a_final_report(
    wire: WireName, stream: bool
) -> None:
    harness = Harness(PROMPT)
    answer = await send_turn(harness, wire, "script", stream=stream)
    assert is_failure(answer, ERROR, "System prompt missing: be kind, be brief")
    assert answer.finish == DIALECTS[wire].finish["tool-calls"]
    assert await violations(harness)
