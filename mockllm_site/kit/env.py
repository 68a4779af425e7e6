"""The process environment before Django exists: which settings module, and its values."""

from __future__ import annotations

import importlib
import os
import sys
from collections import ChainMap
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import environ

from mockllm_site.kit.setting_kinds import SettingError
from mockllm_site.kit.settings_table import SETTINGS, ProdSettings, Settings

MODULES = {
    "dev": "mockllm_site.settings",
    "prod": "mockllm_site.settings",
    "test": "mockllm_site.settings_test",
}
LIGHT = "MOCKLLM_LIGHT"
# Packages of the extra `server` that our code imports.
SERVER_PACKAGES = (
    *("axes", "channels", "daphne", "drf_spectacular", "markdown_it", "prometheus_client", "rich"),
    *("unfold", "whitenoise"),
)
MISSING_SERVER = "the extra `server` is missing: pip install 'mockllm-server[server]'"
LIGHT_INSTEAD = "serve providers and the control API alone with `mockllm serve --light`"
# The minimums of Django's `check --deploy`.
MIN_KEY_CHARS, MIN_DISTINCT_KEY_CHARS = 50, 5
NEW_KEY = "make one with: python -c 'import secrets; print(secrets.token_urlsafe(50))'"
PREFIX = "MOCKLLM_"
# Variables that begin like our settings, but are read by clients, tests and child processes.
OTHER_VARIABLES = {
    *("MOCKLLM_URL", "MOCKLLM_FRAMEWORKS", "MOCKLLM_LISTENING_ON", "MOCKLLM_RECORD"),
    *("MOCKLLM_DRIFT", "MOCKLLM_HOSTS"),
}
# How much a misspelt name is like the right one, from 0 to 1, with our prefix and without it.
MIN_LIKENESS, MIN_LIKENESS_OF_OTHERS = 0.55, 0.8


def read_mode(variables: Mapping[str, str]) -> str:
    """Return the mode: `dev` (the default), `test` or `prod`; raise SettingError for any other."""
    name = "MOCKLLM_ENV"
    return str(SETTINGS[name].kind.read(name, variables.get(name, "").strip() or "dev"))


def settings_module(variables: Mapping[str, str]) -> str:
    """Return the dotted name of the settings module; DJANGO_SETTINGS_MODULE overrides the mode."""
    return variables.get("DJANGO_SETTINGS_MODULE") or MODULES[read_mode(variables)]


def configure(*, light: bool = False) -> None:
    """Load the settings; raise SystemExit with a one-line message for a wrong one."""
    try:
        if light:
            variables()[LIGHT] = "true"
        module = settings_module(variables())
        os.environ["DJANGO_SETTINGS_MODULE"] = module
        importlib.import_module(module)
    except SettingError as error:
        raise SystemExit(f"mockllm: {error}") from None
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise
        raise SystemExit(f"mockllm: DJANGO_SETTINGS_MODULE: no module {error.name!r}") from None
    warn_of_unknown_settings()


def is_light_site() -> bool:
    """Return True if the variables ask for a light server; raise SystemExit for a wrong value."""
    try:
        return bool(SETTINGS[LIGHT].kind.read(LIGHT, _variable_text(LIGHT) or "false"))
    except SettingError as error:
        raise SystemExit(f"mockllm: {error}") from None


def has_server() -> bool:
    """Return True if the packages of the extra `server` are installed."""
    return all(find_spec(name) for name in SERVER_PACKAGES)


def require_server() -> None:
    """Raise SettingError unless the packages of the chat, the admin and the pages are installed."""
    if not has_server():
        raise SettingError(f"{MISSING_SERVER}, or {LIGHT_INSTEAD}")


@cache
def warn_of_unknown_settings() -> None:
    """Print the warning for each unknown MOCKLLM_ variable to stderr, once per process."""
    for line in unknown_setting_warnings():
        print(f"mockllm: {line}", file=sys.stderr, flush=True)


def unknown_setting_warnings() -> Iterator[str]:
    """Yield a warning for each unknown MOCKLLM_ variable, if our settings module is loaded. They
    are no errors: other programs may have such variables."""
    if "mockllm_site.settings" not in sys.modules:
        return
    for name in sorted(variables()):
        if name.startswith(PREFIX) and (line := unknown_setting_line(name)):
            yield line if line.endswith("?") else f"{line}, ignored"


def unknown_setting_line(name: str) -> str:
    """Return an error line for a variable that is named like our settings and is none, or ""."""
    if name in SETTINGS or name in OTHER_VARIABLES:
        return ""
    bare = {setting.removeprefix(PREFIX): setting for setting in SETTINGS}
    # Other programs' variables are rarely this near.
    cutoff = MIN_LIKENESS if name.startswith(PREFIX) else MIN_LIKENESS_OF_OTHERS
    near = get_close_matches(name.removeprefix(PREFIX), bare, n=1, cutoff=cutoff)
    if not near and not name.startswith(PREFIX):
        return ""
    return f"{name}: no such setting" + (f", did you mean {bare[near[0]]}?" if near else "")


def use_default_settings() -> None:
    """Empty `variables()` except DJANGO_SETTINGS_MODULE, so that all settings have defaults."""
    module = variables().get("DJANGO_SETTINGS_MODULE", "")
    variables().maps[:] = [{"DJANGO_SETTINGS_MODULE": module}]


@cache
def variables() -> ChainMap[str, str]:
    """Return the variables of the settings module, the environment and `.env`, in this order; raise
    SettingError if `.env` cannot be read. `os.environ` stays unchanged, so that our `.env` does not
    affect tests that start a server in their process."""

    class EnvWithOwnDict(environ.Env):
        ENVIRON: ClassVar[dict[str, str]] = {}

    path = Path.cwd() / ".env"
    if path.is_file():
        try:
            # django-environ ignores a file that it cannot open itself.
            with path.open(encoding="utf-8") as file:
                EnvWithOwnDict.read_env(file)
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(f".env: cannot be read ({error})") from None
    return ChainMap({}, os.environ, EnvWithOwnDict.ENVIRON)


def read_settings(*, prod: bool) -> Settings:
    """Return the settings of the environment; raise SettingError for the first wrong one."""
    values = {
        name: setting.kind.read(name, text, prod=prod)
        for name, setting in SETTINGS.items()
        if (text := _variable_text(name))
    }
    return (ProdSettings if prod else Settings)(**values)


def _variable_text(name: str) -> str:
    """Return a variable's text without spaces around it; empty if it is not set."""
    return variables().get(name, "").strip()


def check_secret_key(name: str) -> None:
    """Raise SettingError if the variable's key is missing, or weak by Django's own check."""
    value = _variable_text(name)
    if not value:
        raise SettingError(f"{name}: required when MOCKLLM_ENV is prod; {NEW_KEY}")
    insecure = value.startswith("django-insecure-")
    if insecure or len(value) < MIN_KEY_CHARS or len(set(value)) < MIN_DISTINCT_KEY_CHARS:
        raise SettingError(
            f"{name}: too weak, prod requires {MIN_KEY_CHARS} random characters; {NEW_KEY}"
        )
