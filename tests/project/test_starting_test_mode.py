"""Where the catch-all comes from: test mode loads it at every start, dev once with the demo."""

import pytest
from django.conf import LazySettings

from mockllm_site import database, lifespan, starting
from scenarios_app.models import Scenario
from tests.serving.cases import Case
from tests.serving.modes import CATCH_ALL
from tests.serving.servers import ask, serving

pytestmark = pytest.mark.django_db
NAME = CATCH_ALL["name"]


def names() -> set[str]:
    return set(Scenario.objects.values_list("name", flat=True))


@pytest.mark.parametrize(("mode", "loaded"), [("test", {NAME}), ("dev", set()), ("prod", set())])
def test_test_mode_alone_loads_it_at_every_start(
    settings: LazySettings, mode: str, loaded: set[str]
) -> None:
    settings.MOCKLLM_ENV = mode
    for _ in range(2):
        starting.load_test_mode()
    assert names() == loaded


def test_the_demo_brings_it(settings: LazySettings) -> None:
    settings.MOCKLLM_ENV = "dev"
    starting.load_demo(catch_all=True)
    assert NAME in names() and len(names()) > 1


def test_the_demo_may_come_without_it(settings: LazySettings) -> None:
    settings.MOCKLLM_ENV = "dev"
    starting.load_demo(catch_all=False)
    assert names() and NAME not in names()


def test_a_database_that_holds_something_is_left_alone(settings: LazySettings) -> None:
    settings.MOCKLLM_ENV = "dev"
    Scenario.objects.create(name="mine")
    starting.load_demo(catch_all=True)
    assert names() == {"mine"}


def test_a_server_that_finds_its_tables_made_loads_nothing() -> None:
    assert not database.prepare_in_memory()
    lifespan._prepare()
    assert names() == set()


@pytest.mark.parametrize("server", ["uvicorn", "daphne"])
def test_any_server_has_it_in_test_mode(server: str) -> None:
    body = b'{"model": "m", "messages": [{"role": "user", "content": "Who are you?"}]}'
    case = Case("hello", "/v1/chat/completions", body, headers={"authorization": "Bearer k"})
    with serving(server, "mockllm_site.asgi:application") as port:
        seen = ask(port, case)
    assert dict(seen.headers)["x-mockllm-scenario"] == NAME
    assert seen.body.count(b"Who are you?") == 1
