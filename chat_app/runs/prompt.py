"""Builds the prompt of a run from the stored conversation, with a summary if one is due."""

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, fields
from functools import partial
from uuid import UUID

from django.db.models import F
from django.utils import timezone

from chat_app.clients.registry import get_client
from chat_app.errors import ChatError
from chat_app.models import ABComparison, ContextState, Message, Sender
from chat_app.prompt.context import ContextPlan, Summary, plan_context
from chat_app.prompt.messages import PastMessage, prompt_messages
from chat_app.prompt.summaries import SummaryTask, summary_request
from chat_app.runs.accept import OpenedRun
from chat_app.runs.model_calls import SUMMARY, ModelCalls
from chat_app.runs.tool_calls import find_final_report
from chat_app.stream import StreamPipeline
from chat_app.values.model_call import Tool
from mockllm_site.kit.database_thread import in_database
from traces_app.models import ModelCall


@dataclass(frozen=True, slots=True)
class History:
    """Messages in order, preferred branches by number of the user's message, and the summary."""

    messages: tuple[PastMessage, ...]
    preferences: Mapping[int, str]
    state: Summary | None


async def _load_history(message: Message) -> History:
    """Load the conversation up to the message that is to be answered."""
    if message.number == 1:
        # The first message has no history, no votes and no summary.
        return History((PastMessage(1, Sender.USER, message.content),), {}, None)
    return await in_database(partial(_query_history, message.conversation_id, up_to=message.number))


def _query_history(conversation_id: UUID, *, up_to: int) -> History:
    """Return a conversation's messages up to number `up_to`, and all votes and the summary."""
    rows = Message.objects.filter(conversation=conversation_id, number__lte=up_to)
    messages = rows.order_by("number").values(*_field_names(PastMessage))
    voted = ABComparison.objects.filter(conversation=conversation_id).exclude(preference="")
    summaries = ContextState.objects.filter(conversation=conversation_id)
    return History(
        tuple(PastMessage(**row) for row in messages),
        preferences=dict(voted.values_list(F("user_message__number"), "preference")),
        state=next((Summary(**row) for row in summaries.values(*_field_names(Summary))), None),
    )


def store_summary(conversation_id: UUID, state: Summary | None) -> None:
    """Store the conversation's summary, or delete it."""
    if state is None:
        ContextState.objects.filter(conversation=conversation_id).delete()
    else:
        ContextState.objects.update_or_create(
            conversation_id=conversation_id,
            defaults={**asdict(state), "created_at": timezone.now()},
        )


def _field_names(value: type[PastMessage | Summary]) -> list[str]:
    return [field.name for field in fields(value)]


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunPrompt:
    """The prompt of a run; `changed` is true if the plan's summary is to be stored."""

    plan: ContextPlan
    changed: bool


async def prompt_events(
    opened: OpenedRun, *, tools: Sequence[Tool], calls: ModelCalls
) -> AsyncGenerator[ModelCall | RunPrompt, None]:
    """Yield the prompt of a run's first model call, after the rows of the summary's call, if any.
    Without a summary, all messages are sent, or beyond the model's limit those at both ends."""
    profile = opened.profile
    history = await _load_history(opened.message)
    plan = plan_context(
        prompt_messages(history.messages, profile.provider_id, preferences=history.preferences),
        system_prompt=profile.system_prompt,
        tools=tools,
        limit=profile.context_limit,
        strategy=profile.context_strategy,
        state=history.state,
    )
    if plan.task is not None:
        async with aclosing(_summary_events(opened, plan.task, calls)) as events:
            async for event in events:
                if isinstance(event, ModelCall):
                    yield event
                else:
                    plan = plan.with_summary(event)
    yield RunPrompt(plan, changed=plan.state != history.state)


async def _summary_events(
    opened: OpenedRun, task: SummaryTask, calls: ModelCalls
) -> AsyncGenerator[ModelCall | str, None]:
    """Call the model for a summary: yield the rows of its call, then the text, empty on failure.
    The text is not yielded as it comes, because summaries are not streamed."""
    client = get_client(opened.profile, session=f"{opened.session}-summary")
    pipeline = StreamPipeline()
    request = summary_request(opened.profile, task)
    call = calls.begin(request, pipeline=pipeline, purpose=SUMMARY)
    text = ""
    try:
        async with aclosing(call.events(client)) as events:
            async for event in events:
                if isinstance(event, ModelCall):
                    yield event
    except ChatError as error:
        log.warning("conversation %s: no summary (%s)", opened.trace.conversation_id, error)
    else:
        report = find_final_report(call.round.calls)
        if report is None:
            text = pipeline.complete().text
        elif not report.failed:
            text = report.report_content
    finally:
        await client.aclose()
    yield text
