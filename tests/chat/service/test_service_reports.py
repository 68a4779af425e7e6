"""A final report ends an answer of any provider: its content becomes text and no tool is called."""

from typing import Any

import pytest

from chat_app.service import StreamHandle
from chat_app.values.events import (
    Complete,
    StreamEvent,
    TextDelta,
    ToolCall,
    ToolCallStart,
    ToolResult,
)
from mockllm_site.kit.database_thread import in_database
from tests.chat.chat_helpers import (
    Chat,
    events_of,
    log_of,
    messages_of,
    scenario,
    text_of,
    trace_of,
)
from tests.chat.scripts import TOOL_CALL
from traces_app.models import Status
from traces_app.reports import REPORT_TOOL
from traces_app.selectors import trace_record

PROVIDERS = ("openai", "anthropic", "google", "openrouter", "ollama", "somebody-elses")
REPORT = {
    "status": "success",
    "report_format": "markdown",
    "report_content": "# All is well\n\nNothing to do.",
    "content_json": {"severity": 0},
}
TEXT = "Here is what I found.\n\n# All is well\n\nNothing to do."
ANSWER: dict[str, Any] = {
    "reasoning": "Was there anything?",
    "text": "Here is what I found.",
    "final_report": REPORT,
}


async def load_trace_record(handle: StreamHandle) -> dict[str, Any]:
    trace = await trace_of(handle)
    return await in_database(lambda: trace_record(trace))


async def consistent_events(handle: StreamHandle) -> list[StreamEvent]:
    """Return the events of a run, asserting that all its texts are equal to the stored one."""
    events = await events_of(handle)
    last = events[-1]
    assert isinstance(last, Complete)
    text = "".join(event.content for event in events if isinstance(event, TextDelta))
    answer = (await messages_of(handle))[-1]
    assert text == last.text == text_of(await log_of(handle.id)) == answer.content
    assert answer.status == "complete"
    return events


@pytest.mark.parametrize("provider_id", PROVIDERS)
async def test_a_report_is_the_answer(chat: Chat, provider_id: str) -> None:
    await chat.script(scenario(ANSWER))
    handle = await chat.send(profile=await chat.profile(provider_id=provider_id))
    assert (await consistent_events(handle))[-1] == Complete(TEXT, "Was there anything?")
    assert [event.type for event in await log_of(handle.id)] == [
        "started",
        "thinking",
        *["chunk"] * 2,
        "done",
    ]
    trace_json = await load_trace_record(handle)
    assert (trace_json["status"], trace_json["report"]) == (
        "completed",
        {**REPORT, "messages": None},
    )
    assert (trace_json["totals"]["model_calls"], trace_json["totals"]["tool_calls"]) == (1, 0)


async def test_llm_profile_answers_with_the_report(chat: Chat) -> None:
    await chat.script(
        scenario(select="first_user_message", name="report")
        | {"steps": [{"turn": 1, "produce": ANSWER}]}
    )
    handle = await chat.send("report", profile=await chat.profile(provider_id="test-llm"))
    assert (await consistent_events(handle))[-1] == Complete(TEXT, "Was there anything?")


async def test_report_without_text_is_the_answer(chat: Chat) -> None:
    await chat.script(scenario({"final_report": {"report_content": " \n# All is well␄ dropped"}}))
    handle = await chat.send()
    assert (await consistent_events(handle))[-1] == Complete("# All is well")


async def test_an_empty_report_ends_the_answer_as_well(chat: Chat) -> None:
    await chat.script(scenario({"final_report": {"report_content": ""}}))
    handle = await chat.send()
    assert await consistent_events(handle) == [Complete("")]
    assert (await trace_of(handle)).model_calls == 1


async def test_next_prompt_has_the_report_as_assistant_text(chat: Chat) -> None:
    later = {
        "name": "later",
        "priority": 1,
        "steps": [
            {
                "turn": 2,
                "match": {"messages": [{"role": "assistant", "equals": TEXT}]},
                "produce": {"text": "I know."},
            }
        ],
    }
    await chat.script(scenario(ANSWER), later)
    first = await chat.send()
    await consistent_events(first)
    second = await chat.send("And?", conversation_id=first.conversation_id)
    assert (await events_of(second))[-1] == Complete("I know.")


async def test_failure_report_completes_the_run(chat: Chat) -> None:
    await chat.script(scenario({"final_report": {**REPORT, "status": "failure"}}))
    handle = await chat.send()
    await consistent_events(handle)
    assert (await trace_of(handle)).status == Status.COMPLETED
    assert (await load_trace_record(handle))["report"]["status"] == "failure"


async def test_tool_calls_beside_a_report_run_first(chat: Chat) -> None:
    await chat.script(scenario({"text": "Adding.", **TOOL_CALL, "final_report": REPORT}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    events = await consistent_events(handle)
    assert ToolResult("call_1", "3") in events
    assert events[-1] == Complete(
        f"Adding.\n\n{REPORT['report_content']}",
        None,
        (ToolCall("call_1", "add", '{"a":1,"b":2}'),),
    )
    event_types = [event.type for event in await log_of(handle.id)]
    assert event_types[1:] == ["chunk", "tool_start", "tool_output", "tool_end", "chunk", "done"]
    assert (await trace_of(handle)).model_calls == 1
    [stored_round] = (await messages_of(handle))[1].rounds
    assert [result["content"] for result in stored_round["results"]] == ["3"]
    assert stored_round["parts"][-1] == {"text": REPORT["report_content"]}


async def test_report_is_accepted_in_the_last_round(chat: Chat, settings: Any) -> None:
    settings.CHAT_MAX_ROUNDS = 2
    await chat.script(scenario(TOOL_CALL, {**TOOL_CALL, "final_report": REPORT}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    last = (await consistent_events(handle))[-1]
    assert isinstance(last, Complete) and last.text == REPORT["report_content"]
    assert (await trace_of(handle)).tool_calls == 2


async def test_report_call_without_content_may_be_repeated(chat: Chat) -> None:
    call_without_content = {"id": "r", "name": REPORT_TOOL, "arguments": {"status": "success"}}
    await chat.script(scenario({"tool_calls": [call_without_content]}, {"final_report": REPORT}))
    handle = await chat.send()
    events = await consistent_events(handle)
    call = ToolCall("r", REPORT_TOOL, '{"status":"success"}')
    assert ToolCallStart("r", REPORT_TOOL) in events
    [result] = [event for event in events if isinstance(event, ToolResult)]
    assert (result.result, result.code) == (
        "Error: the report has no report_content, which is a text",
        "VALIDATION_ERROR",
    )
    assert events[-1] == Complete(REPORT["report_content"], None, (call,))


async def test_log_of_a_reported_run_ends_like_its_events(chat: Chat) -> None:
    await chat.script(scenario(ANSWER), scenario(ANSWER, name="again"))
    handle = await chat.send(client_message_id="1")
    last_event = (await consistent_events(handle))[-1]
    again = await chat.send(client_message_id="1")
    assert (again.replayed, (await events_of(again))[-1]) == (True, last_event)
