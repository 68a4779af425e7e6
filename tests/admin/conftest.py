"""Users of the admin: one who may do everything, and one of each role."""

from collections.abc import Iterator

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group, User
from django.test import Client

from mockllm_site.roles import AUTHOR, EDITOR, READER
from scenarios_app.serving.services import services


@pytest.fixture
def root(db: None) -> Client:
    return _logged_in(User.objects.create_superuser("root"))


@pytest.fixture
def editor(db: None) -> Client:
    return _with_role(EDITOR)


@pytest.fixture
def author(db: None) -> Client:
    return _with_role(AUTHOR)


@pytest.fixture
def reader(db: None) -> Client:
    return _with_role(READER)


@pytest.fixture(autouse=True)
def new_sessions() -> Iterator[None]:
    """What requests of a test left in the process is gone after it."""
    yield
    async_to_sync(services().state.reset)(None, scenarios=True)


def _with_role(role: str) -> Client:
    user = User.objects.create_user(role, is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    return _logged_in(user)


def _logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client
