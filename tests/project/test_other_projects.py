"""Another Django project with `scenarios_app` but without its settings has the defaults."""

import json
from pathlib import Path

import msgspec

from mockllm_site.kit.settings_table import DEFAULTS, SETTINGS
from scenarios_app.engine.document.checks import DocumentLimits
from scenarios_app.engine.document.recorded import MAX_BODY_BYTES
from scenarios_app.engine.producing.produce import MAX_TEXT_BYTES
from scenarios_app.serving.options import Options
from scenarios_app.wire.body import Limits
from tests.project import processes

SHOP_SETTINGS = """
SECRET_KEY = "shop"
INSTALLED_APPS = ["django.contrib.contenttypes", "django.contrib.auth", "scenarios_app"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
USE_TZ = True
"""
TESTS = """
import httpx2
from django.core.management import call_command
from django.test import TestCase

import scenarios_app
from scenarios_app.models import Scenario
from scenarios_app.serving.sync_transport import SyncMockTransport

print("from", scenarios_app.__file__)
TOOLS = [{"type": "function", "function": {"name": "get_weather"}}]


class WithFixture(TestCase):
    fixtures = ["demo.json"]

    def test_it_is_answered(self):
        said = {"role": "user", "content": "What is the weather in Paris?"}
        with httpx2.Client(transport=SyncMockTransport()) as client:
            answer = client.post(
                "http://mock/v1/chat/completions",
                json={"model": "gpt-4o", "messages": [said], "tools": TOOLS},
                headers={"Authorization": "Bearer any"},
            )
        self.assertEqual(answer.status_code, 200, answer.text)
        self.assertEqual(answer.headers["x-mockllm-scenario"], "weather")


class WithPublicTransport(TestCase):
    fixtures = ["demo.json"]

    def test_transport_of_the_package_mockllm_is_answered(self):
        from mockllm import SyncMockTransport

        said = [{"role": "user", "content": "weather in Paris?"}]
        body = {"model": "gpt-4o", "messages": said, "tools": TOOLS}
        with httpx2.Client(transport=SyncMockTransport()) as client:
            url, key = "http://mock/v1/chat/completions", {"Authorization": "Bearer other"}
            answer = client.post(url, json=body, headers=key)
        self.assertEqual(answer.headers["x-mockllm-scenario"], "weather")


class WithoutFixture(TestCase):
    def test_it_is_loaded_by_name(self):
        self.assertFalse(Scenario.objects.exists())
        call_command("loaddata", "demo", verbosity=0)
        self.assertTrue(Scenario.objects.filter(name="weather").exists())
"""


def test_other_project_tests_with_our_fixtures_and_transports(wheel: Path, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    for name, text in (("__init__", ""), ("settings", SHOP_SETTINGS), ("tests", TESTS)):
        (shop / f"{name}.py").write_text(text)
    variables = {"PYTHONPATH": str(wheel), "DJANGO_SETTINGS_MODULE": "shop.settings"}
    done = processes.python("-m", "django", "test", "shop", cwd=tmp_path, variables=variables)
    assert done.returncode == 0, done.stderr
    assert f"from {wheel / 'scenarios_app' / '__init__.py'}" in done.stdout
    assert "Ran 3 tests" in done.stderr


def test_other_project_has_the_defaults_of_prod(tmp_path: Path) -> None:
    variables = {"MOCKLLM_ENV": "prod", "SECRET_KEY": "0123456789abcdef" * 4}
    chosen = processes.settings(cwd=tmp_path, variables=variables)
    names = {name for name in SETTINGS if name.startswith("MOCKLLM_")} - {"MOCKLLM_ENV"}
    defaults = json.loads(json.dumps(msgspec.structs.asdict(DEFAULTS)))
    assert {name: chosen[name] for name in names} == {name: defaults[name] for name in names}
    assert chosen["MOCKLLM_CLOCK"] is None and chosen["REDIS_URL"] == DEFAULTS.REDIS_URL


def test_json_limits_of_the_wire_equal_the_settings() -> None:
    limits = Limits()
    assert limits.depth == DEFAULTS.MOCKLLM_MAX_JSON_DEPTH
    assert limits.nodes == DEFAULTS.MOCKLLM_MAX_JSON_NODES
    assert limits.messages == DEFAULTS.MOCKLLM_MAX_MESSAGES


def test_limits_of_the_engine_equal_the_settings() -> None:
    limits = DocumentLimits()
    assert limits.text_bytes == MAX_TEXT_BYTES == DEFAULTS.MOCKLLM_MAX_TEXT_BYTES
    assert limits.latency_ms == DEFAULTS.MOCKLLM_MAX_LATENCY_MS
    assert DEFAULTS.MOCKLLM_RECORD_BYTES == MAX_BODY_BYTES


def test_options_without_settings_have_the_limits_of_serve() -> None:
    options = Options()
    assert (options.max_body_bytes, options.max_text_bytes) == (10_485_760, 2_097_152)
    assert options.require_auth == DEFAULTS.MOCKLLM_REQUIRE_AUTH
    assert options.inband == DEFAULTS.MOCKLLM_INBAND
