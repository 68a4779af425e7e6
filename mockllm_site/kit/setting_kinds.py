"""Parsers of settings: each takes a variable's name and its text, empty if it is not set.

They raise SettingError, whose message begins with the name of the variable.
"""

import os
import re
import warnings
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any

import environ

MODES = ("dev", "test", "prod")
TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}
EXPECTED_DATABASE = "expected sqlite:///FILE or postgres://USER:PASSWORD@HOST:PORT/NAME"
MISSING_PACKAGE = "needs one more package: pip install 'mockllm-server[{}]'"
KEY_AT_HOST = re.compile(r"[A-Z][A-Z0-9_]*@[^@/\s]+")
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_-]+(\.[a-z0-9_-]+)*)(:[0-9]{1,5})?")
ORIGIN = re.compile(r"\*|https?://[^/?#\s]+")
# In a new file, large pages store long texts in few pieces. FAST overwrites deleted content only if
# that needs no extra write; some builds of SQLite always do (decision 0034).
SQLITE_PRAGMAS = (
    "PRAGMA page_size=16384; PRAGMA journal_mode=WAL; "
    "PRAGMA synchronous=NORMAL; PRAGMA secure_delete=FAST"
)


class SettingError(Exception):
    """A setting that cannot be used; the message names it."""


def parse_mode(name: str, value: str) -> str:
    """Return the mode in lower case, `dev` for an empty text; raise SettingError for any other."""
    chosen = value.strip().lower() or "dev"
    if chosen not in MODES:
        raise SettingError(f"{name}: expected dev, test or prod, got {value!r}")
    return chosen


def parse_text(_: str, value: str) -> str:
    return value


def parse_token(_: str, value: str) -> str:
    """Return a bearer token unchanged; in prod, settings with this parser need a minimum length."""
    return value


def parse_names(_: str, value: str) -> list[str]:
    """Return the items of a text, separated by commas, without empty ones."""
    return [item for part in value.split(",") if (item := part.strip())]


def parse_networks(name: str, value: str) -> list[IPv4Network | IPv6Network]:
    """Return IP addresses and CIDR ranges, separated by commas; raise SettingError."""
    try:
        return [ip_network(entry, strict=False) for entry in parse_names(name, value)]
    except ValueError as error:
        expected = "expected IP addresses and ranges, separated by commas"
        raise SettingError(f"{name}: {expected} ({error})") from None


def parse_paths(_: str, value: str) -> list[str]:
    """Return files and directories, separated as in PATH, without empty ones."""
    return [part for part in value.split(os.pathsep) if part]


def parse_pairs(name: str, value: str) -> list[tuple[str, str]]:
    """Return pairs of variable and host of `MY_KEY@llm.example:8080,…`; raise SettingError."""
    items = parse_names(name, value)
    for item in items:
        if not KEY_AT_HOST.fullmatch(item):
            raise SettingError(f"{name}: expected VARIABLE@HOST[:PORT], got {item!r}")
    return [(variable, host) for variable, _, host in (item.partition("@") for item in items)]


def parse_host(name: str, value: str) -> str:
    """Return a host in lower case, with its port if one is given, or an empty text; raise
    SettingError."""
    host = value.strip().lower()
    if host and not HOST.fullmatch(host):
        raise SettingError(f"{name}: expected one host name, with :port or without, got {value!r}")
    return host


def parse_origins(name: str, value: str) -> list[str]:
    """Return web origins such as `https://app.example.com:8443`, or `*`; raise SettingError."""
    items = parse_names(name, value)
    for item in items:
        if not ORIGIN.fullmatch(item):
            raise SettingError(f"{name}: expected * or scheme://host[:port], got {item!r}")
    return items


def parse_flag(name: str, value: str) -> bool:
    """Return True for 1, true, yes, on and False for 0, false, no, off; else raise SettingError."""
    word = value.lower()
    if word not in TRUE | FALSE:
        raise SettingError(f"{name}: expected true or false, got {word!r}")
    return word in TRUE


def parse_whole(name: str, value: str) -> int:
    """Return a whole number from 1 up, written with underscores or not; raise SettingError."""
    try:
        result = int(value)
    except ValueError:
        result = 0
    if result < 1:
        raise SettingError(f"{name}: expected a whole number from 1 up, got {value!r}")
    return result


def parse_optional_whole(name: str, value: str) -> int | None:
    """Return a whole number from 1 up, or None for an empty text; raise SettingError."""
    return parse_whole(name, value) if value else None


def parse_number(name: str, value: str) -> float:
    """Return a finite number from 0 up; raise SettingError for any other text."""
    try:
        result = float(value)
    except ValueError:
        result = -1.0
    if not 0 <= result < float("inf"):
        raise SettingError(f"{name}: expected a number from 0 up, got {value!r}")
    return result


def parse_database(name: str, value: str) -> dict[str, Any]:
    """Return Django's settings for a database URL; for an empty text those of a SQLite file in the
    working directory. Raise SettingError, also if the driver is missing."""
    address = value or f"sqlite:///{Path.cwd() / 'mockllm.sqlite3'}"
    try:
        # django-environ only warns of an unknown kind of address; here it is an error.
        with warnings.catch_warnings(action="ignore"):
            config: dict[str, Any] = environ.Env.db_url_config(address)
    except (ValueError, KeyError, environ.ImproperlyConfigured):
        # The original message may quote a part of the password.
        raise SettingError(f"{name}: {EXPECTED_DATABASE}") from None
    match config.get("ENGINE"):
        case "django.db.backends.sqlite3" if config["NAME"] == ":memory:":
            raise SettingError(f"{name}: a database in memory is what MOCKLLM_ENV=test is for")
        case "django.db.backends.sqlite3":
            config["ENGINE"] = "mockllm_site.kit.sqlite3"
            config["OPTIONS"] = {
                "init_command": SQLITE_PRAGMAS,
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
            }
        case "django.db.backends.postgresql" if find_spec("psycopg") is None:
            raise SettingError(f"{name}: {MISSING_PACKAGE.format('postgres')}")
        case "django.db.backends.postgresql":
            pass
        case _:
            raise SettingError(f"{name}: {EXPECTED_DATABASE}")
    return config


def parse_redis(name: str, value: str) -> str:
    """Return a Redis URL or an empty text; raise SettingError, also if the driver is missing."""
    if value and not value.startswith(("redis://", "rediss://", "unix://")):
        raise SettingError(f"{name}: expected redis://HOST:PORT/DB")  # quotes no password
    if value and find_spec("channels_redis") is None:
        raise SettingError(f"{name}: {MISSING_PACKAGE.format('redis')}")
    return value
