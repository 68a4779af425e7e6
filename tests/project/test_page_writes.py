"""Each page that writes × who posts to it. A route or an action that comes without a row fails."""

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
from tests.project.access import HALVES, address, routes, somebody
from tests.project.writes import LOGOUT, READING_ACTIONS, READS, WRITES, Write

pytestmark = pytest.mark.django_db

Rows: TypeAlias = dict[str, list[tuple[Any, ...]]]

WHO = ("anonymous", "staff", "reader", *HALVES)


def everything(*, steps: bool = False) -> Rows:
    """All rows of all tables in which a page may write."""
    labels = ("auth", "scenarios_app", "chat_app", "traces_app")
    models = [
        model
        for label in labels
        for model in apps.get_app_config(label).get_models(include_auto_created=True)
        if model is not Permission and (not steps or model in (Step, DraftStep))
    ]
    with connection.cursor() as cursor:
        return {model._meta.label: rows(cursor, model) for model in models}


def rows(cursor: CursorWrapper, model: type[Model]) -> list[tuple[Any, ...]]:
    """Those of a model as they are stored: what makes objects of them takes ten times as long."""
    quote = connection.ops.quote_name
    pk = model._meta.pk
    assert pk
    cursor.execute(f"SELECT * FROM {quote(model._meta.db_table)} ORDER BY {quote(pk.column)}")
    return cursor.fetchall()


def is_refused(response: Any, write: Write, who: str) -> bool:
    if who == "anonymous":
        return response.headers.get("Location", "").startswith("/admin/login/")
    return response.status_code in ((200, 302) if who in write.besides else (403,))


@pytest.mark.parametrize("write", WRITES, ids=str)
def test_it_is_written_by_those_who_may_and_by_nobody_else(
    write: Write, ids: dict[str, Any]
) -> None:
    clients = {who: somebody(who) for who in (*WHO, write.shown_by)}
    url = address(write.route, ids)
    body = write.body(clients[write.shown_by], url, ids)
    before = everything(steps=write.steps)
    for who in (write.shown_by, *write.may):
        with transaction.atomic():
            response = clients[who].post(url, body)
            assert everything(steps=write.steps) != before, f"{who} is kept from it: {response}"
            transaction.set_rollback(True)
    for who in set(WHO) - set(write.may):
        response = clients[who].post(url, body)
        assert everything(steps=write.steps) == before, f"{who} writes"
        assert is_refused(response, write, who), f"{who}: {response}"


def test_every_page_has_its_row() -> None:
    writing = {write.route for write in WRITES}
    assert set(routes()) == writing | READS
    assert writing & READS == set()


def test_the_other_pages_write_nothing(ids: dict[str, Any]) -> None:
    client = somebody("root")
    before = everything()
    for route in sorted(READS, key=lambda route: (route == LOGOUT, route)):
        for body in ({}, {"post": "yes", "_save": "Save", "name": "new", "at": "2025-01-01"}):
            client.post(address(route, ids), body)
        assert everything() == before, route


def test_every_action_of_a_list_has_its_row() -> None:
    request = RequestFactory().get("/")
    request.user = User(is_superuser=True, is_active=True)
    found = {
        f"admin/{model._meta.label_lower.replace('.', '/')}/ {name}"
        for model, page in admin.site._registry.items()
        for name in page.get_actions(request)
        if name not in READING_ACTIONS
    }
    assert found == {f"{write.route} {write.action}" for write in WRITES if write.action}


def test_every_list_that_is_edited_in_place_has_its_row() -> None:
    found = {
        f"admin/{model._meta.label_lower.replace('.', '/')}/"
        for model, page in admin.site._registry.items()
        if page.list_editable
    }
    assert found == {write.route for write in WRITES if write.what == "save the list"}
