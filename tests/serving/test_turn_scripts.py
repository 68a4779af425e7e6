"""Requirement 003's behaviours through the pipeline, on every wire."""

import json
import logging
from typing import Any

import pytest

from tests.engine.turn_scripts import calls, reports, says, script, turn
from tests.serving.modes import WIRES, WireName
from tests.serving.pipelines import Playing, scenario
from tests.serving.turns import SESSION, THINKING, Heard, hear, heard, talk, usage_of

EVERY_WIRE = pytest.mark.parametrize("wire", WIRES)
ERROR, FALLBACK = "Scenario validation failed.", "Encountered scenario mismatch."
TWO = script(turn(says("one")), turn(says("two"), 2), id="run-test-1")
RUN = "run-test-1"


def failed(answer: Heard, text: str, message: str) -> bool:
    """Whether an answer is one of the two that nobody scripts."""
    title = "Test Harness Error" if text == ERROR else "Scenario Failure"
    content = f"# {title}\n\n{message}"
    report = {"status": "failure", "report_format": "markdown", "report_content": content}
    return (answer.texts, answer.report, answer.thoughts) == ([text], report, [])


async def violations(playing: Playing) -> tuple[str, ...]:
    return (await playing.state.read(SESSION)).violations


@EVERY_WIRE
async def test_scenario_id_required_the_first_user_message_trimmed_is_it(wire: WireName) -> None:
    playing = Playing(TWO)
    assert (await hear(playing, wire, f" \n{RUN}\t")).text == "one"
    assert (await hear(playing, wire, RUN, turn=2)).text == "two"
    assert (await hear(playing, wire, RUN, model="gpt-4o")).text == "one"
    assert await violations(playing) == ()


@EVERY_WIRE
async def test_a_header_names_the_scenario_whatever_is_said(wire: WireName) -> None:
    playing = Playing(TWO, script(turn(says("other")), id="größe"))
    headers = {"x-mockllm-scenario": "gr%C3%B6%C3%9Fe"}
    assert (await hear(playing, wire, "Hello", headers=headers)).text == "other"
    assert (await hear(playing, wire, RUN, headers=headers)).text == "other"


@EVERY_WIRE
async def test_scenario_not_found_is_an_error_turn_for_a_test_model(wire: WireName) -> None:
    playing = Playing(TWO, scenario("any", {"produce": {"text": "matched"}}))
    for model in ("test-llm", "test-llm-x", "test-llm/gpt-4o"):
        answer = await hear(playing, wire, "nobody", model=model)
        assert failed(answer, ERROR, "Scenario not found: nobody")
    assert (await hear(playing, wire, "nobody", model="gpt-4o")).text == "matched"
    assert await violations(playing) == ("Scenario not found: nobody",) * 3
    assert [entry.outcome for entry in playing.journal] == ["complete"] * 4


@EVERY_WIRE
async def test_a_test_model_obeys_no_instruction_block(wire: WireName) -> None:
    block = '<|instruction_start|>{"messages": []}<|instruction_end|>'
    answer = await hear(Playing(TWO), wire, block)
    assert failed(answer, ERROR, f"Scenario not found: {block}")


@EVERY_WIRE
async def test_turn_computation_counts_every_assistant_message_and_one(wire: WireName) -> None:
    playing = Playing(TWO)
    messages = [
        {"role": "user", "content": RUN},
        {"role": "assistant", "content": "one"},
        {"role": "assistant", "content": "and more"},
        {"role": "user", "content": "go on"},
    ]
    answer = await hear(playing, wire, RUN, messages=messages, system="Be brief.")
    assert failed(answer, FALLBACK, f"No turn 3 in scenario {RUN}")
    assert await violations(playing) == (f"No turn 3 in scenario {RUN}",)


@EVERY_WIRE
async def test_a_turn_may_be_the_first_one_that_is_defined(wire: WireName) -> None:
    playing = Playing(script(turn(says("two"), 2)))
    assert (await hear(playing, wire, "script", turn=2)).text == "two"
    assert failed(await hear(playing, wire, "script"), FALLBACK, "No turn 1 in scenario script")


@pytest.mark.parametrize("stream", [False, True])
@EVERY_WIRE
async def test_deterministic_responses_to_the_byte(wire: WireName, stream: bool) -> None:
    response = calls({"toolName": "f"}, assistantText="text", reasoningContent="Hm.")
    answers = [
        (await Playing(script(turn(response))).ask(talk(wire, "script", stream=stream)))[2]
        for _ in range(2)
    ]
    assert answers[0] == answers[1]


