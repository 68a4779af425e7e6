"""The settings module of each mode, and the parsing of each kind of value."""

import os
from collections import ChainMap
from ipaddress import ip_network
from typing import Any

import pytest

from mockllm_site.kit import env
from mockllm_site.kit import setting_kinds as kinds
from mockllm_site.kit.settings_table import SETTINGS


@pytest.mark.parametrize(
    ("variables", "module"),
    [
        ({}, "mockllm_site.settings"),
        ({"MOCKLLM_ENV": ""}, "mockllm_site.settings"),
        ({"MOCKLLM_ENV": "dev"}, "mockllm_site.settings"),
        ({"MOCKLLM_ENV": "PROD"}, "mockllm_site.settings"),
        ({"MOCKLLM_ENV": "Test"}, "mockllm_site.settings_test"),
        ({"MOCKLLM_ENV": "test", "DJANGO_SETTINGS_MODULE": "mine"}, "mine"),
    ],
)
def test_mode_chooses_the_settings_module(variables: dict[str, str], module: str) -> None:
    assert env.settings_module(variables) == module


def test_an_unknown_mode_is_named_in_the_error() -> None:
    with pytest.raises(
        kinds.SettingError, match="MOCKLLM_ENV: expected dev, test or prod, got 'qa'"
    ):
        env.settings_module({"MOCKLLM_ENV": "qa"})


@pytest.mark.parametrize(("value", "expected"), [("  ", True), (" no ", False)])
def test_blank_setting_has_its_default(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: bool
) -> None:
    monkeypatch.setattr(env, "variables", lambda: ChainMap({"MOCKLLM_INBAND": value}))
    assert env.read_settings(prod=False).MOCKLLM_INBAND is expected


def read(name: str, text: str) -> Any:
    return SETTINGS[name].kind.read(name, text)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        *(("DEBUG", text, True) for text in ("1", "true", "True", "yes", "ON")),
        *(("DEBUG", text, False) for text in ("0", "false", "NO", "off")),
        # Numbers may group their digits, and some have a fraction.
        ("MOCKLLM_MAX_STREAMS", "1_000", 1000),
        ("RETENTION_DAYS", "3", 3),
        ("MOCKLLM_DRAIN_SECONDS", "0", 0),
        ("MOCKLLM_DRAIN_SECONDS", "0.5", 0.5),
        ("MOCKLLM_MODELS", " gpt-4o, ,claude ,", ("gpt-4o", "claude")),
        ("MOCKLLM_SCENARIOS", f"a b{os.pathsep}{os.pathsep}c", ("a b", "c")),
        ("MOCKLLM_ADMIN_HOST", "Admin.Example:8443", "admin.example:8443"),
        ("MOCKLLM_TRUSTED_PROXIES", "10.0.0.1/8", (ip_network("10.0.0.0/8"),)),
        ("CHAT_KEYS", "A_KEY@h:1, B@i", (("A_KEY", "h:1"), ("B", "i"))),
        # A leading dollar sign is kept.
        ("CHAT_TOKEN", "$secret", "$secret"),
    ],
)
def test_text_of_a_setting_is_read_as_its_kind(name: str, text: str, value: Any) -> None:
    assert read(name, text) == value


def test_a_server_database_is_read_from_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "find_spec", lambda name: object())
    config = read("DATABASE_URL", "postgres://qa:p%40ss@db.example:6543/mock")
    assert config["ENGINE"] == "django.db.backends.postgresql"
    parts = (config["USER"], config["PASSWORD"], config["HOST"], config["PORT"], config["NAME"])
    assert parts == ("qa", "p@ss", "db.example", 6543, "mock")


def test_redis_keeps_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "find_spec", lambda name: object())
    assert read("REDIS_URL", "redis://127.0.0.1:6379/0") == "redis://127.0.0.1:6379/0"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("DEBUG", "flase", "expected true or false, got 'flase'"),
        ("MOCKLLM_MAX_STREAMS", "ten", "expected a whole number from 1 up, got 'ten'"),
        ("MOCKLLM_MAX_STREAMS", "0", "expected a whole number from 1 up, got '0'"),
        ("MOCKLLM_MAX_STREAMS", "1.5", "expected a whole number from 1 up, got '1.5'"),
        ("RETENTION_DAYS", "soon", "expected a whole number from 1 up, got 'soon'"),
        ("MOCKLLM_DRAIN_SECONDS", "nan", "expected a number from 0 up, got 'nan'"),
        ("MOCKLLM_CORS_ORIGINS", "https://a.example/x", "expected * or scheme://host[:port]"),
        ("REDIS_URL", "localhost:6379", "expected redis://HOST:PORT/DB"),
        ("DATABASE_URL", "mysql://h/db", "expected sqlite:///FILE or postgres://"),
        ("DATABASE_URL", "file.sqlite3", "expected sqlite:///FILE or postgres://"),
        ("DATABASE_URL", "sqlite://:memory:", "MOCKLLM_ENV=test is for"),
    ],
)
def test_a_malformed_value_names_its_setting(name: str, value: str, message: str) -> None:
    with pytest.raises(kinds.SettingError) as raised:
        read(name, value)
    assert str(raised.value).startswith(f"{name}: ")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "postgres://qa:hunter2/x@db/mock"),
        ("REDIS_URL", "qa:hunter2@cache:6379"),
    ],
)
def test_error_of_an_address_does_not_quote_its_password(name: str, value: str) -> None:
    with pytest.raises(kinds.SettingError) as raised:
        read(name, value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value", "extra"),
    [
        ("DATABASE_URL", "postgres://h/db", "mockllm-server[postgres]"),
        ("REDIS_URL", "redis://h", "mockllm-server[redis]"),
    ],
)
def test_a_missing_driver_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, extra: str
) -> None:
    monkeypatch.setattr(kinds, "find_spec", lambda package: None)
    with pytest.raises(kinds.SettingError, match="pip install") as raised:
        read(name, value)
    assert extra in str(raised.value)
