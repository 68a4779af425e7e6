"""Every scenario of the shipped fixture `turns` through the chat."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.core.management import call_command

from chat_app.models import ModelProfile
from chat_app.service import StreamHandle
from chat_app.tools import ToolOutcome
from chat_app.values.events import Complete, Error
from chat_app.values.model_call import Tool
from mockllm_site.kit.database_thread import in_database
from scenarios_app.models import Scenario
from scenarios_app.serving.services import services
from tests.chat.chat_helpers import Chat, events_of, log_of, messages_of, text_of, trace_of
from tests.chat.service.test_service_reports import PROVIDERS, load_trace_record

TOOL_NAMES = ("read_metrics", "read_logs")
OUTAGE = (
    "I will look at the service first.\n\nIts logs may say more.\n\nHere is what I found.\n\n"
    "# Checkout outage\n\nThe nightly export keeps every database connection."
)
THOUGHTS = (
    "Errors began half an hour ago, so I start there.\n\n"
    "The pool is empty: somebody else holds its connections."
)
ERROR, FALLBACK = "Scenario validation failed.", "Encountered scenario mismatch."


class OnCallToolbox:
    """A toolbox with the tools that the scenarios expect."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def available_tools(self, servers: Sequence[str]) -> tuple[Tool, ...]:
        return tuple(Tool(name, name, {"type": "object"}) for name in TOOL_NAMES)

    async def call(self, servers: Sequence[str], name: str, *, arguments: Any) -> ToolOutcome:
        self.calls.append(name)
        return ToolOutcome("ok")


@pytest.fixture
def toolbox(monkeypatch: pytest.MonkeyPatch) -> OnCallToolbox:
    box = OnCallToolbox()
    monkeypatch.setattr("chat_app.runs.answer.toolbox", lambda: box)
    return box


@pytest.fixture
async def profile(chat: Chat, request: pytest.FixtureRequest) -> ModelProfile:
    await in_database(lambda: call_command("loaddata", "turns", verbosity=0))
    return await chat.profile(
        provider_id=getattr(request, "param", "test-llm"),
        system_prompt="You are on call.",
        temperature=1.0,
        enable_thinking=True,
    )


async def violations(handle: StreamHandle) -> Sequence[str]:
    return (await services().state.read(f"chat-{handle.conversation_id}")).violations


async def complete_text(handle: StreamHandle) -> str:
    """Return the text of a complete answer, asserting that it is logged and stored."""
    last = (await events_of(handle))[-1]
    assert isinstance(last, Complete)
    assert last.text == text_of(await log_of(handle.id))
    assert last.text == (await messages_of(handle))[-1].content
    return last.text


@pytest.mark.parametrize("profile", ["test-llm", *PROVIDERS], indirect=True)
async def test_an_investigation_ends_with_its_report(
    chat: Chat, profile: ModelProfile, toolbox: OnCallToolbox
) -> None:
    handle = await chat.send("investigate-outage", profile=profile)
    assert await complete_text(handle) == OUTAGE
    assert toolbox.calls == [*TOOL_NAMES, "agent__task_status"]
    record = await load_trace_record(handle)
    assert (await messages_of(handle))[1].thinking == THOUGHTS
    assert record["totals"]["model_calls"] == 3
    assert record["report"]["status"] == "success"
    assert record["report"]["content_json"]["cause"] == "nightly export"
    assert await violations(handle) == ()


async def test_two_attempts_fail_and_the_third_is_answered(
    chat: Chat, profile: ModelProfile
) -> None:
    first = await chat.send("busy-then-fine", profile=profile)
    assert (await events_of(first))[-1] == Error("Rate limited, try again", "RATE_LIMITED")
    conversation_id = first.conversation_id
    second = await chat.send("busy-then-fine", profile=profile, conversation_id=conversation_id)
    assert isinstance((await events_of(second))[-1], Error)
    third = await chat.send("busy-then-fine", profile=profile, conversation_id=conversation_id)
    assert await complete_text(third) == "Now there is time for you."


async def test_thrown_failure_has_its_message(chat: Chat, profile: ModelProfile) -> None:
    first = await chat.send("no-such-account", profile=profile)
    expected = Error("This account is closed.", "SERVICE_UNAVAILABLE")
    assert (await events_of(first))[-1] == expected
    again = await chat.send("again", profile=profile, conversation_id=first.conversation_id)
    assert await complete_text(again) == "The account is open again."


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            "careful-settings",
            f"{ERROR}\n\n# Test Harness Error\n\nExpected topP 0.95 but received undefined",
        ),
        (
            "investigate-outage",
            f"{ERROR}\n\n# Test Harness Error\n\n"
            "Expected tools not available: read_metrics, read_logs",
        ),
        ("nosuch", f"{ERROR}\n\n# Test Harness Error\n\nScenario not found: nosuch"),
        ("nothing-yet", f"{FALLBACK}\n\n# Scenario Failure\n\nNo turn 1 in scenario nothing-yet"),
    ],
)
async def test_failed_turn_script_answers_with_a_failure_report(
    chat: Chat, profile: ModelProfile, message: str, text: str
) -> None:
    handle = await chat.send(message, profile=profile)
    assert await complete_text(handle) == text
    trace, record = await trace_of(handle), await load_trace_record(handle)
    assert (trace.status, trace.model_calls, trace.tool_calls) == ("completed", 1, 0)
    assert record["report"]["status"] == "failure"
    # The violation that fails the session.
    assert [text.split("\n\n")[-1]] == list(await violations(handle))


async def test_a_conversation_beyond_the_last_turn_gets_the_fallback_step(
    chat: Chat, profile: ModelProfile, toolbox: OnCallToolbox
) -> None:
    first = await chat.send("investigate-outage", profile=profile)
    await complete_text(first)
    second = await chat.send("And now?", profile=profile, conversation_id=first.conversation_id)
    assert (await complete_text(second)).endswith("No turn 4 in scenario investigate-outage")


async def test_every_scenario_of_the_fixture_is_tested(chat: Chat, profile: ModelProfile) -> None:
    names = await in_database(lambda: sorted(Scenario.objects.values_list("name", flat=True)))
    assert names == [
        "busy-then-fine", "careful-settings", "investigate-outage", "no-such-account",
        "nothing-yet",
    ]  # fmt: skip
