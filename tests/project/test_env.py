"""The settings module of each mode, and the parsing of each kind of value."""

from collections import ChainMap
from collections.abc import Callable
from typing import Any

import pytest

from mockllm_site.kit import env
from mockllm_site.kit import setting_kinds as kinds


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


@pytest.mark.parametrize("value", ["1", "true", "True", "yes", "ON"])
def test_flag_accepts_words_for_true(value: str) -> None:
    assert kinds.parse_flag("X", value) is True


@pytest.mark.parametrize("value", ["0", "false", "NO", "off"])
def test_flag_accepts_words_for_false(value: str) -> None:
    assert kinds.parse_flag("X", value) is False


@pytest.mark.parametrize(("value", "expected"), [("  ", True), (" no ", False)])
def test_blank_setting_has_its_default(
    monkeypatch: pytest.MonkeyPatch, value: str, expected: bool
) -> None:
    monkeypatch.setattr(env, "variables", lambda: ChainMap({"MOCKLLM_INBAND": value}))
    assert env.read_settings(prod=False)["MOCKLLM_INBAND"] is expected


def test_numbers_may_group_their_digits() -> None:
    assert kinds.parse_whole("X", "1_000") == 1000


def test_a_number_may_be_zero_and_have_a_fraction() -> None:
    assert kinds.parse_number("X", "0") == 0
    assert kinds.parse_number("X", "0.5") == 0.5


def test_a_number_may_be_left_out() -> None:
    assert kinds.parse_optional_whole("X", "3") == 3
    assert kinds.parse_optional_whole("X", "") is None


def test_lists_drop_blanks_and_empty_items() -> None:
    assert kinds.parse_names("X", " gpt-4o, ,claude ,") == ["gpt-4o", "claude"]


def test_leading_dollar_sign_of_a_value_is_kept() -> None:
    assert kinds.parse_text("X", "$secret") == "$secret"


def test_a_server_database_is_read_from_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "find_spec", lambda name: object())
    config = kinds.parse_database("X", "postgres://qa:p%40ss@db.example:6543/mock")
    assert config["ENGINE"] == "django.db.backends.postgresql"
    read = (config["USER"], config["PASSWORD"], config["HOST"], config["PORT"], config["NAME"])
    assert read == ("qa", "p@ss", "db.example", 6543, "mock")


def test_redis_keeps_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "find_spec", lambda name: object())
    assert kinds.parse_redis("X", "redis://127.0.0.1:6379/0") == "redis://127.0.0.1:6379/0"


@pytest.mark.parametrize(
    ("parse", "value", "message"),
    [
        (kinds.parse_flag, "flase", "expected true or false, got 'flase'"),
        (kinds.parse_whole, "ten", "expected a whole number from 1 up, got 'ten'"),
        (kinds.parse_whole, "0", "expected a whole number from 1 up, got '0'"),
        (kinds.parse_whole, "1.5", "expected a whole number from 1 up, got '1.5'"),
        (kinds.parse_optional_whole, "0", "expected a whole number from 1 up, got '0'"),
        (kinds.parse_optional_whole, "soon", "expected a whole number from 1 up, got 'soon'"),
        (kinds.parse_number, "fast", "expected a number from 0 up, got 'fast'"),
        (kinds.parse_number, "-1", "expected a number from 0 up, got '-1'"),
        (kinds.parse_number, "nan", "expected a number from 0 up, got 'nan'"),
        (kinds.parse_number, "inf", "expected a number from 0 up, got 'inf'"),
        (kinds.parse_origins, "a.example", "expected * or scheme://host[:port]"),
        (kinds.parse_origins, "https://a.example/x", "expected * or scheme://host[:port]"),
        (kinds.parse_redis, "localhost:6379", "expected redis://HOST:PORT/DB"),
        (kinds.parse_database, "mysql://h/db", kinds.EXPECTED_DATABASE),
        (kinds.parse_database, "file.sqlite3", kinds.EXPECTED_DATABASE),
        (kinds.parse_database, "sqlite://:memory:", "MOCKLLM_ENV=test is for"),
    ],
)
def test_a_malformed_value_names_its_setting(
    parse: Callable[[str, str], Any], value: str, message: str
) -> None:
    with pytest.raises(kinds.SettingError) as raised:
        parse("X", value)
    assert str(raised.value).startswith("X: ")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("parse", "value"),
    [
        (kinds.parse_database, "postgres://qa:hunter2/x@db/mock"),
        (kinds.parse_redis, "qa:hunter2@cache:6379"),
    ],
)
def test_error_of_an_address_does_not_quote_its_password(
    parse: Callable[[str, str], Any], value: str
) -> None:
    with pytest.raises(kinds.SettingError) as raised:
        parse("X", value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("parse", "value", "extra"),
    [
        (kinds.parse_database, "postgres://h/db", "mockllm-server[postgres]"),
        (kinds.parse_redis, "redis://h", "mockllm-server[redis]"),
    ],
)
def test_a_missing_driver_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, parse: Callable[[str, str], Any], value: str, extra: str
) -> None:
    monkeypatch.setattr(kinds, "find_spec", lambda name: None)
    with pytest.raises(kinds.SettingError, match="pip install") as raised:
        parse("X", value)
    assert extra in str(raised.value)