@EVERY_WIRE
async def test_a_turn_answers_again_and_again_and_consumes_nothing(wire: WireName) -> None:
    playing = Playing(TWO)
    assert [(await hear(playing, wire, RUN)).text for _ in range(3)] == ["one"] * 3
    assert (await playing.state.read(SESSION)).consumed == ()


PROMPT = script(turn(), systemPromptMustInclude=["be kind", "be brief"])


@EVERY_WIRE
@pytest.mark.parametrize(
    ("system", "missing"),
    [("", "be kind, be brief"), ("be kind", "be brief"), ("Be Kind. be brief", "be kind")],
)
async def test_system_prompt_missing_fragments(wire: WireName, system: str, missing: str) -> None:
    playing = Playing(PROMPT)
    answer = await hear(playing, wire, "script", system=system)
    assert failed(answer, ERROR, f"System prompt missing: {missing}")
    held = await hear(playing, wire, "script", system="Always be brief and be kind.")
    assert held.text == "fine"


TOOLS = script(turn(expectedTools=["get weather", "agent__batch", "read"]))


@EVERY_WIRE
async def test_tool_validation(wire: WireName) -> None:
    playing = Playing(TOOLS)
    answer = await hear(playing, wire, "script", tools=("get_weather",))
    assert failed(answer, ERROR, "Expected tools not available: read")
    answer = await hear(playing, wire, "script")
    assert failed(answer, ERROR, "Expected tools not available: get weather, read")
    answer = await hear(playing, wire, "script", tools=("get_weather<|x|>", "read", "more"))
    assert answer.text == "fine"


@EVERY_WIRE
async def test_allow_missing_tools_skips_tool_validation(wire: WireName) -> None:
    playing = Playing(script(turn(expectedTools=["read"], allowMissingTools=True)))
    assert (await hear(playing, wire, "script")).text == "fine"


@EVERY_WIRE
@pytest.mark.parametrize(
    ("key", "field", "name"),
    [("expectedTemperature", "temperature", "temperature"), ("expectedTopP", "top_p", "topP")],
)
async def test_temperature_and_top_p_validation(
    wire: WireName, key: str, field: str, name: str
) -> None:
    playing = Playing(script(turn(**{key: 0.42})))
    for given, said in (({field: 0.5}, "0.5"), ({field: 1}, "1"), ({}, "undefined")):
        answer = await hear(playing, wire, "script", **given)
        assert failed(answer, ERROR, f"Expected {name} 0.42 but received {said}")
    for near in (0.42, 0.4200009, 0.4199991):
        assert (await hear(playing, wire, "script", **{field: near})).text == "fine"


@EVERY_WIRE
async def test_reasoning_state_validation(wire: WireName) -> None:
    playing = Playing(
        script(turn(expectedReasoning="enabled"), id="on"),
        script(turn(expectedReasoning="disabled"), id="off"),
        script(turn(), id="either"),
    )
    thinking = THINKING[wire]
    answer = await hear(playing, wire, "on")
    assert failed(answer, ERROR, "Expected reasoning to remain enabled")
    answer = await hear(playing, wire, "off", **thinking)
    assert failed(answer, ERROR, "Expected reasoning to be disabled")
    for id, fields in (("on", thinking), ("off", {}), ("either", thinking), ("either", {})):
        assert (await hear(playing, wire, id, **fields)).text == "fine"


OFF: list[tuple[WireName, dict[str, Any]]] = [
    ("openai", {"reasoning_effort": "none"}),
    ("openai", {"reasoning": {"enabled": False}}),
    ("openai", {"reasoning_effort": None}),
    ("anthropic", {"thinking": {"type": "disabled"}}),
    ("anthropic", {"thinking": None}),
]


@pytest.mark.parametrize(("wire", "fields"), OFF)
async def test_reasoning_that_is_said_to_be_off_is_disabled(
    wire: WireName, fields: dict[str, Any]
) -> None:
    playing = Playing(script(turn(expectedReasoning="disabled")))
    assert (await hear(playing, wire, "script", **fields)).text == "fine"


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
    playing = Playing(STRICT)
    right: list[tuple[str, dict[str, Any]]] = [
        ("system", {"system": "harness"}),
        ("tools", {"tools": ("read",)}),
        ("temperature", {"temperature": 0.5}),
        ("top_p", {"top_p": 0.9}),
    ]
    fields: dict[str, Any] = {}
    for message, (_, more) in zip(EVERYTHING_WRONG, [*right, ("", {})], strict=True):
        assert failed(await hear(playing, wire, "script", **fields), ERROR, message)
        fields |= more
    assert (await hear(playing, wire, "script", **fields, **THINKING[wire])).text == "fine"


