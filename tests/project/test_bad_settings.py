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
# Wrong values by kind of setting.
WRONG = {
    "mode": ["prodd"],
    "flag": ["maybe", "2"],
    "whole": ["abc", "0", "-1", "1.5"],
    "optional_whole": ["abc", "0", "-1"],
    "number": ["abc", "-1", "nan", "inf"],
    "database": ["nonsense", "mysql://u:p@h/n", "sqlite://:memory:", "postgres://u:p@h:x/n"],
    "redis": ["nonsense", "http://127.0.0.1"],
    "host": ["http://a.example", "a.example/", ".a.example", "*", "a.example, b.example"],
    "origins": ["nonsense", "https://a.example/path"],
    "networks": ["proxy", "10.0.0.0/33", "10.0.0.1, nonsense"],
    "pairs": ["nonsense", "lower@host", "NAME@", "NAME@https://host", "NAME@host/path"],
}
# Kinds that accept any text; other tests check tokens in prod.
NEVER_WRONG = {"text", "names", "paths", "token"}


def wrong_values() -> Iterator[tuple[str, str]]:
    for setting in SETTINGS.values():
        yield from (
            (setting.name, value)
            for value in WRONG.get(setting.parse.__name__.removeprefix("parse_"), ())
        )


def test_every_kind_of_setting_has_wrong_values() -> None:
    assert {setting.parse.__name__.removeprefix("parse_") for setting in SETTINGS.values()} == set(
        WRONG
    ) | NEVER_WRONG


@pytest.mark.parametrize(("name", "value"), list(wrong_values()))
def test_a_wrong_value_names_its_setting_in_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setattr(env, "variables", lambda: ChainMap({name: value}))
    with pytest.raises(env.SettingError) as raised:
        runpy.run_path(str(SETTINGS_FILE))
    assert str(raised.value).startswith(f"{name}: expected ") or "in memory" in str(raised.value)
    assert "\n" not in str(raised.value)
