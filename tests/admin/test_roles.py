"""Permissions of the roles QA editor, QA author and QA read-only."""

import json
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django.test import Client

from mockllm_site.roles import EDITOR, READER, ROLES, create_roles
from scenarios_app.models import Draft, Scenario, ServedRequest
from scenarios_app.play.conversation import examples
from scenarios_app.store.drafts import get_or_create_draft
from tests.admin.drafting import DRAFTS, draft_page, edit_as_draft, publish, save_draft
from tests.admin.pages import (
    ADD,
    IMPORT,
    JOURNAL,
    LIST,
    RESET,
    SESSION,
    SESSIONS,
    create_scenario,
    fields_at,
    page_of,
    save,
    texts,
)
from tests.admin.traffic import create_journal_row

pytestmark = pytest.mark.django_db

DOCUMENT = json.dumps({"name": "in", "steps": [{"produce": {"text": "x"}}]})


@pytest.fixture
def stored_scenario(db: None) -> Scenario:
    create_journal_row(session="s")
    return create_scenario("one", {"produce.text": "a"})


def page_urls(stored_scenario: Scenario) -> list[str]:
    row = ServedRequest.objects.get()
    step = stored_scenario.steps.get()
    return [
        LIST,
        page_of(stored_scenario),
        f"{LIST}{stored_scenario.pk}/export/",
        f"{LIST}{stored_scenario.pk}/steps/{step.pk}/?prefix=steps-0",
        JOURNAL,
        f"{JOURNAL}{row.pk}/change/",
        SESSIONS,
        f"{SESSION}?name=s",
        "/admin/",
    ]


def write_requests(stored_scenario: Scenario) -> dict[str, Callable[[Client], object]]:
    """Return every request that changes data, by name."""
    selection = {"_selected_action": [stored_scenario.pk]}
    return {
        "save": lambda c: c.post(
            page_of(stored_scenario), {"name": "new", "steps-TOTAL_FORMS": "0"}
        ),
        "add": lambda c: c.post(ADD, {"name": "new"}),
        "duplicate": lambda c: c.post(f"{LIST}{stored_scenario.pk}/duplicate/"),
        "import": lambda c: c.post(IMPORT, {"text": DOCUMENT, "existing": "add", "load": "1"}),
        "delete": lambda c: c.post(f"{LIST}{stored_scenario.pk}/delete/", {"post": "yes"}),
        "disable": lambda c: c.post(LIST, {"action": "disable", **selection}),
        "copy": lambda c: c.post(LIST, {"action": "duplicate", **selection}),
        "remove": lambda c: c.post(LIST, {"action": "delete_selected", "post": "yes", **selection}),
        "reset": lambda c: c.post(RESET, {"name": "s"}),
        "switch": lambda c: c.post(
            LIST,
            {
                "form-TOTAL_FORMS": "1",
                "form-INITIAL_FORMS": "1",
                "form-0-id": str(stored_scenario.pk),
                "_save": "Save",
            },
        ),
    }


def read_stored_rows() -> tuple[object, ...]:
    return (
        list(Scenario.objects.order_by("pk").values("name", "enabled")),
        ServedRequest.objects.count(),
    )


@pytest.mark.parametrize("role", ["editor", "reader"])
def test_editor_and_reader_see_scenarios_journal_and_sessions(
    request: pytest.FixtureRequest, role: str, stored_scenario: Scenario
) -> None:
    client: Client = request.getfixturevalue(role)
    assert {
        url: client.get(url).status_code for url in page_urls(stored_scenario)
    } == dict.fromkeys(page_urls(stored_scenario), 200)


def test_reader_cannot_change_anything(reader: Client, stored_scenario: Scenario) -> None:
    before = read_stored_rows()
    for name, write in write_requests(stored_scenario).items():
        write(reader)
        assert read_stored_rows() == before, name


def test_reader_sees_no_buttons_that_change_anything(
    reader: Client, stored_scenario: Scenario
) -> None:
    html = reader.get(page_of(stored_scenario)).content.decode()
    assert "<fieldset disabled " in html and 'class="sc-card" disabled' in html
    for control_marker in (
        "sc-add",
        "sc-trash",
        "sc-handle",
        "Duplicate",
        'name="_save"',
        "/import/",
    ):
        assert control_marker not in html, control_marker
    assert 'value="a"' in html or ">\na</textarea>" in html
    assert "Reset" not in reader.get(f"{SESSION}?name=s").content.decode()
    list_page = reader.get(LIST)
    assert "sc-switch" not in list_page.content.decode()
    assert [name for name, _ in list_page.context["action_form"].fields["action"].choices] == [
        "",
        "export",
    ]
    assert {reader.get(url).status_code for url in (ADD, IMPORT)} == {403}


