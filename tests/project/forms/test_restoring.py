"""Every page that edits a row shows what was typed earlier, and reports what it has saved."""

from typing import Any
from urllib.parse import unquote

import pytest
from django.contrib import admin
from django.test import Client

from mockllm_site.kit.admin.kept_forms import ID_FIELD, RESTORE_FIELD, KeptFormAdmin
from tests.project.access import build_url, make_client
from tests.project.test_page_writes import read_all_rows
from tests.project.writes import WRITES, Write

pytestmark = pytest.mark.django_db

ID = "kept4form"
FORM_PAGES = [
    write
    for write in WRITES
    if write.route.startswith("admin/")
    and write.route.endswith(("/add/", "/change/", "/import/", "/make-step/"))
]


@pytest.mark.parametrize("write", FORM_PAGES, ids=str)
def test_restored_form_is_shown_and_saved_by_the_next_post(
    write: Write, ids: dict[str, Any]
) -> None:
    client = make_client(write.example_role)
    url = build_url(write.route, ids)
    body = write.body(client, url, ids) | {ID_FIELD: ID}
    before = read_all_rows()
    form_page = client.post(url, body | {RESTORE_FIELD: "1"})
    assert (form_page.status_code, read_all_rows()) == (200, before)
    assert f'name="{ID_FIELD}" value="{ID}"' in form_page.content.decode()
    assert not saved_cookies(form_page)
    saved = client.post(url, body)
    assert saved.status_code == 302 and read_all_rows() != before
    assert list(saved_cookies(saved)) == [f"saved-{ID}"]
    page = saved_cookies(saved)[f"saved-{ID}"]
    # An import has no page of its own.
    assert (client.get(page).status_code == 200) if page else write.route.endswith("/import/")


def test_every_page_of_a_row_restores_what_was_typed() -> None:
    pages = admin.site._registry.values()
    editing = {type(page) for page in pages if not page.__module__.endswith("journal.requests")}
    assert [page for page in editing if not issubclass(page, KeptFormAdmin)] == []


def test_refused_save_and_missing_row_are_not_reported_as_saved(ids: dict[str, Any]) -> None:
    client = make_client("root")
    refused = client.post("/admin/chat_app/modelprofile/add/", {ID_FIELD: ID, "name": ""})
    gone = client.post("/admin/chat_app/modelprofile/999/change/", {ID_FIELD: ID, "name": "x"})
    assert (refused.status_code, gone.status_code) == (200, 302)
    assert not saved_cookies(refused) and not saved_cookies(gone)


@pytest.mark.parametrize("form_id", ["", "short", "a;b=c12345", "x" * 41])
def test_other_names_of_a_form_set_no_cookie(form_id: str) -> None:
    client = make_client("root")
    saved = client.post("/admin/auth/group/add/", {ID_FIELD: form_id, "name": "new"})
    assert saved.status_code == 302 and not saved_cookies(saved)


def test_session_names_only_staff_and_its_token_is_accepted() -> None:
    assert make_client("anonymous").get("/admin/session/").json()["user"] is None
    client = make_client("root")
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies
    state = strict.get("/admin/session/").json()
    assert state["user"] == int(client.session["_auth_user_id"])
    fields = {"name": "new", "csrfmiddlewaretoken": state["csrf_token"]}
    assert strict.post("/admin/auth/group/add/", fields).status_code == 302


def saved_cookies(response: Any) -> dict[str, str]:
    """Return the values of the response's cookies that name saved forms."""
    return {
        name: unquote(cookie.value)
        for name, cookie in response.cookies.items()
        if name.startswith("saved-")
    }
