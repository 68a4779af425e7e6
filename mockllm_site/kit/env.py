"""The process environment before Django exists: which settings module, and every value by type."""

from __future__ import annotations

import importlib
import os
import re
import sys
import warnings
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, ClassVar

import environ

from mockllm_site.kit.settings_table import SETTINGS, Setting

MODULES = {
    "dev": "mockllm_site.settings",
    "prod": "mockllm_site.settings",
    "test": "mockllm_site.settings_test",
}
TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}
DATABASES = "expected sqlite:///FILE or postgres://USER:PASSWORD@HOST:PORT/NAME"
EXTRA = "needs one more package: pip install 'mockllm-server[{}]'"
LIGHT = "MOCKLLM_LIGHT"
# The packages of the extra `server` that our code imports.
SERVER_PACKAGES = (
    *("axes", "channels", "daphne", "drf_spectacular", "markdown_it", "prometheus_client", "rich"),
    *("unfold", "whitenoise"),
)
# As `check --deploy` has them.
KEY_LENGTH, KEY_LETTERS = 50, 5
NEW_KEY = "make one with: python -c 'import secrets; print(secrets.token_urlsafe(50))'"
PAIR = re.compile(r"[A-Z][A-Z0-9_]*@[^@/\s]+")
ORIGIN = re.compile(r"\*|https?://[^/?#\s]+")
PREFIX = "MOCKLLM_"
# They begin as our settings do, and are read by clients of a server, tests and child processes.
NO_SETTINGS = {
    *("MOCKLLM_URL", "MOCKLLM_FRAMEWORKS", "MOCKLLM_LISTENING_ON", "MOCKLLM_RECORD"),
    *("MOCKLLM_DRIFT", "MOCKLLM_HOSTS"),
}
# In prod a token must be hard to guess.
MIN_TOKEN_CHARS, MIN_PROD_TOKEN_CHARS = 1, 16


class SettingError(Exception):
    """A setting that cannot be used; the message names it."""


def mode(variables: Mapping[str, str]) -> str:
    """Return the mode: `dev` (the default), `test` or `prod`."""
    value = variables.get("MOCKLLM_ENV", "").strip().lower() or "dev"
    if value not in MODULES:
        value_as_set = variables["MOCKLLM_ENV"]
        raise SettingError(f"MOCKLLM_ENV: expected dev, test or prod, got {value_as_set!r}")
    return value


def settings_module(variables: Mapping[str, str]) -> str:
    """The dotted name of the settings to use; an explicit DJANGO_SETTINGS_MODULE wins."""
    return variables.get("DJANGO_SETTINGS_MODULE") or MODULES[mode(variables)]


def configure(*, light: bool = False) -> None:
    """Choose the settings and load them; one that is wrong ends the process with one line."""
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
    warn_of_unknown()


def has_server() -> bool:
    """Whether the packages of the extra `server` are installed."""
    return all(find_spec(name) for name in SERVER_PACKAGES)


def require_server() -> None:
    """Raise SettingError unless the packages of the chat, the admin and the pages are installed."""
    if not has_server():
        raise SettingError(
            "the extra `server` is missing: pip install 'mockllm-server[server]', or serve "
            "providers and the control API alone with `mockllm serve --light`"
        )


@cache
def warn_of_unknown() -> None:
    """One line, once, for each variable that is meant for us and that nothing reads."""
    for line in unknown():
        print(f"mockllm: {line}", file=sys.stderr, flush=True)


def unknown() -> Iterator[str]:
    """Yield a warning for each unknown MOCKLLM_ variable, once the settings are loaded.

    This is no error: other programs may have such variables too.
    """
    if "mockllm_site.settings" not in sys.modules:
        return
    bare = {name.removeprefix(PREFIX): name for name in SETTINGS}
    for name in sorted(variables()):
        if name.startswith(PREFIX) and name not in SETTINGS.keys() | NO_SETTINGS:
            near = get_close_matches(name.removeprefix(PREFIX), bare, n=1, cutoff=0.55)
            suggestion = f"did you mean {bare[near[0]]}?" if near else "ignored"
            yield f"{name}: no such setting, {suggestion}"


def only_defaults() -> None:
    """Leave every setting at its default, for what has to work with any of them wrong."""
    module = variables().get("DJANGO_SETTINGS_MODULE", "")
    variables().maps[:] = [{"DJANGO_SETTINGS_MODULE": module}]


@cache
def variables() -> ChainMap[str, str]:
    """Return the variables of the settings module, the environment and `.env`, in this order.

    The environment itself stays as it is: a test run that starts a server in its own process
    must not find our `.env` in its variables.
    """

    class Dotenv(environ.Env):
        ENVIRON: ClassVar[dict[str, str]] = {}

    path = Path.cwd() / ".env"
    if path.is_file():
        try:
            Dotenv.read_env(path)
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(f".env: cannot be read ({error})") from None
    return ChainMap({}, os.environ, Dotenv.ENVIRON)


def read_settings(*, prod: bool) -> dict[str, Any]:
    """Read every setting of the table but the mode; SettingError names the first wrong one."""
    return {
        setting.name: _read(setting, prod=prod)
        for setting in SETTINGS.values()
        if setting.kind != "mode"
    }


def _read(setting: Setting, *, prod: bool) -> Any:
    name, default = setting.name, setting.default_in(prod=prod)
    match setting.kind:
        case "flag":
            return flag(name, default=default)
        case "token":
            return token(name, least=MIN_PROD_TOKEN_CHARS if prod else MIN_TOKEN_CHARS)
        case "database":
            return database(name, Path.cwd() / "mockllm.sqlite3")
    parse = _PARSERS[setting.kind]
    return parse(name) if default is None else parse(name, default)