def test_editor_writes_scenarios(editor: Client, stored_scenario: Scenario) -> None:
    assert save(editor, stored_scenario, **{"steps-0-produce.text": "b"}).status_code == 302
    assert texts(stored_scenario) == ["b"]
    form_data = fields_at(editor, ADD) | {"name": "new"}
    assert editor.post(ADD, form_data).status_code == 302
    for name in ("duplicate", "import", "disable", "reset", "remove"):
        before = read_stored_rows()
        write_requests(stored_scenario)[name](editor)
        assert read_stored_rows() != before, name


@pytest.mark.parametrize("role", ["editor", "reader"])
def test_editor_and_reader_cannot_manage_accounts(
    request: pytest.FixtureRequest, role: str
) -> None:
    client: Client = request.getfixturevalue(role)
    urls = ["/admin/auth/user/", "/admin/auth/group/", "/admin/auth/user/add/"]
    assert {client.get(url).status_code for url in urls} == {403}
    assert "/admin/auth/user/" not in client.get("/admin/").content.decode()


def test_user_without_a_role_sees_nothing(stored_scenario: Scenario) -> None:
    client = Client()
    client.force_login(User.objects.create_user("bare", is_staff=True))
    urls = [url for url in page_urls(stored_scenario) if url != "/admin/"]
    assert {url: client.get(url).status_code for url in urls} == dict.fromkeys(urls, 403)
    before = read_stored_rows()
    for write in write_requests(stored_scenario).values():
        write(client)
    assert read_stored_rows() == before


def test_anonymous_user_is_redirected_to_the_login(stored_scenario: Scenario) -> None:
    for url in (*page_urls(stored_scenario), ADD, IMPORT):
        response = Client().get(url)
        assert response.status_code == 302 and response["Location"].startswith("/admin/login/")
    before = read_stored_rows()
    for write in write_requests(stored_scenario).values():
        write(Client())
    assert read_stored_rows() == before


def draft_url(draft: Draft, page: str) -> str:
    return draft_page(draft).replace("/change/", f"/{page}/")


def allow(user: User, *codenames: str) -> Client:
    rows = Permission.objects.filter(content_type__app_label="scenarios_app")
    user.user_permissions.set(rows.filter(codename__in=codenames))
    client = Client()
    client.force_login(user)
    return client


def test_author_writes_drafts(author: Client, stored_scenario: Scenario) -> None:
    draft = edit_as_draft(author, stored_scenario)
    assert save_draft(author, draft, **{"steps-0-produce.text": "b"}).status_code == 302
    assert texts(draft) == ["b"]
    author.post(f"{LIST}new/", {"example": next(iter(examples()))})
    author.post(f"{DRAFTS}from-document/", {"document": DOCUMENT})
    assert Draft.objects.count() == 3
    author.post(draft_url(draft, "delete"), {"post": "yes"})
    assert Draft.objects.count() == 2


def test_author_cannot_change_published_scenarios(
    author: Client, stored_scenario: Scenario
) -> None:
    before = read_stored_rows()
    for name, write in write_requests(stored_scenario).items():
        write(author)
        assert read_stored_rows() == before, name


def test_author_cannot_publish(author: Client, stored_scenario: Scenario) -> None:
    draft = edit_as_draft(author, stored_scenario)
    page = author.get(draft_page(draft)).content.decode()
    assert "Publish…" not in page and "Save and publish…" not in page and "Discard…" in page
    assert "“Can publish draft”" in page
    url = draft_url(draft, "publish")
    assert (author.get(url).status_code, author.post(url).status_code) == (403, 403)
    sent = fields_at(author, draft_page(draft), "draft_form")
    changes = {"steps-0-produce.text": "b", "_publish": "1"}
    assert author.post(draft_page(draft), sent | changes, follow=True).status_code == 403
    assert texts(stored_scenario) == ["a"]
    assert Draft.objects.filter(pk=draft.pk).exists()


