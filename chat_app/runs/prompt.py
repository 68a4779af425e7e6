"""The prompt of a run: the conversation as its strategy has it, with a summary where one is due."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from chat_app.clients import get_client
from chat_app.errors import ChatError
from chat_app.prompt.context import ContextPlan, Summary, plan_context
from chat_app.prompt.messages import prompt_messages
from chat_app.prompt.summaries import SummaryTask, summary_request
from chat_app.prompt.tokens import counter
from chat_app.runs.begin import OpenedRun
from chat_app.runs.final_reports import handed_in
from chat_app.runs.history import history_of
from chat_app.runs.model_calls import SUMMARY, ModelCalls
from chat_app.stream.pipeline import StreamPipeline
from chat_app.values.events import StreamEvent
from chat_app.values.request import Tool, Turn
from mockllm_site.kit.database_thread import in_database

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent of the conversation; `state` is the summary to be kept from now on, and
    `changed` says whether it is another one than is kept."""

    plan: ContextPlan
    changed: bool

    @property
    def state(self) -> Summary | None:
        return self.plan.state

    def going_on(self, own: Sequence[Turn]) -> tuple[Turn, ...]:
        """The turns of the next model call, after what this answer has come to so far."""
        return self.plan.going_on(own) if own else self.plan.turns


async def prompt_of(opened: OpenedRun, *, tools: Sequence[Tool], calls: ModelCalls) -> Prompt:
    """The prompt for a run's first model call.

    A summary that fails costs the answer nothing: as long as the model may take them, all messages
    are sent then, and beyond its limit those in the middle are left out.
    """
    profile = opened.profile
    history = await in_database(
        partial(history_of, opened.conversation_id, up_to=opened.user_message_number)
    )
    plan = plan_context(
        prompt_messages(history.messages, profile.provider_id, preferences=history.preferences),
        system_prompt=profile.system_prompt,
        tools=tools,
        limit=profile.context_limit,
        strategy=profile.context_strategy,
        state=history.state,
        count=counter(profile.model_id),
    )
    if plan.task is not None:
        plan = await _summarised(plan, plan.task, opened=opened, calls=calls)
    return Prompt(plan, changed=plan.state != history.state)


async def _summarised(
    plan: ContextPlan, task: SummaryTask, *, opened: OpenedRun, calls: ModelCalls
) -> ContextPlan:
    client = get_client(opened.profile, session=f"{opened.session}-summary")
    pipeline = StreamPipeline()
    try:
        done = await calls.make(
            client,
            summary_request(opened.profile, task),
            pipeline=pipeline,
            say=_unheard,
            purpose=SUMMARY,
        )
    except ChatError as error:
        log.warning("conversation %s: no summary (%s)", opened.conversation_id, error)
        return plan.summarised("")
    finally:
        await client.aclose()
    if (report := handed_in(done.calls)) is not None:
        return plan.summarised("" if report.failed else report.report_content)
    return plan.summarised(pipeline.complete().text)


def _unheard(_: StreamEvent) -> None:
    """Nobody follows a summary while it is made."""
