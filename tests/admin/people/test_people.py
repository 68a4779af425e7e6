"""People in the admin: one form with a role, no rights beyond one's own, and no role at all."""

from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from mockllm_site.roles import AUTHOR, EDITOR, READER
from tests.admin.pages import fields_at

pytestmark = pytest.mark.django_db

USERS = "/admin/auth/user/"
ADD = f"{USERS}add/"
PASSWORD = "long enough 9"


@pytest.fixture
def manager(db: None) -> Client:
    """Return a client of somebody who manages users, and may write drafts besides."""
    user = User.objects.create_user("manager", is_staff=True)
    user.groups.add(Group.objects.get(name=AUTHOR))
    user.user_permissions.add(
        *Permission.objects.filter(content_type__app_label="auth", codename__endswith="_user"),
        *Permission.objects.filter(content_type__app_label="auth", codename__endswith="_group"),
    )
    return client_of(user)


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page_of(user: User) -> str:
    return f"{USERS}{user.pk}/change/"


def save(client: Client, user: User, **changes: Any) -> Any:
    return client.post(page_of(user), fields_at(client, page_of(user), "user_form") | changes)


def role(name: str) -> str:
    return str(Group.objects.get(name=name).pk)


def errors_of(response: Any) -> dict[str, Any]:
    return dict(response.context["adminform"].form.errors)


def test_person_is_added_with_name_password_and_role(root: Client) -> None:
    fields = fields_at(root, ADD, "user_form")
    own = {name for name in fields if not name.startswith(("csrf", "_", "kept_form"))}
    assert own == {"username", "password", "role"}
    new = {"username": "eva", "password": PASSWORD, "role": role(READER)}
    response = root.post(ADD, fields | new)
    assert response.status_code == 302, errors_of(response)
    eva = User.objects.get(username="eva")
    assert eva.is_staff and [group.name for group in eva.groups.all()] == [READER]
    login = Client().post("/admin/login/", {"username": "eva", "password": PASSWORD})
    assert login.status_code == 302
    assert fields_at(root, page_of(eva), "user_form")["role"] == role(READER)


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"password": "short"}, "password"),
        ({"username": "root"}, "username"),
        ({"role": "0"}, "role"),
    ],
)
def test_wrong_person_is_an_error_at_its_field(
    root: Client, values: dict[str, str], field: str
) -> None:
    response = root.post(ADD, {"username": "eva", "password": PASSWORD, "role": "", **values})
    assert list(errors_of(response)) == [field]
    assert not User.objects.filter(username="eva").exists()


def test_role_is_changed_and_other_groups_stay(root: Client) -> None:
    eva = User.objects.create_user("eva")
    eva.groups.add(Group.objects.create(name="Visitors"), Group.objects.get(name=READER))
    groups = [str(pk) for pk in eva.groups.values_list("pk", flat=True)]
    assert save(root, eva, role=role(EDITOR), groups=groups).status_code == 302
    eva.refresh_from_db()
    assert eva.is_staff
    assert sorted(group.name for group in eva.groups.all()) == [EDITOR, "Visitors"]


def test_second_save_of_a_person_changes_nothing(root: Client) -> None:
    eva = User.objects.create_user("eva", is_staff=True)
    eva.groups.add(*Group.objects.filter(name__in=[READER, EDITOR]))
    before = User.objects.values().get(pk=eva.pk)
    groups = [str(pk) for pk in eva.groups.values_list("pk", flat=True)]
    assert save(root, eva, groups=groups).status_code == 302
    assert User.objects.values().get(pk=eva.pk) == before
    assert eva.groups.count() == 2


# ── No rights beyond one's own ──


def test_manager_grants_only_roles_within_their_own_rights(manager: Client) -> None:
    new = {"username": "eva", "password": PASSWORD}
    assert list(errors_of(manager.post(ADD, new | {"role": role(EDITOR)}))) == ["role"]
    more = {"is_superuser": "on", "is_staff": "on", "groups": role(EDITOR), "user_permissions": "1"}
    assert manager.post(ADD, new | {"role": role(READER)} | more).status_code == 302
    eva = User.objects.get(username="eva")
    assert save(manager, eva, **more).status_code == 302
    eva.refresh_from_db()
    assert not eva.is_superuser and not eva.user_permissions.exists()
    assert [group.name for group in eva.groups.all()] == [READER]
    html = manager.get(page_of(eva)).content.decode()
    assert "Advanced" not in html and "is_superuser" not in html