@EVERY_WIRE
async def test_every_violation_is_in_the_journal_the_state_and_once_in_the_log(
    wire: WireName, caplog: pytest.LogCaptureFixture
) -> None:
    playing = Playing(STRICT)
    with caplog.at_level(logging.WARNING):
        await hear(playing, wire, "script")
        await hear(playing, wire, "nobody")
        await hear(playing, wire, "script", system="harness", turn=2)
    expected = (
        *EVERYTHING_WRONG,
        "Scenario not found: nobody",
        "No turn 2 in scenario script",
    )
    assert await violations(playing) == expected
    assert tuple(v for entry in playing.journal for v in entry.violations) == expected
    logged = [record.getMessage() for record in caplog.records]
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert [message.rpartition(": ")[2] for message in logged] == [
        violation.rpartition(": ")[2] for violation in expected
    ]
    assert all(line.endswith(text) for line, text in zip(logged, expected, strict=True))
    assert all(SESSION in line for line in logged)


@EVERY_WIRE
async def test_a_missing_turn_is_checked_for_its_system_prompt_alone(wire: WireName) -> None:
    playing = Playing(STRICT)
    answer = await hear(playing, wire, "script", turn=2)
    assert failed(answer, ERROR, "System prompt missing: harness")
    answer = await hear(playing, wire, "script", turn=2, system="harness")
    assert failed(answer, FALLBACK, "No turn 2 in scenario script")


@pytest.mark.parametrize("stream", [False, True])
@EVERY_WIRE
async def test_error_recovery_all_errors_produce_a_final_report(
    wire: WireName, stream: bool
) -> None:
    playing = Playing(PROMPT)
    answer = await hear(playing, wire, "script", stream=stream)
    assert failed(answer, ERROR, "System prompt missing: be kind, be brief")
    assert answer.finish == ("tool_calls" if wire == "openai" else "tool_use")
    assert await violations(playing)


@EVERY_WIRE
async def test_default_usage_is_64_32_96(wire: WireName) -> None:
    playing = Playing(TWO)
    for said in (RUN, "nobody"):
        _, _, body = await playing.ask(talk(wire, said))
        usage = usage_of(wire, body, stream=False)
        if wire == "openai":
            counts = ("prompt_tokens", "completion_tokens", "total_tokens")
            assert [usage[key] for key in counts] == [64, 32, 96]
        else:
            assert (usage["input_tokens"], usage["output_tokens"]) == (64, 32)


async def test_scripted_usage_is_sent_in_each_wires_own_terms() -> None:
    usage = {
        "inputTokens": 90,
        "outputTokens": 30,
        "totalTokens": 125,
        "reasoningTokens": 7,
        "cacheReadInputTokens": 40,
        "cacheWriteInputTokens": 45,
    }
    playing = Playing(script(turn(says("a", tokenUsage=usage))))
    _, _, body = await playing.ask(talk("openai", "script"))
    sent = json.loads(body)["usage"]
    assert [sent[f"{key}_tokens"] for key in ("prompt", "completion", "total")] == [90, 30, 125]
    assert sent["prompt_tokens_details"]["cached_tokens"] == 40
    assert sent["completion_tokens_details"]["reasoning_tokens"] == 7
    _, _, body = await playing.ask(talk("anthropic", "script"))
    sent = json.loads(body)["usage"]
    assert (sent["input_tokens"], sent["output_tokens"]) == (90, 30)
    assert sent["cache_read_input_tokens"] == 40
    assert sent["cache_creation_input_tokens"] == 45


@EVERY_WIRE
async def test_provider_metadata_preservation(wire: WireName) -> None:
    metadata = {"actualProvider": "router/x", "costs": [0.5], "openai": {"tier": 1}}
    playing = Playing(script(turn(says("a", providerMetadata=metadata))))
    _, _, body = await playing.ask(talk(wire, "script"))
    answer = json.loads(body)
    assert (answer["actualProvider"], answer["costs"]) == ("router/x", [0.5])
    assert answer.get("tier") == (1 if wire == "openai" else None)


