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
from mockllm_site.kit.admin.records import admin_url
from tests.admin.pages import fields_at
from traces_app.models import Trace

Rows: TypeAlias = dict[str, list[dict[str, Any]]]
# Posted fields, and the stored values.
EDITED_FIELDS: dict[type[Model], tuple[dict[str, str], dict[str, object]]] = {
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
EDITABLE = {model._meta.label: set(columns) for model, (_, columns) in EDITED_FIELDS.items()}


def post(client: Client, row: Model, **changes: str) -> Any:
    url = admin_url(row)
    return client.post(url, fields_at(client, url, f"{row._meta.model_name}_form") | changes)


def read_records() -> Rows:
    """Return all rows of chat and traces by model, without the columns that staff can edit."""
    models = [*apps.get_app_config("chat_app").get_models()]
    models += apps.get_app_config("traces_app").get_models()
    rows_by_model: Rows = {}
    for model in models:
        editable_columns = EDITABLE.get(model._meta.label, set())
        names = [
            field.attname
            for field in model._meta.concrete_fields
            if field.name not in editable_columns
        ]
        rows_by_model[model._meta.label] = list(
            model._default_manager.order_by("pk").values(*names)
        )
    return rows_by_model
