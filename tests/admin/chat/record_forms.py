"""Posts the pages that add and change chat records, and reads all records."""

import re
from typing import Any

from django.db.models import Model
from django.test import Client
from django.utils.html import strip_tags

from chat_app.models import (
    ABComparison,
    ContextState,
    Conversation,
    Message,
)
from tests.admin.chat.chat_records import post
from tests.admin.chat.talks import LISTS, create_conversation
from tests.admin.pages import fields_at
from traces_app.models import ModelCall, Trace, TraceEvent

CONVERSATIONS = LISTS["chat_app.conversation"]
WEATHER = '[{"name": "get_weather", "arguments": {"city": "Oslo"}, "result": "rain"}]'
LATER = "2999-01-01T00:00:00Z"


def prepared(text: str = "words", *, preference: str = "a") -> Conversation:
    """Store a conversation of two answers with feedback, which explains its comments."""
    conversation = create_conversation(text, preference=preference)
    conversation.messages.exclude(branch="").update(feedback="like")
    return conversation


def errors_of(response: Any) -> dict[str, list[str]]:
    """Return the errors of the page's form and of its new rows, by field."""
    assert response.status_code == 200
    form = response.context["adminform"].form
    forms = [
        form,
        *(
            row
            for inline in response.context["inline_admin_formsets"]
            for row in inline.formset.forms
        ),
    ]
    return {field: list(lines) for one in forms for field, lines in one.errors.items()}


def lines_above(response: Any) -> dict[str, str]:
    """Return the errors above the page's form, by the id of the field that they link to."""
    links = re.findall(r'<li><a href="#(\w[^"]*)">(.+?)</a></li>', response.content.decode())
    assert all(f'id="{target}"' in response.content.decode() for target, _ in links)
    return {target: strip_tags(text) for target, text in links}


def add(client: Client, model: type[Model], **values: str) -> Any:
    url = f"{LISTS[model._meta.label_lower]}add/"
    form = f"{model._meta.model_name}_form"
    return client.post(url, fields_at(client, url, form) | values)


def add_conversation(client: Client, *messages: dict[str, str], **values: str) -> Any:
    rows = {
        f"new-{place}-{name}": value
        for place, message in enumerate(messages)
        for name, value in message.items()
    }
    count = {"new-TOTAL_FORMS": str(len(messages)), "new-INITIAL_FORMS": "0"}
    return add(client, Conversation, **rows, **count, **values)


def texts(conversation: Conversation) -> list[tuple[int, str, str]]:
    rows = conversation.messages.order_by("number")
    return list(rows.values_list("number", "sender", "content"))


def start_run(conversation: Conversation) -> Trace:
    """Store a run that is under way in a process that lives."""
    return Trace.objects.create(conversation=conversation, lease_until=LATER)


def all_rows() -> list[Any]:
    models = (Conversation, Message, ContextState, ABComparison, Trace, TraceEvent, ModelCall)
    return [list(model._default_manager.order_by("pk").values()) for model in models]


def add_to(client: Client, row: Any, **values: str) -> Any:
    """Add one new row on the page of a conversation or trace."""
    new = {f"new-0-{name}": value for name, value in values.items()}
    return post(client, row, **{"new-TOTAL_FORMS": "1", "new-0-sender": "user"} | new)
