"""The operator's file of MCP servers, the only source of commands and addresses."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from errno import EFBIG, EINVAL
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final, TypeAlias
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
VARIABLE: Final = re.compile(r"[^=\0]+")
DEMO: Final = "demo"
MAX_FILE_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class CommandServer:
    """A server that runs as a process: its program and arguments, and its variables beside a few
    harmless ones of this process."""

    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server that is called over streamable HTTP."""

    url: str


Server: TypeAlias = CommandServer | HttpServer

# `-P` keeps the working directory out of the module path.
BUNDLED: Final = CommandServer((sys.executable, "-P", "-m", "chat_app.tools.demo_server"))


class ServersError(Exception):
    """The file of servers is unusable; the message names the path."""


def named_servers() -> Mapping[str, Server]:
    """Return MCP_SERVERS by name, by default the demo, in production none. Raises ServersError."""
    if settings.MCP_SERVERS:
        return read_servers(settings.MCP_SERVERS, local_only=settings.MOCKLLM_ENV == "test")
    return {} if settings.MOCKLLM_ENV == "prod" else {DEMO: BUNDLED}


@lru_cache(maxsize=8)
def read_servers(path: str, *, local_only: bool = False) -> Mapping[str, Server]:
    """Return a file's servers by name, cached after the first read; `local_only` refuses other
    machines. Raises ServersError."""
    try:
        value = json.loads(_read_file(Path(path)), object_pairs_hook=_reject_repeated_names)
        if not isinstance(value, dict):
            raise ServersError(
                f"expected an object of servers by name, got {_describe_type(value)}"
            )
        return {
            name: _read_server(_check_name(name), server, local_only=local_only)
            for name, server in value.items()
        }
    except OSError as error:
        raise ServersError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise ServersError(f"{path}: not valid JSON ({error})") from None
    except ServersError as error:
        raise ServersError(f"{path}: {error}") from None


def _read_file(path: Path) -> bytes:
    """Return a file's content. Raises OSError for anything but a regular file, since a device may
    never end and a pipe may never begin, and for more than MAX_FILE_BYTES."""
    status = path.stat()
    if not S_ISREG(status.st_mode):
        raise OSError(EINVAL, "no regular file")
    if status.st_size > MAX_FILE_BYTES:
        raise OSError(EFBIG, f"larger than {MAX_FILE_BYTES:,} bytes")
    return path.read_bytes()


def _reject_repeated_names(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object's members; raises ServersError for a repeated name."""
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise ServersError(f"{name}: named twice")
        members[name] = value
    return members


def _check_name(name: str) -> str:
    """Return the name of a server; raises ServersError if it is malformed."""
    if not NAME.fullmatch(name):
        raise ServersError(
            f"{name!r}: a server's name has 1 to 64 letters, digits, dots, hyphens or underscores"
        )
    return name


def _read_server(name: str, value: Any, *, local_only: bool) -> Server:
    """Return the server of a file's entry; raises ServersError, which names the wrong key."""
    match value:
        case {"command": _, "url": _}:
            raise ServersError(f"{name}: expected command or url, got both")
        case {"command": command, **rest}:
            environment = _read_environment(f"{name}.env", rest.pop("env", {}))
            _refuse_other_keys(name, rest)
            return CommandServer(_read_arguments(f"{name}.command", command), environment)
        case {"url": url, **rest}:
            _refuse_other_keys(name, rest)
            return HttpServer(_check_url(f"{name}.url", url, local_only=local_only))
        case dict():
            raise ServersError(f"{name}: expected command or url, got neither")
    raise ServersError(
        f"{name}: expected an object with command or url, got {_describe_type(value)}"
    )


def _refuse_other_keys(name: str, rest: Mapping[Any, Any]) -> None:
    """Raise ServersError if any key of a server's entry is left."""
    for key in rest:
        raise ServersError(f"{name}.{key}: unknown key")


def _read_arguments(path: str, value: Any) -> tuple[str, ...]:
    """Return a program and its arguments; raises ServersError, which names the path."""
    if not isinstance(value, list) or not value:
        raise ServersError(f"{path}: expected a list of a program and its arguments")
    for index, argument in enumerate(value):
        if not isinstance(argument, str) or "\0" in argument:
            raise ServersError(f"{path}[{index}]: expected text, got {_describe_type(argument)}")
    if not value[0]:
        raise ServersError(f"{path}[0]: expected a program, got empty text")
    return tuple(value)


def _read_environment(path: str, value: Any) -> tuple[tuple[str, str], ...]:
    """Return the names and values of variables; raises ServersError, which names the path."""
    if not isinstance(value, dict):
        raise ServersError(f"{path}: expected an object of variables, got {_describe_type(value)}")
    for name, text in value.items():
        if not VARIABLE.fullmatch(name):
            raise ServersError(f"{path}: {name!r} cannot be the name of a variable")
        if not isinstance(text, str) or "\0" in text:
            raise ServersError(f"{path}.{name}: expected text, got {_describe_type(text)}")
    return tuple(value.items())


def _check_url(path: str, value: Any, *, local_only: bool) -> str:
    """Return the URL; raises ServersError if it is invalid or, with `local_only`, remote."""
    address = _parse_url(value) if isinstance(value, str) else None
    if address is None or address.scheme not in ("http", "https") or not address.hostname:
        raise ServersError(f"{path}: expected http://HOST… or https://HOST…, got {value!r}")
    if local_only and not _is_local(address.hostname):
        raise ServersError(f"{path}: in test mode, only servers of this machine are allowed")
    return address.geturl()


def _parse_url(text: str) -> SplitResult | None:
    """Return a URL's parts, or None if it is invalid, or if `urlsplit` drops some characters."""
    try:
        address = urlsplit(text)
        # Raises ValueError if it is not a number.
        _ = address.port
    except ValueError:
        return None
    # The checked URL must be the used one.
    return address if address.geturl() == text else None


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _describe_type(value: Any) -> str:
    """Return the name of a value's JSON type, for error messages."""
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
