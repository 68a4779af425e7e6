"""A final report ends an answer, whichever provider says it: its content is the answer's text, and
nobody is asked to run it."""

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
from tests.chat.chatting import (
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


async def record(handle: StreamHandle) -> dict[str, Any]:
    trace = await trace_of(handle)
    return await in_database(lambda: trace_record(trace))


async def public_events(handle: StreamHandle) -> list[StreamEvent]:
    """Its events, whose texts joined are those of its end, of its log and of what is stored."""
    said = await events_of(handle)
    last = said[-1]
    assert isinstance(last, Complete)
    joined = "".join(event.content for event in said if isinstance(event, TextDelta))
    answer = (await messages_of(handle))[-1]
    assert joined == last.text == text_of(await log_of(handle.id)) == answer.content
    assert answer.status == "complete"
    return said


@pytest.mark.parametrize("provider_id", PROVIDERS)
async def test_a_report_is_the_answer(chat: Chat, provider_id: str) -> None:
    await chat.script(scenario(ANSWER))
    handle = await chat.send(profile=await chat.profile(provider_id=provider_id))
    assert (await public_events(handle))[-1] == Complete(TEXT, "Was there anything?")
    assert [event.type for event in await log_of(handle.id)] == [
        "started",
        "thinking",
        *["chunk"] * 2,
        "done",
    ]
    trace_json = await record(handle)
    assert (trace_json["status"], trace_json["report"]) == (
        "completed",
        {**REPORT, "messages": None},
    )
    assert (trace_json["totals"]["model_calls"], trace_json["totals"]["tool_calls"]) == (1, 0)


async def test_a_test_llm_profile_has_it_too(chat: Chat) -> None:
    await chat.script(
        scenario(select="first_user_message", name="report")
        | {"steps": [{"turn": 1, "produce": ANSWER}]}
    )
    handle = await chat.send("report", profile=await chat.profile(provider_id="test-llm"))
    assert (await public_events(handle))[-1] == Complete(TEXT, "Was there anything?")


async def test_a_report_alone_is_the_whole_text(chat: Chat) -> None:
    await chat.script(scenario({"final_report": {"report_content": " \n# All is well␄ dropped"}}))
    handle = await chat.send()
    assert (await public_events(handle))[-1] == Complete("# All is well")


async def test_an_empty_report_ends_the_answer_as_well(chat: Chat) -> None:
    await chat.script(scenario({"final_report": {"report_content": ""}}))
    handle = await chat.send()
    assert await public_events(handle) == [Complete("")]
    assert (await trace_of(handle)).model_calls == 1


async def test_the_next_prompt_has_it_as_the_assistants_text(chat: Chat) -> None:
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
    await public_events(first)
    second = await chat.send("And?", conversation_id=first.conversation_id)
    assert (await events_of(second))[-1] == Complete("I know.")


async def test_a_failure_is_an_answer_that_says_so(chat: Chat) -> None:
    await chat.script(scenario({"final_report": {**REPORT, "status": "failure"}}))
    handle = await chat.send()
    await public_events(handle)
    assert (await trace_of(handle)).status == Status.COMPLETED
    assert (await record(handle))["report"]["status"] == "failure"


async def test_calls_beside_it_run_first(chat: Chat) -> None:
    await chat.script(scenario({"text": "Adding.", **TOOL_CALL, "final_report": REPORT}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    said = await public_events(handle)
    assert ToolResult("call_1", "3") in said
    assert said[-1] == Complete(
        f"Adding.\n\n{REPORT['report_content']}",
        None,
        (ToolCall("call_1", "add", '{"a":1,"b":2}'),),
    )
    kinds = [event.type for event in await log_of(handle.id)]
    assert kinds[1:] == ["chunk", "tool_start", "tool_output", "tool_end", "chunk", "done"]
    assert (await trace_of(handle)).model_calls == 1
    [one] = (await messages_of(handle))[1].rounds
    assert [result["content"] for result in one["results"]] == ["3"]
    assert one["parts"][-1] == {"text": REPORT["report_content"]}


async def test_in_the_last_round_it_is_in_time(chat: Chat, settings: Any) -> None:
    settings.CHAT_MAX_ROUNDS = 2
    await chat.script(scenario(TOOL_CALL, {**TOOL_CALL, "final_report": REPORT}))
    handle = await chat.send(profile=await chat.profile(mcp_servers=["demo"]))
    last = (await public_events(handle))[-1]
    assert isinstance(last, Complete) and last.text == REPORT["report_content"]
    assert (await trace_of(handle)).tool_calls == 2


async def test_a_call_without_a_report_in_it_may_be_tried_again(chat: Chat) -> None:
    broken = {"id": "r", "name": REPORT_TOOL, "arguments": {"status": "success"}}
    await chat.script(scenario({"tool_calls": [broken]}, {"final_report": REPORT}))
    handle = await chat.send()
    said = await public_events(handle)
    call = ToolCall("r", REPORT_TOOL, '{"status":"success"}')
    assert ToolCallStart("r", REPORT_TOOL) in said
    [result] = [event for event in said if isinstance(event, ToolResult)]
    assert (result.result, result.code) == (
        "Error: the report has no report_content, which is a text",
        "VALIDATION_ERROR",
    )
    assert said[-1] == Complete(REPORT["report_content"], None, (call,))


async def test_log_of_a_reported_run_ends_like_its_events(chat: Chat) -> None:
    await chat.script(scenario(ANSWER), scenario(ANSWER, name="again"))
    handle = await chat.send(client_message_id="1")
    ended = (await public_events(handle))[-1]
    again = await chat.send(client_message_id="1")
    assert (again.replayed, (await events_of(again))[-1]) == (True, ended)
