"""Which settings module a process gets, and how each kind of value is read."""

from collections import ChainMap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mockllm_site.kit import env

Given = Callable[[str], None]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Given:
    """Sets the variable X for the readers."""

    def give(value: str) -> None:
        monkeypatch.setattr(env, "variables", lambda: ChainMap({"X": value}))

    return give


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
    with pytest.raises(env.SettingError, match="MOCKLLM_ENV: expected dev, test or prod, got 'qa'"):
        env.settings_module({"MOCKLLM_ENV": "qa"})


@pytest.mark.parametrize("value", ["1", "true", "True", " yes ", "ON"])
def test_words_for_true(given: Given, value: str) -> None:
    given(value)
    assert env.flag("X", default=False) is True


@pytest.mark.parametrize("value", ["0", "false", "NO", "off"])
def test_words_for_false(given: Given, value: str) -> None:
    given(value)
    assert env.flag("X", default=True) is False


@pytest.mark.parametrize("default", [True, False])
def test_an_empty_flag_is_its_default(given: Given, default: bool) -> None:
    given("  ")
    assert env.flag("X", default=default) is default


def test_numbers_may_group_their_digits(given: Given) -> None:
    given("1_000")
    assert env.whole("X", 5) == 1000


def test_a_number_may_be_zero_and_have_a_fraction(given: Given) -> None:
    given("0")
    assert env.number("X", 5) == 0
    given("0.5")
    assert env.number("X", 5) == 0.5


def test_a_number_may_be_left_out(given: Given) -> None:
    given("3")
    assert env.optional_whole("X") == 3
    given(" ")
    assert env.optional_whole("X") is None


def test_lists_drop_blanks_and_empty_items(given: Given) -> None:
    given(" gpt-4o, ,claude ,")
    assert env.names("X") == ["gpt-4o", "claude"]


def test_a_value_that_starts_with_a_dollar_sign_is_taken_as_it_is(given: Given) -> None:
    given("$secret")
    assert env.text("X") == "$secret"


def test_a_server_database_is_read_from_its_address(
    given: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(env, "find_spec", lambda name: object())
    given("postgres://qa:p%40ss@db.example:6543/mock")
    config = env.database("X", Path("unused"))
    assert config["ENGINE"] == "django.db.backends.postgresql"
    read = (config["USER"], config["PASSWORD"], config["HOST"], config["PORT"], config["NAME"])
    assert read == ("qa", "p@ss", "db.example", 6543, "mock")


def test_redis_keeps_its_address(given: Given, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "find_spec", lambda name: object())
    given("redis://127.0.0.1:6379/0")
    assert env.redis("X") == "redis://127.0.0.1:6379/0"


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        (lambda: env.flag("X", default=True), "flase", "expected true or false, got 'flase'"),
        (lambda: env.whole("X", 5), "ten", "expected a whole number from 1 up, got 'ten'"),
        (lambda: env.whole("X", 5), "0", "expected a whole number from 1 up, got '0'"),
        (lambda: env.whole("X", 5), "1.5", "expected a whole number from 1 up, got '1.5'"),
        (lambda: env.optional_whole("X"), "0", "expected a whole number from 1 up, got '0'"),
        (lambda: env.optional_whole("X"), "soon", "expected a whole number from 1 up, got 'soon'"),
        (lambda: env.number("X", 5), "fast", "expected a number from 0 up, got 'fast'"),
        (lambda: env.number("X", 5), "-1", "expected a number from 0 up, got '-1'"),
        (lambda: env.number("X", 5), "nan", "expected a number from 0 up, got 'nan'"),
        (lambda: env.number("X", 5), "inf", "expected a number from 0 up, got 'inf'"),
        (lambda: env.origins("X"), "a.example", "expected * or scheme://host[:port]"),
        (lambda: env.origins("X"), "https://a.example/x", "expected * or scheme://host[:port]"),
        (lambda: env.redis("X"), "localhost:6379", "expected redis://HOST:PORT/DB"),
        (lambda: env.database("X", Path("f")), "mysql://h/db", env.DATABASES),
        (lambda: env.database("X", Path("f")), "file.sqlite3", env.DATABASES),
        (lambda: env.database("X", Path("f")), "sqlite://:memory:", "MOCKLLM_ENV=test is for"),
    ],
)
def test_a_malformed_value_names_its_setting(
    given: Given, read: Callable[[], Any], value: str, message: str
) -> None:
    given(value)
    with pytest.raises(env.SettingError) as caught:
        read()
    assert str(caught.value).startswith("X: ")
    assert message in str(caught.value)


def test_a_database_error_keeps_the_password_to_itself(given: Given) -> None:
    given("postgres://qa:hunter2/x@db/mock")
    with pytest.raises(env.SettingError) as caught:
        env.database("X", Path("unused"))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("read", "value", "extra"),
    [
        (lambda: env.database("X", Path("f")), "postgres://h/db", "mockllm-server[postgres]"),
        (lambda: env.redis("X"), "redis://h", "mockllm-server[redis]"),
    ],
)
def test_a_missing_driver_names_the_extra(
    given: Given,
    monkeypatch: pytest.MonkeyPatch,
    read: Callable[[], Any],
    value: str,
    extra: str,
) -> None:
    monkeypatch.setattr(env, "find_spec", lambda name: None)
    given(value)
    with pytest.raises(env.SettingError, match="pip install") as caught:
        read()
    assert extra in str(caught.value)
