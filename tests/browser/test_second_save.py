"""Every row of the admin survives a second save: opened and saved unchanged, it stays the same."""

from collections.abc import Callable
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin as django_admin
from django.contrib.auth.models import Permission
from django.core.management import call_command
from playwright.sync_api import expect

from mockllm_site.kit.admin.records import admin_url
from scenarios_app.models import Presence
from tests.browser.conftest import OPERATOR, Admin
from tests.project.conftest import ids as ids

pytestmark = pytest.mark.browser

# Who has a page open is no part of a row.
IGNORED_MODELS = (Permission, Presence)
# Every save sets it.
IGNORED_COLUMN = "updated_at"


def read_rows() -> dict[str, list[dict[str, Any]]]:
    """Return all rows of the admin's models and of what belongs to them, by model."""
    models = [
        model
        for label in ("auth", "scenarios_app", "chat_app", "traces_app")
        for model in apps.get_app_config(label).get_models(include_auto_created=True)
        if model not in IGNORED_MODELS
    ]
    return {
        model._meta.label: [
            {name: value for name, value in row.items() if name != IGNORED_COLUMN}
            for row in model._default_manager.order_by("pk").values()
        ]
        for model in models
    }


@pytest.mark.usefixtures("ids")
def test_every_row_is_unchanged_after_it_is_saved_unchanged(log_in: Callable[..., Admin]) -> None:
    call_command("loaddata", "demo", verbosity=0)
    admin = log_in(OPERATOR)
    page = admin.page
    saved_models = set()
    for model in django_admin.site._registry:
        row = model._default_manager.order_by("pk").last()
        assert row is not None, f"{model} has no row"
        before = read_rows()
        page.goto(f"{admin.live.base_url}{admin_url(row)}")
        if not page.get_by_role("button", name="Save", exact=True).is_visible():
            continue
        admin.save()
        expect(page.locator(".sc-note-bad, .errornote, .errorlist")).to_have_count(0)
        assert not page.url.endswith(admin_url(row)) or model._meta.model_name == "draft"
        assert read_rows() == before, model
        saved_models.add(model._meta.model_name)
    expected = {"scenario", "draft", "modelprofile", "user", "group", "conversation", "trace"}
    assert saved_models >= expected | {"abcomparison", "message"}