@pytest.mark.parametrize("active", [True, False])
@pytest.mark.parametrize("kind", ["superuser", "editor", "direct"])
def test_manager_cannot_take_over_somebody_with_more_rights(
    manager: Client, kind: str, active: bool
) -> None:
    strong = User.objects.create_user("strong", password=PASSWORD, is_active=active)
    if kind == "superuser":
        User.objects.filter(pk=strong.pk).update(is_superuser=True)
    elif kind == "editor":
        strong.groups.add(Group.objects.get(name=EDITOR))
    else:
        strong.user_permissions.add(Permission.objects.get(codename="delete_scenario"))
    password = f"{USERS}{strong.pk}/password/"
    new_password = {
        "password1": "taken over 9",
        "password2": "taken over 9",
        "usable_password": "true",
    }
    assert manager.get(page_of(strong)).status_code == 200
    assert manager.post(page_of(strong), {"username": "mine", "is_active": "on"}).status_code == 403
    assert manager.post(password, new_password).status_code == 403
    assert manager.post(f"{USERS}{strong.pk}/delete/", {"post": "yes"}).status_code == 403
    selected = {"action": "delete_selected", "post": "yes", "_selected_action": [strong.pk]}
    manager.post(USERS, selected)
    strong.refresh_from_db()
    assert (strong.username, strong.is_active) == ("strong", active)
    assert strong.check_password(PASSWORD)


def test_manager_cannot_widen_a_group(manager: Client) -> None:
    editor = Group.objects.get(name=EDITOR)
    page = f"/admin/auth/group/{editor.pk}/change/"
    assert manager.post(page, {"name": EDITOR, "permissions": []}).status_code == 403
    author = Group.objects.get(name=AUTHOR)
    publish = Permission.objects.get(codename="publish_draft")
    stored_keys = [str(pk) for pk in author.permissions.values_list("pk", flat=True)]
    page = f"/admin/auth/group/{author.pk}/change/"
    wider = manager.post(page, {"name": AUTHOR, "permissions": [*stored_keys, str(publish.pk)]})
    assert list(errors_of(wider)) == ["permissions"]
    assert manager.post(page, {"name": AUTHOR, "permissions": stored_keys}).status_code == 302
    assert sorted(map(str, author.permissions.values_list("pk", flat=True))) == sorted(stored_keys)
    new = {"name": "new", "permissions": [str(publish.pk)]}
    assert list(errors_of(manager.post("/admin/auth/group/add/", new))) == ["permissions"]


# ── No role ──


@pytest.mark.parametrize("managers", [[], ["alice", "bob"]])
@pytest.mark.parametrize("staff", [True, False])
def test_account_without_a_role_is_told_so_and_whom_to_ask(
    staff: bool, managers: list[str]
) -> None:
    for name in managers:
        User.objects.create_superuser(name)
    User.objects.create_user("eva", password=PASSWORD, is_staff=staff)
    manager_names = " or ".join(managers) or "an administrator"
    notice = (
        f"Your account “eva” has no role yet, so there is nothing to see here. Ask {manager_names}"
    )
    client = Client()
    credentials = {"username": "eva", "password": PASSWORD}
    response = client.post("/admin/login/?next=/admin/", credentials, follow=True)
    assert notice in unescape(response.content.decode())
    assert notice in unescape(
        client_of(User.objects.get(username="eva")).get("/admin/", follow=True).content.decode()
    )
    wrong = Client().post("/admin/login/", credentials | {"password": "wrong"})
    assert "has no role" not in unescape(wrong.content.decode())


def test_role_without_staff_status_is_told_apart(db: None) -> None:
    eva = User.objects.create_user("eva", password=PASSWORD)
    eva.groups.add(Group.objects.get(name=READER))
    response = Client().post("/admin/login/", {"username": "eva", "password": PASSWORD})
    assert "“eva” has no staff status" in unescape(response.content.decode())


def test_account_with_a_role_is_told_nothing(reader: Client) -> None:
    assert "no role yet" not in reader.get("/admin/").content.decode()
