"""Loading of the demo and the catch-all scenario.

Test mode loads the catch-all at every start, dev loads both into a new database.
"""

from pathlib import Path

import pytest
from django.conf import LazySettings

from chat_app.models import ModelProfile
from mockllm_site.management.commands import serve
from mockllm_site.serve import database, lifespan
from mockllm_site.serve import first_start as starting
from scenarios_app.catalog import catalog
from scenarios_app.models import Scenario
from tests.serving.cases import Case
from tests.serving.modes import CATCH_ALL
from tests.serving.pipelines import scenario, text_step
from tests.serving.processes.serve_process import write_scenarios
from tests.serving.processes.servers import run_asgi_server, send_case

pytestmark = pytest.mark.django_db
NAME = CATCH_ALL["name"]


def names() -> set[str]:
    return set(Scenario.objects.values_list("name", flat=True))


@pytest.mark.parametrize(("mode", "expected"), [("test", {NAME}), ("dev", set()), ("prod", set())])
def test_only_test_mode_loads_the_catch_all_at_every_start(
    settings: LazySettings, mode: str, expected: set[str]
) -> None:
    settings.MOCKLLM_ENV = mode
    for _ in range(2):
        starting.load_test_mode()
    assert names() == expected


@pytest.fixture
def dev(settings: LazySettings) -> LazySettings:
    settings.MOCKLLM_ENV = "dev"
    return settings


@pytest.mark.parametrize(
    ("options", "demo", "catch_all"),
    [
        ({}, True, True),
        ({"catch_all": False}, True, False),
        ({"demo": False}, False, True),
        ({"demo": False, "catch_all": False}, False, False),
    ],
)
@pytest.mark.parametrize("files", [True, False], ids=["with scenarios", "alone"])
def test_new_database_gets_the_demo_and_the_catch_all_unless_disabled(
    dev: LazySettings,
    tmp_path: Path,
    files: bool,
    options: dict[str, bool],
    demo: bool,
    catch_all: bool,
) -> None:
    own = scenario("own", text_step("Hi!"))
    dev.MOCKLLM_SCENARIOS = [write_scenarios(tmp_path, own)] if files else []
    serve._check_and_load([], **options)
    assert ("weather" in names(), NAME in names(), "own" in names()) == (demo, catch_all, files)
    profiles = set(ModelProfile.objects.values_list("name", flat=True))
    assert profiles == ({"demo", "demo-anthropic", "demo-thinking"} if demo else {"demo"})


def test_scenario_files_replace_demo_scenarios_of_the_same_name(
    dev: LazySettings, tmp_path: Path
) -> None:
    dev.MOCKLLM_SCENARIOS = [write_scenarios(tmp_path, scenario("weather", text_step("Mine.")))]
    serve._check_and_load([])
    assert Scenario.objects.get(name="weather").steps.count() == 1
    assert len(names()) > 2


@pytest.mark.parametrize(
    ("mode", "watch", "has_files", "is_watched"),
    [
        ("dev", None, True, True),
        ("dev", None, False, False),
        ("dev", False, True, False),
        ("test", None, True, False),
        ("prod", None, True, False),
        ("prod", True, True, True),
    ],
)
def test_files_are_watched_in_dev_or_if_that_is_asked_for(
    settings: LazySettings,
    tmp_path: Path,
    mode: str,
    watch: bool | None,
    has_files: bool,
    is_watched: bool,
) -> None:
    settings.MOCKLLM_ENV = mode
    settings.MOCKLLM_SCENARIOS = [
        write_scenarios(tmp_path, scenario("s", text_step("Hi!")))
    ] * has_files
    serve._check_and_load([], demo=False, catch_all=False, watch=watch)
    watcher, catalog.files = catalog.files, None
    assert (watcher is not None) == is_watched
    if watcher:
        watcher.stop()


def test_fixtures_are_loaded_in_addition_to_the_demo(dev: LazySettings) -> None:
    serve._check_and_load(["turns"])
    alone = names()
    assert {"weather", NAME} < alone


@pytest.mark.parametrize("left", [0, 1])
def test_deleted_demo_is_not_loaded_again(dev: LazySettings, left: int) -> None:
    serve._check_and_load([])
    keep = Scenario.objects.values_list("pk", flat=True)[:left]
    Scenario.objects.exclude(pk__in=list(keep)).delete()
    ModelProfile.objects.all().delete()
    serve._check_and_load([])
    assert len(names()) == left
    assert set(ModelProfile.objects.values_list("name", flat=True)) == {"demo"}


def test_a_database_that_holds_something_is_left_alone(dev: LazySettings) -> None:
    Scenario.objects.create(name="mine")
    serve._check_and_load([])
    assert names() == {"mine"}


@pytest.mark.parametrize("mode", ["test", "prod"])
def test_the_demo_is_for_dev_alone(settings: LazySettings, mode: str) -> None:
    settings.MOCKLLM_ENV = mode
    serve._check_and_load([], catch_all=False)
    assert names() == set()


def test_shipped_fixtures_win_over_files_in_the_working_directory(
    dev: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("demo", "test_mode", "profiles"):
        (tmp_path / f"{name}.json").write_text('{"name": "not a fixture", "steps": []}')
    serve._check_and_load(["demo"])
    assert {"weather", NAME} <= names()


def test_server_with_existing_tables_loads_nothing() -> None:
    assert not database.prepare_in_memory()
    lifespan._prepare()
    assert names() == set()


@pytest.mark.parametrize("server", ["uvicorn", "daphne"])
def test_every_asgi_server_has_the_catch_all_in_test_mode(server: str) -> None:
    body = b'{"model": "m", "messages": [{"role": "user", "content": "Who are you?"}]}'
    case = Case("hello", "/v1/chat/completions", body, headers={"authorization": "Bearer k"})
    with run_asgi_server(server, "mockllm_site.asgi:application") as port:
        response = send_case(port, case)
    assert dict(response.headers)["x-mockllm-scenario"] == NAME
    assert response.body.count(b"Who are you?") == 1