@pytest.mark.parametrize("stream", [False, True])
@EVERY_WIRE
async def test_large_response_handling(wire: WireName, stream: bool) -> None:
    content, argument = "Zeile – 1\n" * 40_000, "x" * 300_000
    playing = Playing(
        script(
            turn(reports(content)), turn(calls({"toolName": "f", "arguments": {"a": argument}}), 2)
        )
    )
    answer = await hear(playing, wire, "script", stream=stream)
    assert answer.report["report_content"] == content
    answer = await hear(playing, wire, "script", stream=stream, turn=2)
    assert answer.calls == [("call-1", "f", {"a": argument})]


@pytest.mark.parametrize("stream", [False, True])
@EVERY_WIRE
async def test_templates_of_our_own_form_are_plain_text_in_a_script(
    wire: WireName, stream: bool
) -> None:
    text = "{{ request.model }} {{x}} {{ braces }}"
    response = calls({"toolName": "f", "arguments": {text: [text]}}, assistantText=text)
    answer = await hear(Playing(script(turn(response))), wire, "script", stream=stream)
    assert (answer.text, answer.calls) == (text, [("call-1", "f", {text: [text]})])


def thought(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    """A conversation in its second turn: the first answer thought these blocks and used a tool."""
    use = {"type": "tool_use", "id": "c", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": "sunny"}
    return [
        {"role": "user", "content": "script"},
        {"role": "assistant", "content": [*blocks, use]},
        {"role": "user", "content": [result]},
    ]


UNSIGNED = {"type": "thinking", "thinking": "Hm.", "signature": ""}
SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "sig"}
HIDDEN = {"type": "redacted_thinking", "data": "xyz"}


async def test_signature_validation_unsigned_thinking_counts_as_disabled_later() -> None:
    playing = Playing(
        script(
            turn(expectedReasoning="enabled"),
            turn(expectedReasoning="enabled", number=2),
        )
    )
    thinking = THINKING["anthropic"]
    for blocks in ((UNSIGNED,), (UNSIGNED, UNSIGNED)):
        fields = {"messages": thought(*blocks), **thinking}
        answer = await hear(playing, "anthropic", "script", **fields)
        assert failed(answer, ERROR, "Expected reasoning to remain enabled")
    for kept in ((), (SIGNED,), (HIDDEN,), (UNSIGNED, SIGNED)):
        fields = {"messages": thought(*kept), **thinking}
        assert (await hear(playing, "anthropic", "script", **fields)).text == "fine"


async def test_signature_preservation_is_the_affair_of_wires_that_have_signatures() -> None:
    playing = Playing(script(turn(expectedReasoning="enabled", number=2)))
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "script"},
        {"role": "assistant", "content": None, "reasoning": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "sunny"},
    ]
    answer = await hear(playing, "openai", "script", messages=messages, reasoning_effort="low")
    assert answer.text == "fine"


async def test_unsigned_thinking_is_not_counted_in_the_tokens_of_an_answer() -> None:
    playing = Playing(scenario("any", {"consume": False, "produce": {"text": "a"}}))
    counts = []
    for blocks in ((), (UNSIGNED,), (SIGNED,)):
        call = talk("anthropic", "script", model="claude-x", messages=thought(*blocks))
        _, _, body = await playing.ask(call)
        counts.append(usage_of("anthropic", body, stream=False)["input_tokens"])
    assert counts[0] == counts[1] < counts[2]


@EVERY_WIRE
async def test_a_sessions_own_script_is_the_one_that_it_gets(wire: WireName) -> None:
    playing = Playing(TWO)
    own = script(turn(says("mine")), id=RUN)
    await playing.state.put_scenario(SESSION, RUN, own)
    assert (await hear(playing, wire, RUN)).text == "mine"
    headers = {"x-mockllm-session": "another"}
    assert (await hear(playing, wire, RUN, headers=headers)).text == "one"


@EVERY_WIRE
async def test_stream_conversion_gives_the_whole_answer_in_pieces(wire: WireName) -> None:
    response = calls(
        {"toolName": "f", "assistantText": "then", "arguments": {"a": "some words"}},
        {"toolName": "g", "arguments": {}},
        assistantText="one two three four five six seven",
        reasoning=[
            {"text": "r", "providerMetadata": {"anthropic": {"signature": "sig"}}},
            {"text": "s"},
        ],
    )
    playing = Playing(script(turn(response)))
    whole = await hear(playing, wire, "script")
    _, headers, body = await playing.ask(talk(wire, "script", stream=True))
    assert headers["content-type"].startswith("text/event-stream")
    assert heard(wire, body, stream=True) == whole
    assert body.count(b"data: ") > 10
