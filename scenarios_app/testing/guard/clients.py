"""Finds the live clients of SDKs in this process, and the module attributes that hold them."""

import ast
import functools
import gc
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from scenarios_app.wire.upstream import SdkClient, Upstream
from scenarios_app.wire.upstreams import find_upstream, upstreams

# A client is held by an attribute, by an object of a framework there, or by a member of that.
MAX_DEPTH: Final = 2
MAX_LINES: Final = 5
ADVICE: Final = "make clients in the test, in a fixture, or in a function that they call"
_BASE_URL_ADVICE: Final = "give it base_url="
# The values of a cached function are in a dictionary, and may be in links of a list.
_CACHE_DEPTH: Final = 3
_CACHED_FUNCTION: Final = type(functools.cache(len))
_LIBRARIES: Final = tuple(
    os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "purelib", "platlib")
)


@dataclass(frozen=True)
class LiveClient:
    """A client object of an SDK: its class, the address that it calls, its key if it shows one, and
    the API that its class is made for. `location` is None if no module refers to it."""

    title: str
    base_url: str
    api_key: str
    upstream: Upstream
    location: "Location | None"

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    def __str__(self) -> str:
        if self.location is None:
            return f"a client ({self.title})"
        path, module, line = self.location
        return f"`{path}` of {module} ({', '.join(filter(None, (self.title, line)))})"


# The path of an attribute, its module, and the file and line that define it, if they are known.
Location: TypeAlias = tuple[str, str, str]


def live_clients() -> list[LiveClient]:
    """Return the client objects in memory of all SDKs that are imported."""
    classes: dict[type[Any], tuple[SdkClient, Upstream]] = {}
    for upstream in upstreams().values():
        for sdk in upstream.sdk_clients:
            module, _, name = sdk.name.rpartition(".")
            client_class = getattr(sys.modules.get(module), name, None)
            # A test may have put a function in its place.
            if isinstance(client_class, type):
                classes |= dict.fromkeys(_subclasses(client_class), (sdk, upstream))
    objects = (
        {id(instance): instance for instance in gc.get_objects() if type(instance) in classes}
        if classes
        else {}
    )
    locations = _find_locations(objects)
    clients = []
    for key, value in objects.items():
        sdk, upstream = classes[type(value)]
        title = f"{sdk.name.rpartition('.')[0]}.{type(value).__name__}"
        address, api_key = _attribute_text(value, sdk.base_url), _attribute_text(value, sdk.key)
        clients.append(LiveClient(title, address, api_key, upstream, locations.get(key)))
    return clients


def stray_client_lines(base_url: str, api_key: str) -> list[str]:
    """Return lines about live clients that call another address than a test's, or use the session
    of another test, and what to do."""
    # Clients of earlier tests that nobody holds any more.
    gc.collect()
    lines = []
    for client in live_clients():
        if not f"{client.base_url}/".startswith(f"{base_url}/"):
            lines.append(client_line(client, base_url))
        elif client.api_key not in ("", api_key):
            lines.append(f"{client} has the key of another test")
    return with_advice(lines)


def client_line(client: LiveClient, base_url: str) -> str:
    """Return a line with the address that a client calls, and its reason or the one to use."""
    api = find_upstream(client.host)
    if api is not None and api.path_prefix:
        return f"{client} calls {client.base_url}: {_BASE_URL_ADVICE}{address_of(api, base_url)}"
    variables = [name for name, _ in client.upstream.base_url_variables]
    reason = (
        f"it was made before the fixture mockllm set {variables[0]}"
        if client.upstream.has_host(client.host)
        else "it was made before the fixture mockllm was set up, or with this address"
    )
    return f"{client} calls {client.base_url}: {reason}"


def with_advice(lines: Iterable[str]) -> list[str]:
    """Return at most MAX_LINES distinct lines, and ADVICE if one of them names no base URL."""
    first = sorted(set(lines), key=lambda line: (not line.startswith("`"), line))[:MAX_LINES]
    return [*first, ADVICE] if any(_BASE_URL_ADVICE not in line for line in first) else first


