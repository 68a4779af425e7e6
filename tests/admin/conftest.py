"""Clients of the admin: a superuser, and a user of each role."""

from collections.abc import Iterator

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group, User
from django.test import Client

from mockllm_site.roles import AUTHOR, EDITOR, READER
from scenarios_app.serving.services import services


@pytest.fixture
def root(db: None) -> Client:
    return _create_client(User.objects.create_superuser("root"))


@pytest.fixture
def editor(db: None) -> Client:
    return _create_client_with_role(EDITOR)


@pytest.fixture
def author(db: None) -> Client:
    return _create_client_with_role(AUTHOR)


@pytest.fixture
def reader(db: None) -> Client:
    return _create_client_with_role(READER)


@pytest.fixture(autouse=True)
def _reset_sessions() -> Iterator[None]:
    """Reset all sessions of this process after a test."""
    yield
    async_to_sync(services().state.reset)(None, scenarios=True)


def _create_client_with_role(role: str) -> Client:
    user = User.objects.create_user(role, is_staff=True)
    user.groups.add(Group.objects.get(name=role))
    return _create_client(user)


def _create_client(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client
