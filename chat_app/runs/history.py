"""What a conversation's next prompt is made of, read from the database."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any
from uuid import UUID

from django.db.models import F
from django.utils import timezone

from chat_app.models import ABComparison, ContextState, Message
from chat_app.prompt.context import Summary
from chat_app.prompt.messages import PastMessage


@dataclass(frozen=True, slots=True)
class History:
    """Messages in order, which answer was preferred to each compared one, and the kept summary."""

    messages: tuple[PastMessage, ...]
    preferences: Mapping[int, str]
    state: Summary | None


def history_of(conversation_id: UUID, *, up_to: int) -> History:
    """A conversation up to the message of that number."""
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
        state=_state_of(conversation_id),
    )


def keep_state(conversation_id: UUID, state: Summary | None) -> None:
    """Let this summary be the conversation's, or let it have none."""
    if state is None:
        ContextState.objects.filter(conversation=conversation_id).delete()
    else:
        ContextState.objects.update_or_create(
            conversation_id=conversation_id,
            defaults={**asdict(state), "created_at": timezone.now()},
        )


def _state_of(conversation_id: UUID) -> Summary | None:
    columns = [field.name for field in fields(Summary)]
    rows = ContextState.objects.filter(conversation=conversation_id)
    return next((Summary(**row) for row in rows.values(*columns)), None)


def preferences_of(conversation_id: Any) -> dict[int, str]:
    """What was preferred, by the number of the user's message: what later prompts hold."""
    voted = ABComparison.objects.filter(conversation=conversation_id).exclude(preference="")
    return dict(voted.values_list(F("user_message__number"), "preference"))
