"""The prompt of a run: the conversation as its strategy has it, with a summary where one is due."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from chat_app.clients import get_client
from chat_app.context import ContextPlan, Summary, plan_context
from chat_app.errors import ChatError
from chat_app.events import StreamEvent
from chat_app.history import history_of
from chat_app.model_calls import SUMMARY, ModelCalls
from chat_app.pipeline import StreamPipeline
from chat_app.prompt import prompt_messages
from chat_app.request import Tool, Turn
from chat_app.sending import OpenedRun
from chat_app.summaries import SummaryTask, summary_request
from chat_app.tokens import counter
from traces_app.database import in_database

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent of the conversation; `state` is the summary to be kept from now on, and
    `changed` says whether it is another one than is kept."""

    turns: tuple[Turn, ...]
    state: Summary | None
    changed: bool


async def prompt_of(opened: OpenedRun, *, tools: Sequence[Tool], calls: ModelCalls) -> Prompt:
    """The prompt for a run's first model call.

    A summary that fails costs the answer nothing: all messages are sent then, which the model may
    still take, since a summary is wanted from 70 % of its limit on.
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
    return Prompt(plan.turns, plan.state, changed=plan.state != history.state)


async def _summarised(
    plan: ContextPlan, task: SummaryTask, *, opened: OpenedRun, calls: ModelCalls
) -> ContextPlan:
    client = get_client(opened.profile, session=f"{opened.session}-summary")
    pipeline = StreamPipeline()
    try:
        await calls.make(
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
    return plan.summarised(pipeline.complete().text)


def _unheard(_: StreamEvent) -> None:
    """Nobody follows a summary while it is made."""
