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

from scenarios_app.wire.registry import find_upstream, upstreams
from scenarios_app.wire.upstream import SdkClient, Upstream

# A client is held by an attribute, by an object of a framework there, or by a member of that.
MAX_DEPTH: Final = 2
MAX_LINES: Final = 5
ADVICE: Final = "make clients in the test, in a fixture, or in a function that they call"
_GIVE: Final = "give it base_url="
# The values of a cached function are in a dictionary, and may be in links of a list.
_CACHE_DEPTH: Final = 3
_CACHED_FUNCTION: Final = type(functools.cache(len))
_LIBRARIES: Final = tuple(
    os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "purelib", "platlib")
)


@dataclass(frozen=True)
class LiveClient:
    """A client object of an SDK: its class, the address that it calls, its key if it shows one, and
    the API that its class is made for. `place` is the module attribute that refers to it, or
    None."""

    title: str
    base_url: str
    api_key: str
    upstream: Upstream
    place: "Place | None"

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    def __str__(self) -> str:
        if self.place is None:
            return f"a client ({self.title})"
        path, module, line = self.place
        return f"`{path}` of {module} ({', '.join(filter(None, (self.title, line)))})"


# The path of an attribute, its module, and the file and line that define it, if they are known.
Place: TypeAlias = tuple[str, str, str]


def live_clients() -> list[LiveClient]:
    """Return the client objects in memory of all SDKs that are imported."""
    classes: dict[type[Any], tuple[SdkClient, Upstream]] = {}
    for upstream in upstreams().values():
        for sdk in upstream.sdk_clients:
            module, _, name = sdk.name.rpartition(".")
            if known := getattr(sys.modules.get(module), name, None):
                classes |= dict.fromkeys(_subclasses(known), (sdk, upstream))
    # The type, not `isinstance`: that would make lazy objects load what they stand for.
    objects = {id(one): one for one in gc.get_objects() if type(one) in classes} if classes else {}
    places = _find_places(objects)
    clients = []
    for key, value in objects.items():
        sdk, upstream = classes[type(value)]
        title = f"{sdk.name.rpartition('.')[0]}.{type(value).__name__}"
        address, api_key = _attribute_text(value, sdk.base_url), _attribute_text(value, sdk.key)
        clients.append(LiveClient(title, address, api_key, upstream, places.get(key)))
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
    """Return a line with the address that a client calls, and the base URL to give it, or the
    reason for this address."""
    api = find_upstream(client.host)
    if api is not None and api.path_prefix:
        return f"{client} calls {client.base_url}: {_GIVE}{address_of(api, base_url)}"
    variables = [name for name, _ in client.upstream.base_url_variables]
    reason = (
        f"it was made before the fixture mockllm set {variables[0]}"
        if client.upstream.has_host(client.host)
        else "it was made before the fixture mockllm was set up, or with this address"
    )
    return f"{client} calls {client.base_url}: {reason}"


def with_advice(lines: Iterable[str]) -> list[str]:
    """Return at most MAX_LINES lines, those with a module first, and then what to do."""
    shown = sorted(set(lines), key=lambda line: (not line.startswith("`"), line))[:MAX_LINES]
    return [*shown, ADVICE] if any(_GIVE not in line for line in shown) else shown


def address_of(api: Upstream, base_url: str) -> str:
    """Return the base URL of a provider's API on the server at `base_url`."""
    return f"{base_url}{api.path_prefix}{urlsplit(api.base_url).path}"


def _subclasses(known: type[Any]) -> Iterator[type[Any]]:
    """Yield a class and all classes that are derived from it."""
    yield known
    for one in known.__subclasses__():
        yield from _subclasses(one)


def _attribute_text(value: Any, path: str) -> str:
    """Return the text of a dotted attribute; empty if it is missing."""
    try:
        return str(attrgetter(path)(value) or "") if path else ""
    except AttributeError:
        # Another version of the SDK.
        return ""


def _find_places(clients: Mapping[int, Any]) -> dict[int, Place]:
    """Return the places of clients by their id. Of several modules the one counts whose source code
    assigns the name."""
    places: dict[int, Place] = {}
    sdks = (sdk for upstream in upstreams().values() for sdk in upstream.sdk_clients)
    packages = {sdk.name.partition(".")[0] for sdk in sdks} | sys.stdlib_module_names
    for name, module in list(sys.modules.items()) if clients else ():
        if name.partition(".")[0] in packages:
            continue
        # Libraries have too many objects to look into each.
        depth = 0 if is_library(getattr(module, "__file__", None) or "") else MAX_DEPTH
        for attribute, value in list(vars(module).items()):
            for path, client in _find_clients(attribute, value, clients, name, depth=depth):
                line = places.get(client, ("", "", ""))[-1] or _find_definition(module, attribute)
                if client not in places or (line and not places[client][-1]):
                    places[client] = (path, name, line)
    return places


def is_library(file: str) -> bool:
    """Return True for a file of Python or of an installed package."""
    return file.startswith(_LIBRARIES)


def _find_clients(
    path: str, value: Any, clients: Mapping[int, Any], module: str, *, depth: int
) -> Iterator[tuple[str, int]]:
    """Yield the paths and ids of the clients among a value and its children, to this depth."""
    if id(value) in clients:
        yield path, id(value)
    elif isinstance(value, _CACHED_FUNCTION):
        yield from ((f"{path}()", id(one)) for one in _cached_values(value) if id(one) in clients)
    elif depth:
        for part, child in _children(value, module):
            yield from _find_clients(path + part, child, clients, module, depth=depth - 1)


def _children(value: Any, module: str) -> Iterable[tuple[str, Any]]:
    """Return the items or attributes of a value in which a client may be held, each with its part
    of the path; of classes, only those that `module` defines."""
    match value:
        case dict():
            return [(f"[{key!r}]", child) for key, child in list(value.items())]
        case list() | tuple():
            return [(f"[{i}]", child) for i, child in enumerate(value)]
        case type() if value.__module__ != module:
            return ()
        case ModuleType():
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
            one
            for one in gc.get_referents(*objects)
            if not isinstance(one, ModuleType | type | FunctionType)
        ]
        values += objects
    return values


def _find_definition(module: ModuleType, name: str) -> str:
    """Return the file and line where a module defines a name, or an empty string."""
    file = getattr(module, "__file__", None)
    for node in _statements(file) if file else ():
        match node:
            case ast.Assign(targets=targets):
                names = [one.id for one in targets if isinstance(one, ast.Name)]
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
