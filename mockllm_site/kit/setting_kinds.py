"""The kinds of settings: how the text of a variable becomes a value, and what errors say of it."""

import os
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import environ

MODES = ("dev", "test", "prod")
FLAGS = dict.fromkeys(("1", "true", "yes", "on"), True)
FLAGS |= dict.fromkeys(("0", "false", "no", "off"), False)
MISSING_PACKAGE = "needs one more package: pip install 'mockllm-server[{}]'"
MIN_PROD_TOKEN_CHARS = 16
# In a new file, large pages store long texts in few pieces. FAST overwrites deleted content only if
# that needs no extra write; some builds of SQLite always do (decision 0034).
SQLITE_PRAGMAS = (
    "PRAGMA page_size=16384; PRAGMA journal_mode=WAL; "
    "PRAGMA synchronous=NORMAL; PRAGMA secure_delete=FAST"
)


class SettingError(Exception):
    """A setting that cannot be used; the message names it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of setting. `expected` describes its texts, in errors and in the reference. `parse`
    raises ValueError for a wrong text, or SettingError with the reason. Errors quote no `secret`.
    Prod requires `min_prod_chars`."""

    expected: str
    parse: Callable[[str], Any] = str
    secret: bool = False
    min_prod_chars: int = 0

    def read(self, name: str, text: str, *, prod: bool = False) -> Any:
        """Return the value of a variable's text; raise SettingError for a wrong one."""
        if prod and len(text) < self.min_prod_chars:
            least = f"shorter than {self.min_prod_chars} characters, which prod requires"
            raise SettingError(f"{name}: {least}")
        try:
            return self.parse(text)
        except SettingError as error:
            raise SettingError(f"{name}: {error}") from None
        except (ValueError, KeyError):
            quoted = "" if self.secret else f", got {text!r}"
            raise SettingError(f"{name}: expected {self.expected}{quoted}") from None


def _one_of(*words: str) -> Callable[[str], str]:
    """Return a parser that accepts these words in any letter case, and returns them in lower."""
    return lambda text: words[words.index(text.lower())]


def _number_from(number: type[int] | type[float], minimum: float) -> Callable[[str], float]:
    """Return a parser of finite numbers from the minimum up."""

    def parse(text: str) -> float:
        value = number(text)
        if not minimum <= value < float("inf"):
            raise ValueError
        return value

    return parse


def _texts_like(pattern: str) -> Callable[[str], str]:
    """Return a parser of texts that the pattern matches as a whole."""

    def parse(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError
        return text

    return parse


def _list_of(parse_item: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    """Return a parser of items that are separated by commas, without empty ones."""
    return lambda text: tuple(
        parse_item(item) for part in text.split(",") if (item := part.strip())
    )


def parse_database(address: str) -> dict[str, Any]:
    """Return Django's settings for a database URL; for an empty text those of a SQLite file in the
    working directory. Raise ValueError, or SettingError if the driver is missing."""
    try:
        # django-environ only warns of an unknown kind of address; here it is an error.
        with warnings.catch_warnings(action="ignore"):
            config: dict[str, Any] = environ.Env.db_url_config(
                address or f"sqlite:///{Path.cwd() / 'mockllm.sqlite3'}"
            )
    except environ.ImproperlyConfigured:
        raise ValueError from None
    match config.get("ENGINE"):
        case "django.db.backends.sqlite3" if config["NAME"] == ":memory:":
            raise SettingError("a database in memory is what MOCKLLM_ENV=test is for")
        case "django.db.backends.sqlite3":
            config["ENGINE"] = "mockllm_site.kit.sqlite3"
            config["OPTIONS"] = {
                "init_command": SQLITE_PRAGMAS,
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
            }
        case "django.db.backends.postgresql" if find_spec("psycopg") is None:
            raise SettingError(MISSING_PACKAGE.format("postgres"))
        case "django.db.backends.postgresql":
            pass
        case _:
            raise ValueError
    return config


def _parse_redis(address: str) -> str:
    """Return a Redis URL; raise ValueError, or SettingError if the driver is missing."""
    if not address.startswith(("redis://", "rediss://", "unix://")):
        raise ValueError
    if find_spec("channels_redis") is None:
        raise SettingError(MISSING_PACKAGE.format("redis"))
    return address


def _parse_pair(text: str) -> tuple[str, str]:
    """Return the variable and the host of `MY_KEY@llm.example:8080`; raise ValueError."""
    variable, _, host = _texts_like(r"[A-Z][A-Z0-9_]*@[^@/\s]+")(text).partition("@")
    return variable, host


_parse_host = _texts_like(r"(\[[0-9a-f:.]+\]|[a-z0-9_-]+(\.[a-z0-9_-]+)*)(:[0-9]{1,5})?")
WHOLE = Kind("a whole number from 1 up", _number_from(int, 1))

Text: TypeAlias = Annotated[str, Kind("text")]
Token: TypeAlias = Annotated[str, Kind("text", min_prod_chars=MIN_PROD_TOKEN_CHARS)]
Mode: TypeAlias = Annotated[str, Kind("dev, test or prod", _one_of(*MODES))]
Flag: TypeAlias = Annotated[bool, Kind("true or false", lambda text: FLAGS[text.lower()])]
Whole: TypeAlias = Annotated[int, WHOLE]
OptionalWhole: TypeAlias = Annotated[int | None, WHOLE]
Number: TypeAlias = Annotated[float, Kind("a number from 0 up", _number_from(float, 0))]
Names: TypeAlias = Annotated[tuple[str, ...], Kind("names, separated by commas", _list_of(str))]
Paths: TypeAlias = Annotated[
    tuple[str, ...],
    Kind("paths, separated as in PATH", lambda text: tuple(filter(None, text.split(os.pathsep)))),
]
Host: TypeAlias = Annotated[
    str, Kind("one host name, with :port or without", lambda text: _parse_host(text.lower()))
]
Origins: TypeAlias = Annotated[
    tuple[str, ...],
    Kind(
        "* or scheme://host[:port], separated by commas",
        _list_of(_texts_like(r"\*|https?://[^/?#\s]+")),
    ),
]
Networks: TypeAlias = Annotated[
    tuple[IPv4Network | IPv6Network, ...],
    Kind(
        "IP addresses and ranges, separated by commas",
        _list_of(lambda text: ip_network(text, strict=False)),
    ),
]
Pairs: TypeAlias = Annotated[
    tuple[tuple[str, str], ...],
    Kind("VARIABLE@HOST[:PORT], separated by commas", _list_of(_parse_pair)),
]
Database: TypeAlias = Annotated[
    dict[str, Any] | None,
    Kind("sqlite:///FILE or postgres://USER:PASSWORD@HOST:PORT/NAME", parse_database, secret=True),
]
Redis: TypeAlias = Annotated[str, Kind("redis://HOST:PORT/DB", _parse_redis, secret=True)]
