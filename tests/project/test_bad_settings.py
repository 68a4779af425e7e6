"""A wrong value of any setting is reported in one line that names the setting."""

import runpy
from collections import ChainMap
from collections.abc import Iterator
from pathlib import Path

import pytest

import mockllm_site
from mockllm_site.kit import env
from mockllm_site.kit.settings_table import SETTINGS

SETTINGS_FILE = Path(mockllm_site.__file__).with_name("settings.py")
# Wrong values by what a kind of setting expects.
WRONG = {
    "dev, test or prod": ["prodd"],
    "true or false": ["maybe", "2"],
    "a whole number from 1 up": ["abc", "0", "-1", "1.5"],
    "a number from 0 up": ["abc", "-1", "nan", "inf"],
    "sqlite:///FILE or postgres://USER:PASSWORD@HOST:PORT/NAME": [
        *("nonsense", "mysql://u:p@h/n", "sqlite://:memory:", "postgres://u:p@h:x/n"),
    ],
    "redis://HOST:PORT/DB": ["nonsense", "http://127.0.0.1"],
    "one host name, with :port or without": [
        *("http://a.example", "a.example/", ".a.example", "*", "a.example, b.example"),
    ],
    "* or scheme://host[:port], separated by commas": ["nonsense", "https://a.example/path"],
    "IP addresses and ranges, separated by commas": [
        *("proxy", "10.0.0.0/33", "10.0.0.1, nonsense"),
    ],
    "VARIABLE@HOST[:PORT], separated by commas": [
        *("nonsense", "lower@host", "NAME@", "NAME@https://host", "NAME@host/path"),
    ],
}
# Kinds that accept any text; other tests check tokens in prod.
NEVER_WRONG = {"text", "names, separated by commas", "paths, separated as in PATH"}


def wrong_values() -> Iterator[tuple[str, str]]:
    for name, setting in SETTINGS.items():
        yield from ((name, value) for value in WRONG.get(setting.kind.expected, ()))


def test_every_kind_of_setting_has_wrong_values() -> None:
    kinds = {setting.kind.expected for setting in SETTINGS.values()}
    assert kinds == set(WRONG) | NEVER_WRONG


@pytest.mark.parametrize(("name", "value"), list(wrong_values()))
def test_a_wrong_value_names_its_setting_in_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setattr(env, "variables", lambda: ChainMap({name: value}))
    with pytest.raises(env.SettingError) as raised:
        runpy.run_path(str(SETTINGS_FILE))
    assert str(raised.value).startswith(f"{name}: expected ") or "in memory" in str(raised.value)
    assert "\n" not in str(raised.value)
