"""Operations on conversations and comparisons; each returns a JSON object with its result."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from chat_app.comparisons import store_pair
from chat_app.comparisons import vote as vote_on
from chat_app.conversations import create
from chat_app.conversations import delete as delete_conversation
from chat_app.models import ABComparison, Conversation, Message
from chat_app.profiles import default_profile
from chat_app.runs.accept import IncomingMessage, accept_message
from mockllm_site.management.commands.prune import prune
from traces_app.models import Status, Trace

READER = "reader"


def conversation() -> dict[str, Any]:
    return {"id": str(create(READER).pk)}


def send(conversation: str, text: str) -> dict[str, Any]:
    """Store a message and its run, which is not started."""
    accepted = accept_message(
        IncomingMessage(conversation, text, {"": default_profile()}, client_id=READER)
    )
    return {"trace": str(accepted.trace_ids[0])}


def delete(conversation: str) -> dict[str, Any]:
    delete_conversation(Conversation.objects.get(pk=conversation))
    return {"deleted": True}


def age(conversation: str) -> dict[str, Any]:
    """Set the last message two days back."""
    then = timezone.now() - timedelta(days=2)
    return {"aged": Conversation.objects.filter(pk=conversation).update(last_message_at=then)}


def forget() -> dict[str, Any]:
    """Delete the conversations that were not continued for a day."""
    return {"forgotten": prune(timezone.now() - timedelta(days=1)).conversations}


def messages(conversation: str) -> dict[str, Any]:
    rows = Message.objects.filter(conversation=conversation).order_by("number")
    return {"messages": [[row.number, row.sender, row.content] for row in rows]}


def compare(conversation: str) -> dict[str, Any]:
    """Store a message and its two runs."""
    profile = default_profile()
    pair = store_pair(
        IncomingMessage(conversation, "Which?", {"a": profile, "b": profile}, client_id=READER),
        seed=1,
    )
    return {
        "comparison": str(pair.comparison_id),
        "traces": [str(trace) for trace in pair.accepted.trace_ids],
    }


def complete(traces: list[str]) -> dict[str, Any]:
    """Mark these runs as completed."""
    return {"runs": Trace.objects.filter(pk__in=traces).update(status=Status.COMPLETED)}


def vote(comparison: str, preference: str) -> dict[str, Any]:
    return {"preference": vote_on(READER, comparison, preference).preference}


def votes(comparison: str) -> dict[str, Any]:
    return {"stored": ABComparison.objects.get(pk=comparison).preference}
