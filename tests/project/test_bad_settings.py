"""Every setting that is read as something other than text: a wrong value names it, in one line."""

import ast
import runpy
from collections import ChainMap
from collections.abc import Iterator
from pathlib import Path

import pytest

import mockllm_site
from mockllm_site.kit import env

SETTINGS = Path(mockllm_site.__file__).with_name("settings.py")
# By the reader of `env`; what takes any text cannot be wrong.
WRONG = {
    "flag": ["maybe", "2"],
    "whole": ["abc", "0", "-1", "1.5"],
    "optional_whole": ["abc", "0", "-1"],
    "number": ["abc", "-1", "nan", "inf"],
    "database": ["nonsense", "mysql://u:p@h/n", "sqlite://:memory:", "postgres://u:p@h:x/n"],
    "redis": ["nonsense", "http://127.0.0.1"],
    "origins": ["nonsense", "https://a.example/path"],
    "networks": ["proxy", "10.0.0.0/33", "10.0.0.1, nonsense"],
    "pairs": ["nonsense", "lower@host", "NAME@", "NAME@https://host", "NAME@host/path"],
}
ANY_TEXT = {"text", "names", "paths", "mode", "variables", "SettingError"}
# What only prod refuses has tests of its own.
PROD = {"token", "refuse_weak_key"}


def readers() -> Iterator[tuple[str, str]]:
    """Each reader that the settings call, and the setting."""
    for node in ast.walk(ast.parse(SETTINGS.read_text())):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="env"), attr=reader),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield reader, name


def wrong() -> Iterator[tuple[str, str]]:
    yield "MOCKLLM_ENV", "prodd"
    for reader, name in readers():
        yield from ((name, value) for value in WRONG.get(reader, ()))


def test_every_reader_is_known() -> None:
    assert {reader for reader, _ in readers()} <= set(WRONG) | ANY_TEXT | PROD


@pytest.mark.parametrize(("name", "value"), list(wrong()))
def test_a_wrong_value_names_its_setting_in_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setattr(env, "variables", lambda: ChainMap({name: value}))
    with pytest.raises(env.SettingError) as raised:
        runpy.run_path(str(SETTINGS))
    assert str(raised.value).startswith(f"{name}: expected ") or "in memory" in str(raised.value)
    assert "\n" not in str(raised.value)