def text(name: str, default: str = "") -> str:
    return variables().get(name, "").strip() or default


def token(name: str, *, least: int) -> str:
    """Return a token of at least `least` characters, or an empty string."""
    value = text(name)
    if value and len(value) < least:
        raise SettingError(f"{name}: shorter than {least} characters, which prod asks for")
    return value


def refuse_weak_key(name: str) -> None:
    """Refuse a key for signing logins that Django's own check would call weak."""
    value = text(name)
    if not value:
        raise SettingError(f"{name}: required when MOCKLLM_ENV is prod; {NEW_KEY}")
    insecure = value.startswith("django-insecure-")
    if insecure or len(value) < KEY_LENGTH or len(set(value)) < KEY_LETTERS:
        raise SettingError(
            f"{name}: too weak for prod, which asks for {KEY_LENGTH} random characters; {NEW_KEY}"
        )


def names(name: str, default: str = "") -> list[str]:
    """A list separated by commas."""
    return [item for part in text(name, default).split(",") if (item := part.strip())]


def networks(name: str) -> list[IPv4Network | IPv6Network]:
    """IP addresses and CIDR ranges separated by commas."""
    try:
        return [ip_network(entry, strict=False) for entry in names(name)]
    except ValueError as error:
        expected = "expected IP addresses and ranges, separated by commas"
        raise SettingError(f"{name}: {expected} ({error})") from None


def paths(name: str) -> list[str]:
    """Files and directories, separated as in PATH."""
    return [part for part in text(name).split(os.pathsep) if part]


def pairs(name: str) -> list[tuple[str, str]]:
    """Variables and the hosts that they may be sent to: `MY_KEY@llm.example,OTHER@[::1]:8080`."""
    items = names(name)
    for item in items:
        if not PAIR.fullmatch(item):
            raise SettingError(f"{name}: expected VARIABLE@HOST[:PORT], got {item!r}")
    return [(variable, host) for variable, _, host in (item.partition("@") for item in items)]


def origins(name: str, default: str = "") -> list[str]:
    """Web origins such as `https://app.example.com:8443`, or `*` for any."""
    items = names(name, default)
    for item in items:
        if not ORIGIN.fullmatch(item):
            raise SettingError(f"{name}: expected * or scheme://host[:port], got {item!r}")
    return items


def flag(name: str, *, default: bool) -> bool:
    value = text(name).lower()
    if value and value not in TRUE | FALSE:
        raise SettingError(f"{name}: expected true or false, got {value!r}")
    return value in TRUE if value else default


def whole(name: str, default: int, *, least: int = 1) -> int:
    """A whole number; underscores may group its digits."""
    value = text(name, str(default))
    try:
        result = int(value)
    except ValueError:
        result = least - 1
    if result < least:
        raise SettingError(f"{name}: expected a whole number from {least} up, got {value!r}")
    return result


def optional_whole(name: str) -> int | None:
    """A whole number from 1 up, or nothing."""
    return whole(name, 1) if text(name) else None


def number(name: str, default: float) -> float:
    """A number from 0 up."""
    value = text(name, str(default))
    try:
        result = float(value)
    except ValueError:
        result = -1.0
    if not 0 <= result < float("inf"):
        raise SettingError(f"{name}: expected a number from 0 up, got {value!r}")
    return result


# Large pages, in a new file, take long texts in few pieces; and what is deleted is not written over
# where that takes a write of its own, as some builds of SQLite would have it (decision 0034).
SQLITE = (
    "PRAGMA page_size=16384; PRAGMA journal_mode=WAL; "
    "PRAGMA synchronous=NORMAL; PRAGMA secure_delete=FAST"
)


def database(name: str, default: Path) -> dict[str, Any]:
    """A database address; SQLite is set up for many readers beside one writer."""
    value = text(name, f"sqlite:///{default}")
    try:
        # An address of an unknown kind is a warning there and an error here.
        with warnings.catch_warnings(action="ignore"):
            config: dict[str, Any] = environ.Env.db_url_config(value)
    except (ValueError, KeyError, environ.ImproperlyConfigured):
        # What went wrong may quote a part of the password.
        raise SettingError(f"{name}: {DATABASES}") from None
    match config.get("ENGINE"):
        case "django.db.backends.sqlite3" if config["NAME"] == ":memory:":
            raise SettingError(f"{name}: a database in memory is what MOCKLLM_ENV=test is for")
        case "django.db.backends.sqlite3":
            config["OPTIONS"] = {
                "init_command": SQLITE,
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
            }
        case "django.db.backends.postgresql" if find_spec("psycopg") is None:
            raise SettingError(f"{name}: {EXTRA.format('postgres')}")
        case "django.db.backends.postgresql":
            pass
        case _:
            raise SettingError(f"{name}: {DATABASES}")
    return config


def redis(name: str) -> str:
    """A Redis address, or nothing."""
    value = text(name)
    if value and not value.startswith(("redis://", "rediss://", "unix://")):
        raise SettingError(f"{name}: expected redis://HOST:PORT/DB, got {value!r}")
    if value and find_spec("channels_redis") is None:
        raise SettingError(f"{name}: {EXTRA.format('redis')}")
    return value


_PARSERS: dict[str, Callable[..., Any]] = {
    "names": names,
    "networks": networks,
    "number": number,
    "optional_whole": optional_whole,
    "origins": origins,
    "pairs": pairs,
    "paths": paths,
    "redis": redis,
    "text": text,
    "whole": whole,
}
