"""Receivers, views, tags and paths are registered in a process without other imports."""

import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from tests.fresh.processes import run, run_script

PACKAGES = ("mockllm_site", "scenarios_app", "chat_app", "traces_app")
# Receivers that only update their own module, and are not needed without it.
OF_THEIR_MODULE = {
    "scenarios_app.conf": "forgets the settings that it has looked up",
    "mockllm_site.serve.database_threads": "keeps the connections of threads that it starts",
    "scenarios_app.catalog": "drops the compiled scenarios of this process",
}
# Prints what is registered after `django.setup()`, and again with every module imported.
REGISTERED = """
import gc, importlib, pkgutil, weakref
from django.apps import apps
from django.core.checks.registry import registry
from django.dispatch import Signal

PACKAGES = ("mockllm_site", "scenarios_app", "chat_app", "traces_app")
LEFT_OUT = ("migrations", "__main__", "settings", "settings_test", "public", "asgi")

def name(receiver):
    value = receiver() if isinstance(receiver, weakref.ReferenceType) else receiver
    value = getattr(value, "func", value)
    return f"{getattr(value, '__module__', '')}:{getattr(value, '__qualname__', '')}"

def registered():
    signals = [one for one in gc.get_objects() if isinstance(one, Signal)]
    receivers = {name(receiver[1]) for signal in signals for receiver in signal.receivers}
    return {
        "receivers": sorted(one for one in receivers if one.startswith(PACKAGES)),
        "checks": sorted(name(check) for check in registry.get_checks(True)),
        "models": sorted(model._meta.label for model in apps.get_models()),
    }

def modules(package):
    yield package.__name__
    for found in pkgutil.iter_modules(package.__path__):
        full = f"{package.__name__}.{found.name}"
        if found.name in LEFT_OUT:
            continue
        if found.ispkg:
            yield from modules(importlib.import_module(full))
        else:
            yield full

first = registered()
for package in PACKAGES:
    for module in modules(importlib.import_module(package)):
        importlib.import_module(module)
print(json.dumps([first, registered()]))
"""
TEMPLATES = """
from pathlib import Path
import re
from django.template import engines
from django.template.loader import get_template
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver

# Templates first: nothing has imported their tags and filters yet.
folders = [folder / "templates" for folder in map(Path, PACKAGES)]
loaded, named = 0, set()
for folder in folders:
    for file in sorted(folder.rglob("*.html")):
        get_template(str(file.relative_to(folder)))
        named.update(re.findall(r'{% url "([^"]+)"', file.read_text()))
        loaded += 1

views, names = 0, set()
def walk(patterns, namespace=""):
    global views
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            walk(pattern.url_patterns, inner)
        else:
            assert callable(pattern.callback), pattern
            views += 1
            names.add(f"{namespace}{pattern.name}")
resolver = get_resolver()
walk(resolver.url_patterns)
handlers = [resolver.resolve_error_handler(status).__module__ for status in (400, 403, 404, 500)]
print(json.dumps({
    "templates": loaded, "views": views, "unknown": sorted(named - names), "handlers": handlers,
}))
"""
SETTINGS = """
import re
from django.conf import settings
from django.utils.module_loading import import_string

PATH = re.compile(r"(?:mockllm_site|scenarios_app|chat_app|traces_app)(?:\\.\\w+)+")

def paths(value):
    if type(value) is str and PATH.fullmatch(value):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            # Labels of models are written as paths are.
            if key != "models":
                yield from paths(inner)
    elif isinstance(value, (list, tuple, set)):
        for inner in value:
            yield from paths(inner)

values = [getattr(settings, name) for name in dir(settings) if name.isupper()]
found = set(paths(values))
found -= {settings.ROOT_URLCONF, settings.SETTINGS_MODULE}
for path in sorted(found):
    try:
        import_string(path)
    except ImportError:
        __import__(path)
print(json.dumps(sorted(found)))
"""
TEST_MODE = {"MOCKLLM_ENV": "test"}
DEV = {"MOCKLLM_ENV": "dev", "DATABASE_URL": "sqlite:////tmp/is-not-opened.sqlite3"}
PROD = {
    "MOCKLLM_ENV": "prod",
    "SECRET_KEY": "p9u3Rk0fVq7sYz1wXc5tBn8mLh2jGd4eAaQoUi6yTrEwSxZvKlMnOpQr",
    "ALLOWED_HOSTS": "mock.example.com",
    "DATABASE_URL": "sqlite:////tmp/is-not-opened.sqlite3",
}
MODES = {"test": TEST_MODE, "dev": DEV, "prod": PROD}


@pytest.fixture(scope="module")
def registrations(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the registrations after `django.setup()`, and after importing every module."""
    folder = tmp_path_factory.mktemp("registered")
    after_setup, after_imports = run_script(REGISTERED, cwd=folder, **TEST_MODE)
    return after_setup, after_imports


def test_receivers_are_connected_without_another_import(
    registrations: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    after_setup, after_imports = registrations
    assert "mockllm_site.roles:create_roles" in after_setup["receivers"]
    late_receivers = set(after_imports["receivers"]) - set(after_setup["receivers"])
    assert {
        receiver for receiver in late_receivers if receiver.partition(":")[0] not in OF_THEIR_MODULE
    } == set()


@pytest.mark.parametrize("kind", ["checks", "models"])
def test_nothing_is_registered_by_a_later_import(
    registrations: tuple[dict[str, Any], dict[str, Any]], kind: str
) -> None:
    after_setup, after_imports = registrations
    assert after_setup[kind] and set(after_imports[kind]) - set(after_setup[kind]) == set()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = Path(__file__).resolve().parents[2]
    folders = f"PACKAGES = {[str(root / name) for name in PACKAGES]!r}\n"
    pages: dict[str, Any] = run_script(
        folders + TEMPLATES, cwd=tmp_path_factory.mktemp("pages"), **TEST_MODE
    )
    return pages


def test_every_template_finds_its_tags(pages: dict[str, Any]) -> None:
    assert pages["templates"] > 40


def test_every_route_has_a_view_and_templates_name_only_routes_there_are(
    pages: dict[str, Any],
) -> None:
    assert pages["views"] > 150
    assert pages["unknown"] == []
    assert pages["handlers"] == ["mockllm_site.pages.errors"] * 4


@pytest.mark.parametrize("mode", MODES)
def test_every_path_in_the_settings_can_be_imported(tmp_path: Path, mode: str) -> None:
    paths = run_script(SETTINGS, cwd=tmp_path, **MODES[mode])
    assert {"mockllm_site.asgi.application", "scenarios_app.admin.site.dashboard"} <= set(paths)


def test_every_entry_point_can_be_loaded_alone(tmp_path: Path) -> None:
    points = distribution("mockllm-server").entry_points
    assert {point.group for point in points} >= {"console_scripts", "pytest11"}
    for point in points:
        script = f"from importlib import import_module as i; i({point.module!r})"
        process = run("-c", script, cwd=tmp_path)
        assert process.returncode == 0, (point, process.stderr)


def test_plugin_fixture_works_in_a_suite_without_imports(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_it(mockllm):\n"
        "    assert mockllm.base_url\n"
        "    assert 'mockllm_site.urls' not in sys.modules\n"
    )
    options = ("-m", "pytest", "-q", "-p", "no:django", "-p", "no:cacheprovider")
    process = run(*options, cwd=tmp_path)
    assert "1 passed" in process.stdout, process.stdout


def test_the_console_script_runs(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("mockllm")
    process = run(str(script), "help", cwd=tmp_path, **TEST_MODE)
    assert "a deterministic LLM server" in process.stdout, process.stderr