def address_of(api: Upstream, base_url: str) -> str:
    """Return the base URL of a provider's API on the server at `base_url`."""
    return f"{base_url}{api.path_prefix}{urlsplit(api.base_url).path}"


def _subclasses(base: type[Any]) -> Iterator[type[Any]]:
    """Yield a class and all classes that are derived from it."""
    yield base
    for subclass in base.__subclasses__():
        yield from _subclasses(subclass)


def _attribute_text(value: Any, path: str) -> str:
    """Return the text of a dotted attribute; empty if it is missing."""
    try:
        return str(attrgetter(path)(value) or "") if path else ""
    except AttributeError:
        # Another version of the SDK.
        return ""


def _find_locations(clients: Mapping[int, Any]) -> dict[int, Location]:
    """Return by `id()` where modules hold the clients; those that no module holds are missing."""
    locations: dict[int, Location] = {}
    sdks = (sdk for upstream in upstreams().values() for sdk in upstream.sdk_clients)
    packages = {sdk.name.partition(".")[0] for sdk in sdks} | sys.stdlib_module_names
    for name, module in list(sys.modules.items()) if clients else ():
        if name.partition(".")[0] in packages:
            continue
        # Libraries have too many objects to look into each.
        depth = 0 if is_library(getattr(module, "__file__", None) or "") else MAX_DEPTH
        # A module that must not be imported is None.
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            for path, client in _find_clients(attribute, value, clients, name, depth=depth):
                known_line = locations.get(client, ("", "", ""))[-1]
                line = known_line or _find_definition(module, attribute)
                if client not in locations or (line and not known_line):
                    locations[client] = (path, name, line)
    return locations


def is_library(file: str) -> bool:
    """Return True for a file of Python or of an installed package."""
    return file.startswith(_LIBRARIES)


def _find_clients(
    path: str, value: Any, clients: Mapping[int, Any], module: str, *, depth: int
) -> Iterator[tuple[str, int]]:
    """Yield the paths and ids of the clients among a value and its children, to this depth."""
    if id(value) in clients:
        yield path, id(value)
    elif type(value) is _CACHED_FUNCTION:
        yield from (
            (f"{path}()", id(item)) for item in _cached_values(value) if id(item) in clients
        )
    elif depth:
        for part, child in _children(value, module):
            yield from _find_clients(path + part, child, clients, module, depth=depth - 1)


def _children(value: Any, module: str) -> Iterable[tuple[str, Any]]:
    """Return the items or attributes of a value in which a client may be held, each with its part
    of the path; of classes, only those that `module` defines."""
    # Not `isinstance`, which makes lazy objects load what they stand for.
    kind = type(value)
    if issubclass(kind, dict):
        return [(f"[{key!r}]", child) for key, child in list(value.items())]
    if issubclass(kind, list | tuple):
        return [(f"[{i}]", child) for i, child in enumerate(value)]
    if issubclass(kind, ModuleType) or (issubclass(kind, type) and value.__module__ != module):
        return ()
    try:
        members = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return ()
    return [(f".{name}", child) for name, child in list(members.items())]


def _cached_values(function: Any) -> list[Any]:
    """Return the objects in the cache of a function, and others that belong to it."""
    objects, values = [function], []
    for _ in range(_CACHE_DEPTH):
        objects = [
            referent
            for referent in gc.get_referents(*objects)
            if not isinstance(referent, ModuleType | type | FunctionType)
        ]
        values += objects
    return values


def _find_definition(module: ModuleType, name: str) -> str:
    """Return the file and line where a module defines a name, or an empty string."""
    file = getattr(module, "__file__", None)
    for node in _statements(file) if file else ():
        match node:
            case ast.Assign(targets=targets):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=target)):
                names = [target]
            case ast.ClassDef(name=defined) | ast.FunctionDef(name=defined):
                names = [defined]
            case _:
                continue
        if name in names:
            return f"{os.path.relpath(str(file))}:{node.lineno}"
    return ""


@functools.lru_cache(maxsize=64)
def _statements(file: str) -> list[ast.stmt]:
    """Return all statements of a Python file, outer ones first; empty if it cannot be parsed."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    return [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
