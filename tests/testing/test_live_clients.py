"""The search for live clients of SDKs among the objects of other people's modules."""

import sys
from types import ModuleType

import openai
import pytest

from scenarios_app.testing.guard.clients import LiveClient, live_clients


class LazyObject:
    """Raises when its class is asked for, as objects do that load what they stand for."""

    @property
    def __class__(self) -> type:
        raise RuntimeError("loaded")


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return a module of the user, which is imported."""
    module = ModuleType("app_of_the_user")
    module.__file__ = "/nowhere/app_of_the_user.py"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def clients_of(module: ModuleType) -> list[LiveClient]:
    """Return the live clients that this module holds."""
    held_clients = [client for client in live_clients() if client.location]
    return [
        client
        for client in held_clients
        if client.location and client.location[1] == module.__name__
    ]


def test_module_that_must_not_be_imported_is_skipped(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "numpy_of_the_user", None)
    module.__dict__["client"] = openai.OpenAI(api_key="k")
    assert [str(client)[:8] for client in clients_of(module)] == ["`client`"]


def test_lazy_object_is_not_loaded(module: ModuleType) -> None:
    module.__dict__["lazy"] = LazyObject()
    module.__dict__["clients"] = {"a": [LazyObject(), openai.OpenAI(api_key="k")]}
    (client,) = clients_of(module)
    assert client.location and client.location[0] == "clients['a'][1]"


def test_function_in_place_of_an_sdk_class_is_skipped(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    module.__dict__["client"] = openai.AsyncOpenAI(api_key="k")
    monkeypatch.setattr(openai, "OpenAI", lambda **options: None)
    assert len(clients_of(module)) == 1