def test_publishing_needs_both_its_own_permission_and_that_on_scenarios(
    stored_scenario: Scenario,
) -> None:
    draft, _ = get_or_create_draft(stored_scenario)
    user = User.objects.create_user("reviewer", is_staff=True)
    url = draft_url(draft, "publish")
    view_permissions = ("view_scenario", "view_draft")
    for missing, has in (
        ("Can publish draft", "change_scenario"),
        ("Can change scenario", "publish_draft"),
    ):
        response = allow(user, *view_permissions, has).post(url)
        assert response.status_code == 403
        assert f"“{missing}”" in response.content.decode()
    reviewer = allow(user, *view_permissions, "publish_draft", "change_scenario")
    assert "Publish…" in reviewer.get(draft_page(draft)).content.decode()
    publish(reviewer, draft)
    assert not Draft.objects.exists()


def test_warning_about_a_step_is_shown_without_the_permission_to_view_steps(db: None) -> None:
    answer = {"match.messages(user)": "hi", "consume": False, "produce.text": "a"}
    scenario = create_scenario("twice", answer, answer)
    user = User.objects.create_user("reader", is_staff=True)
    page = allow(user, "view_scenario").get(page_of(scenario))
    assert page.status_code == 200
    (warning,) = page.context["doubts"]
    assert (warning.where, warning.target, warning.mends) == ("Step 2", "", ())


def test_publishing_a_new_scenario_needs_the_permission_to_add_one(author: Client) -> None:
    author.post(f"{DRAFTS}from-document/", {"document": DOCUMENT})
    draft = Draft.objects.get()
    user = User.objects.create_user("reviewer", is_staff=True)
    view_permissions = ("view_scenario", "view_draft", "publish_draft", "change_scenario")
    response = allow(user, *view_permissions).post(draft_url(draft, "publish"))
    assert (response.status_code, "“Can add scenario”" in response.content.decode()) == (403, True)
    publish(allow(user, *view_permissions, "add_scenario"), draft)
    assert Scenario.objects.filter(name="in").exists()


@pytest.mark.parametrize(
    ("url", "permission"),
    [
        (ADD, "Can add scenario"),
        (IMPORT, "Can add scenario"),
        (f"{DRAFTS}add/", "Can add draft"),
        ("/admin/chat_app/modelprofile/add/", "Can add model profile"),
    ],
)
def test_refusal_names_permission_roles_and_managers(
    reader: Client, url: str, permission: str
) -> None:
    User.objects.create_superuser("alice")
    User.objects.create_superuser("gone", is_active=False)
    response = reader.get(url)
    html = unescape(response.content.decode())
    assert response.status_code == 403
    assert f"You need the permission “{permission}” (role QA " in html
    assert "QA editor)" in html
    assert "Ask somebody who manages users: alice." in html


def test_refused_save_names_the_missing_permission(
    reader: Client, stored_scenario: Scenario
) -> None:
    response = reader.post(page_of(stored_scenario), {"name": "new", "steps-TOTAL_FORMS": "0"})
    assert "“Can change scenario” (role QA editor)" in unescape(response.content.decode())


def test_refusal_hides_accounts_and_roles_from_others_than_staff() -> None:
    User.objects.create_superuser("alice")
    client = Client()
    client.force_login(User.objects.create_user("bare"))
    response = client.get("/journal/")
    html = unescape(response.content.decode())
    assert response.status_code == 403 and "You need the permission “Can view " in html
    assert "alice" not in html and "QA " not in html


def test_changed_role_survives_migrate() -> None:
    group = Group.objects.get(name=READER)
    group.permissions.clear()
    Group.objects.get(name=EDITOR).delete()
    create_roles(sender=apps.get_app_config("scenarios_app"), using="default")
    assert not group.permissions.exists()
    assert Group.objects.get(name=EDITOR).permissions.count() == len(ROLES[EDITOR])


def test_app_migrated_alone_creates_no_incomplete_roles(settings: Any) -> None:
    # Roles created too early would lack the permissions of apps that are migrated later.
    settings.MIGRATION_MODULES = {}
    Group.objects.all().delete()
    Permission.objects.exclude(content_type__app_label="scenarios_app").delete()
    graph = MigrationLoader(connection).graph
    migrations = [graph.leaf_nodes(app)[0] for app in ("contenttypes", "auth", "scenarios_app")]
    for state in (ProjectState(), graph.make_state(nodes=migrations)):
        create_roles(apps.get_app_config("scenarios_app"), using="default", apps=state.apps)
        assert not Group.objects.exists()


def test_roles_name_only_permissions_that_exist() -> None:
    existing = Permission.objects.values_list("content_type__app_label", "codename")
    assert {name for names in ROLES.values() for name in names} <= {
        ".".join(permission) for permission in existing
    }
