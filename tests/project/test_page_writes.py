"""Every page that writes, for each role. A new route or action without a row fails."""

from typing import Any, TypeAlias

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import Model
from django.test import RequestFactory

from scenarios_app.models import DraftStep, Step
from tests.project.access import SINGLE_PERMISSION_ROLES, build_url, list_page_routes, make_client
from tests.project.writes import LOGOUT, READ_ONLY_ROUTES, READING_ACTIONS, WRITES, Write

pytestmark = pytest.mark.django_db

Rows: TypeAlias = dict[str, list[tuple[Any, ...]]]

ROLES = ("anonymous", "staff", "reader", *SINGLE_PERMISSION_ROLES)


def read_all_rows(*, steps: bool = False) -> Rows:
    """Return all rows of the tables in which pages write."""
    labels = ("auth", "scenarios_app", "chat_app", "traces_app")
    models = [
        model
        for label in labels
        for model in apps.get_app_config(label).get_models(include_auto_created=True)
        if model is not Permission and (not steps or model in (Step, DraftStep))
    ]
    with connection.cursor() as cursor:
        return {model._meta.label: read_rows(cursor, model) for model in models}


def read_rows(cursor: CursorWrapper, model: type[Model]) -> list[tuple[Any, ...]]:
    """Return the stored rows of a model; making objects of them would take ten times as long."""
    quote = connection.ops.quote_name
    pk = model._meta.pk
    assert pk
    cursor.execute(f"SELECT * FROM {quote(model._meta.db_table)} ORDER BY {quote(pk.column)}")
    return cursor.fetchall()


def is_refused(response: Any, write: Write, role: str) -> bool:
    if role == "anonymous":
        return response.headers.get("Location", "").startswith("/admin/login/")
    return response.status_code in ((200, 302) if role in write.also_answered else (403,))


@pytest.mark.parametrize("write", WRITES, ids=str)
def test_change_is_made_only_by_permitted_roles(write: Write, ids: dict[str, Any]) -> None:
    clients = {role: make_client(role) for role in (*ROLES, write.example_role)}
    url = build_url(write.route, ids)
    body = write.body(clients[write.example_role], url, ids)
    before = read_all_rows(steps=write.steps)
    for role in (write.example_role, *write.allowed):
        with transaction.atomic():
            response = clients[role].post(url, body)
            assert read_all_rows(steps=write.steps) != before, f"{role} is kept from it: {response}"
            transaction.set_rollback(True)
    for role in set(ROLES) - set(write.allowed):
        response = clients[role].post(url, body)
        assert read_all_rows(steps=write.steps) == before, f"{role} writes"
        assert is_refused(response, write, role), f"{role}: {response}"


def test_every_page_has_its_row() -> None:
    writing = {write.route for write in WRITES}
    assert set(list_page_routes()) == writing | READ_ONLY_ROUTES
    assert writing & READ_ONLY_ROUTES == set()


def test_read_only_pages_write_nothing(ids: dict[str, Any]) -> None:
    client = make_client("root")
    before = read_all_rows()
    for route in sorted(READ_ONLY_ROUTES, key=lambda route: (route == LOGOUT, route)):
        for body in ({}, {"post": "yes", "_save": "Save", "name": "new", "at": "2025-01-01"}):
            client.post(build_url(route, ids), body)
        assert read_all_rows() == before, route


def test_every_action_of_a_list_has_its_row() -> None:
    request = RequestFactory().get("/")
    request.user = User(is_superuser=True, is_active=True)
    actions = {
        f"admin/{model._meta.label_lower.replace('.', '/')}/ {name}"
        for model, page in admin.site._registry.items()
        for name in page.get_actions(request)
        if name not in READING_ACTIONS
    }
    assert actions == {f"{write.route} {write.action}" for write in WRITES if write.action}


def test_every_list_that_is_edited_in_place_has_its_row() -> None:
    editable_lists = {
        f"admin/{model._meta.label_lower.replace('.', '/')}/"
        for model, page in admin.site._registry.items()
        if page.list_editable
    }
    assert editable_lists == {write.route for write in WRITES if write.label == "save the list"}
