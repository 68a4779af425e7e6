"""The MCP servers that the operator named: the only place where a command or an address stands."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
VARIABLE: Final = re.compile(r"[^=\0]+")
DEMO: Final = "demo"


@dataclass(frozen=True, slots=True)
class Command:
    """A server that is a process of this machine: its program and arguments, and the variables it
    gets beside a few harmless ones (never those of this process)."""

    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Address:
    """A server that is spoken to over streamable HTTP."""

    url: str


Server: TypeAlias = Command | Address

# `-P` keeps the working directory out of where it looks for modules.
BUNDLED: Final = Command((sys.executable, "-P", "-m", "chat_app.tools.demo_server"))


class ServersError(Exception):
    """A file of servers that cannot be used; the message names the path."""


def named_servers() -> Mapping[str, Server]:
    """The servers of this process by their names; raises ServersError."""
    if settings.MCP_SERVERS:
        return read_servers(settings.MCP_SERVERS, local_only=settings.MOCKLLM_ENV == "test")
    return {} if settings.MOCKLLM_ENV == "prod" else {DEMO: BUNDLED}


def check_servers_file() -> None:
    """Raise ServersError if the file that MCP_SERVERS names cannot be used."""
    named_servers()


@lru_cache(maxsize=8)
def read_servers(path: str, *, local_only: bool = False) -> Mapping[str, Server]:
    """The servers of a file; `local_only` refuses addresses of other machines."""
    try:
        given = json.loads(Path(path).read_bytes(), object_pairs_hook=_without_repeats)
        if not isinstance(given, dict):
            raise ServersError(f"expected an object of servers by name, got {_kind(given)}")
        return {
            name: _server(_named(name), server, local_only=local_only)
            for name, server in given.items()
        }
    except OSError as error:
        raise ServersError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise ServersError(f"{path}: not valid JSON ({error})") from None
    except ServersError as error:
        raise ServersError(f"{path}: {error}") from None


def _without_repeats(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ServersError(f"{name}: named twice")
        found[name] = value
    return found


def _named(name: str) -> str:
    if not NAME.fullmatch(name):
        raise ServersError(
            f"{name!r}: a server's name has 1 to 64 letters, digits, dots, hyphens or underscores"
        )
    return name


def _server(name: str, given: Any, *, local_only: bool) -> Server:
    match given:
        case {"command": _, "url": _}:
            raise ServersError(f"{name}: expected command or url, got both")
        case {"command": command, **rest}:
            environment = _environment(f"{name}.env", rest.pop("env", {}))
            _nothing_else(name, rest)
            return Command(_arguments(f"{name}.command", command), environment)
        case {"url": url, **rest}:
            _nothing_else(name, rest)
            return Address(_url(f"{name}.url", url, local_only=local_only))
        case dict():
            raise ServersError(f"{name}: expected command or url, got neither")
    raise ServersError(f"{name}: expected an object with command or url, got {_kind(given)}")


def _nothing_else(name: str, rest: Mapping[Any, Any]) -> None:
    for key in rest:
        raise ServersError(f"{name}.{key}: unknown key")


def _arguments(path: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not given:
        raise ServersError(f"{path}: expected a list of a program and its arguments")
    for index, argument in enumerate(given):
        if not isinstance(argument, str) or "\0" in argument:
            raise ServersError(f"{path}[{index}]: expected text, got {_kind(argument)}")
    if not given[0]:
        raise ServersError(f"{path}[0]: expected a program, got empty text")
    return tuple(given)


def _environment(path: str, given: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, dict):
        raise ServersError(f"{path}: expected an object of variables, got {_kind(given)}")
    for name, value in given.items():
        if not VARIABLE.fullmatch(name):
            raise ServersError(f"{path}: {name!r} cannot be the name of a variable")
        if not isinstance(value, str) or "\0" in value:
            raise ServersError(f"{path}.{name}: expected text, got {_kind(value)}")
    return tuple(given.items())


def _url(path: str, given: Any, *, local_only: bool) -> str:
    address = _split(given) if isinstance(given, str) else None
    if address is None or address.scheme not in ("http", "https") or not address.hostname:
        raise ServersError(f"{path}: expected http://HOST… or https://HOST…, got {given!r}")
    if local_only and not _is_local(address.hostname):
        raise ServersError(f"{path}: in test mode only this machine may be asked")
    return address.geturl()


def _split(text: str) -> SplitResult | None:
    try:
        address = urlsplit(text)
        # Looked at only to see whether it is a number.
        _ = address.port
    except ValueError:
        return None
    # `urlsplit` drops what it finds at the ends and within; what we check must be what we use.
    return address if address.geturl() == text else None


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text" if "\0" not in value else "text with a NUL"
        case list():
            return "a list"
    return "an object"
