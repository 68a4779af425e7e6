"""Pages of the chat's records."""

from typing import Any, TypeAlias

from django.apps import apps
from django.db.models import Model
from django.test import Client

from chat_app.models import (
    ABComparison,
    Conversation,
    Message,
)
from mockllm_site.kit.read_only_admin import admin_url
from tests.admin.pages import fields_at
from traces_app.models import Trace

Rows: TypeAlias = dict[str, list[dict[str, Any]]]
# Posted fields, and the stored values.
WRITTEN: dict[type[Model], tuple[dict[str, str], dict[str, object]]] = {
    Conversation: (
        {"title": "Trip", "tags": "smoke, Köln ,", "archived": "on"},
        {"title": "Trip", "tags": ["smoke", "Köln"], "archived": True},
    ),
    Message: (
        {"feedback": "dislike", "feedback_comment": "Wrong city."},
        {"feedback": "dislike", "feedback_comment": "Wrong city."},
    ),
    Trace: (
        {"note": "Slow. Look at it.", "tags": "slow"},
        {"note": "Slow. Look at it.", "tags": ["slow"]},
    ),
    ABComparison: (
        {"comment": "Both are wrong.", "excluded": "on"},
        {"comment": "Both are wrong.", "excluded": True},
    ),
}
EDITABLE = {model._meta.label: set(stored) for model, (_, stored) in WRITTEN.items()}


def post(client: Client, row: Model, **changes: str) -> Any:
    url = admin_url(row)
    return client.post(url, fields_at(client, url, f"{row._meta.model_name}_form") | changes)


def records() -> Rows:
    """Every row of the chat and its traces, without the columns that staff may write."""
    models = [*apps.get_app_config("chat_app").get_models()]
    models += apps.get_app_config("traces_app").get_models()
    rows_found: Rows = {}
    for model in models:
        hidden = EDITABLE.get(model._meta.label, set())
        names = [field.attname for field in model._meta.concrete_fields if field.name not in hidden]
        rows_found[model._meta.label] = list(model._default_manager.order_by("pk").values(*names))
    return rows_found
