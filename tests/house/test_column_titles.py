"""Titles of admin columns and actions are not identifiers."""

import re
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.utils import label_for_field

IDENTIFIER = re.compile(r"[a-z][A-Z]|_")
# Brand names that look like class names.
BRANDS = ("OpenAI",)


def titles(model_admin: "admin.ModelAdmin[Any]") -> list[str]:
    columns = [name for name in model_admin.list_display if name != "action_checkbox"]
    actions = [model_admin.get_action(name) for name in model_admin.actions or ()]
    return [
        *(str(label_for_field(name, model_admin.model, model_admin)) for name in columns),
        *(str(action[2]) for action in actions if action),
    ]


@pytest.mark.parametrize(
    "model_admin",
    list(admin.site._registry.values()),
    ids=lambda model_admin: model_admin.model.__name__,
)
def test_titles_of_columns_and_actions_are_not_identifiers(
    model_admin: "admin.ModelAdmin[Any]",
) -> None:
    texts = titles(model_admin)
    assert texts
    for title in texts:
        for brand in BRANDS:
            title = title.replace(brand, "")
        assert not IDENTIFIER.search(title), title
