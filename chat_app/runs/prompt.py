"""Builds the prompt of a run from the stored conversation, with a summary if one is due."""

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Any
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


async def _load_history(opened: OpenedRun) -> History:
    """Load the conversation up to the message that is to be answered."""
    if opened.user_message_number == 1:
        # The first message has no history, no votes and no summary.
        return History((PastMessage(1, Sender.USER, opened.text),), {}, None)
    up_to = opened.user_message_number
    return await in_database(partial(history_of, opened.conversation_id, up_to=up_to))


def history_of(conversation_id: UUID, *, up_to: int) -> History:
    """Return a stored conversation up to the message of that number."""
    rows = Message.objects.filter(conversation=conversation_id, number__lte=up_to)
    return History(
        messages=tuple(
            PastMessage(
                number=row.number,
                sender=row.sender,
                content=row.content,
                rounds=row.rounds,
                status=row.status,
                provider_id=row.provider_id,
                branch=row.branch,
            )
            for row in rows.order_by("number")
        ),
        preferences=preferences_of(conversation_id),
        state=_stored_summary(conversation_id),
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


def _stored_summary(conversation_id: UUID) -> Summary | None:
    columns = [field.name for field in fields(Summary)]
    rows = ContextState.objects.filter(conversation=conversation_id)
    return next((Summary(**row) for row in rows.values(*columns)), None)


def preferences_of(conversation_id: Any) -> dict[int, str]:
    """Return the preferred branch by the number of the user's message, for later prompts."""
    voted = ABComparison.objects.filter(conversation=conversation_id).exclude(preference="")
    return dict(voted.values_list(F("user_message__number"), "preference"))


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

    If the summary fails, all messages are sent; beyond the model's limit, those in the middle are
    left out.
    """
    profile = opened.profile
    history = await _load_history(opened)
    plan = plan_context(
        prompt_messages(history.messages, profile.provider_id, preferences=history.preferences),
        system_prompt=profile.system_prompt,
        tools=tools,
        limit=profile.context_limit,
        strategy=profile.context_strategy,
        state=history.state,
    )
    if plan.task is not None:
        summary = SummaryCall(opened, plan.task, calls)
        async with aclosing(summary.rows()) as rows:
            async for row in rows:
                yield row
        plan = plan.with_summary(summary.text)
    yield RunPrompt(plan, changed=plan.state != history.state)


class SummaryCall:
    """The model call that writes a summary; `text` is empty if it failed."""

    def __init__(self, opened: OpenedRun, task: SummaryTask, calls: ModelCalls) -> None:
        self.text = ""
        self._opened = opened
        self._task = task
        self._calls = calls

    async def rows(self) -> AsyncGenerator[ModelCall, None]:
        """Run the call and yield its row only, because summaries are not streamed."""
        client = get_client(self._opened.profile, session=f"{self._opened.session}-summary")
        pipeline = StreamPipeline()
        request = summary_request(self._opened.profile, self._task)
        call = self._calls.begin(request, pipeline=pipeline, purpose=SUMMARY)
        try:
            async with aclosing(call.events(client)) as events:
                async for event in events:
                    if isinstance(event, ModelCall):
                        yield event
        except ChatError as error:
            log.warning("conversation %s: no summary (%s)", self._opened.conversation_id, error)
            return
        finally:
            await client.aclose()
        report = find_final_report(call.round.calls)
        if report is None:
            self.text = pipeline.complete().text
        elif not report.failed:
            self.text = report.report_content
