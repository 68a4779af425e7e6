"""The tools of this process: those of the named servers, on any event loop, under names that are
unique among them and that every provider takes."""

import asyncio
import hashlib
import logging
import re
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from types import ModuleType
from typing import Any, Final, TypeAlias

from django.conf import settings

from chat_app import loop
from chat_app.errors import NOT_FOUND, SERVICE_UNAVAILABLE, VALIDATION_ERROR
from chat_app.imports import imported
from chat_app.tools import ArgumentsError, Outcome, Toolbox, failed, read_arguments
from chat_app.tools.owner import Owner
from chat_app.tools.servers import Server, ServersError, named_servers
from chat_app.tools.session import Connect, Connection, SessionEnded
from chat_app.values.model_call import Tool

# What all providers take: letters, digits, underscores and hyphens, up to 64 of them.
FOREIGN: Final = re.compile(r"[^A-Za-z0-9_-]")
LONGEST: Final = 64
MARK: Final = 8


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as it is offered; its server knows it as `name`."""

    server: str
    name: str
    tool: Tool


def offered(listings: Mapping[str, Sequence[Tool]]) -> dict[str, Offer]:
    """The tools of several servers by the names they are offered under, in order. One whose name
    another server has too is called SERVER__NAME."""
    holders = Counter(
        name for tools in listings.values() for name in {_usable(tool.name) for tool in tools}
    )
    offers: dict[str, Offer] = {}
    for server, tools in listings.items():
        for tool in {tool.name: tool for tool in tools}.values():
            name = _usable(tool.name)
            if holders[name] > 1:
                name = _usable(f"{server}__{tool.name}")
            name = _free(name, offers)
            offers[name] = Offer(server, tool.name, replace(tool, name=name))
    return offers


def _usable(name: str) -> str:
    """The name with what some provider refuses replaced. A long one keeps a mark of its whole."""
    usable = FOREIGN.sub("_", name)
    if len(usable) <= LONGEST:
        return usable
    mark = hashlib.sha256(name.encode()).hexdigest()[:MARK]
    return f"{usable[: LONGEST - MARK - 1]}_{mark}"


def _free(name: str, taken: Container[str]) -> str:
    """The name, with a number if it is taken: a dot and an underscore have become the same."""
    if name not in taken:
        return name
    return next(
        free for number in count(2) if (free := f"{name[: LONGEST - 8]}_{number}") not in taken
    )


log = logging.getLogger(__name__)

CONNECTION: Final = "chat_app.tools.mcp"
MISSING: Final = "MCP servers need one more package: pip install 'mockllm-server[chat]'"
# Offers to remember: a tool may be called by a name that is given to it no longer.
MOST_OFFERS: Final = 10_000

Names: TypeAlias = tuple[str, ...]


class Unusable(Exception):
    """No server can be used at all; the message says why."""


class McpToolbox:
    """The Toolbox in front of MCP servers. Every event loop has sessions of its own."""

    def __init__(
        self,
        *,
        servers: Callable[[], Mapping[str, Server]] = named_servers,
        connect: Connect | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._servers = servers
        self._connect = connect or _connected
        self._clock = clock
        self._lock = threading.Lock()
        self._owners: dict[asyncio.AbstractEventLoop, dict[tuple[str, Server], Owner]] = {}
        self._offers: dict[Names, dict[str, Offer]] = {}
        # Names that no server has and the log knows of: every message asks for them again.
        self._unknown: set[str] = set()

    async def available(self, servers: Sequence[str]) -> tuple[Tool, ...]:
        try:
            offers, _ = await self._offer(_names(servers))
        except Unusable as problem:
            log.error("no tools: %s", problem)
            return ()
        return tuple(offer.tool for offer in offers.values())

    async def call(
        self, servers: Sequence[str], name: str, *, arguments: str | Mapping[str, Any]
    ) -> Outcome:
        try:
            given = read_arguments(arguments)
            offer = await self._find(_names(servers), name)
            server = self._usable().get(offer.server) if offer else None
        except ArgumentsError as error:
            return failed(str(error), VALIDATION_ERROR)
        except Unusable as problem:
            log.error("tool %s: %s", name, problem)
            return failed(str(problem), SERVICE_UNAVAILABLE)
        if offer is None or server is None:
            return failed(f"there is no tool {name}", NOT_FOUND)
        return await self._call(offer, given, owner=self._owner(offer.server, server))

    async def close(self) -> None:
        with self._lock:
            owners = self._owners.pop(asyncio.get_running_loop(), {})
        await asyncio.gather(*(owner.close() for owner in owners.values()))

    async def _call(self, offer: Offer, arguments: Mapping[str, Any], *, owner: Owner) -> Outcome:
        seconds = settings.MCP_CALL_SECONDS
        try:
            return await owner.call(offer.name, arguments, seconds=seconds)
        except TimeoutError:
            text = f"Error: the tool {offer.tool.name} did not answer within {seconds:g} s"
            return Outcome(text, "timeout", SERVICE_UNAVAILABLE)
        except SessionEnded as end:
            log.warning("MCP server %s: %s failed: %s", offer.server, offer.name, end)
            return failed(f"the MCP server {offer.server} cannot be reached", SERVICE_UNAVAILABLE)
        except Exception:
            # An answer that is not what the protocol or the tool's own schema says.
            log.exception("MCP server %s: %s failed", offer.server, offer.name)
            return failed(f"the MCP server {offer.server} gave no valid answer")

    async def _find(self, names: Names, name: str) -> Offer | None:
        """The tool that was, or now is, offered by this name; None if there is none.

        Raises Unusable if none of the servers can be reached, so that nobody knows.
        """
        known = self._offers.get(names, {})
        if name in known:
            return known[name]
        offers, listings = await self._offer(names)
        if listings and all(tools is None for tools in listings.values()):
            raise Unusable(f"the MCP server {next(iter(listings))} cannot be reached")
        return offers.get(name)

    async def _offer(
        self, names: Names
    ) -> tuple[Mapping[str, Offer], Mapping[str, tuple[Tool, ...] | None]]:
        """What these servers offer now, and the list of each, None if it cannot be reached."""
        named = self._usable()
        await _load()
        for name in {name for name in names if name not in named} - self._unknown:
            self._unknown.add(name)
            log.warning("MCP server %s: there is none of this name", name)
        wanted = tuple(name for name in names if name in named)
        listed = await asyncio.gather(*(self._list(name, named[name]) for name in wanted))
        listings = dict(zip(wanted, listed, strict=True))
        offers = offered({name: tools or () for name, tools in listings.items()})
        known = self._offers.get(names, {})
        self._offers[names] = {**(known if len(known) < MOST_OFFERS else {}), **offers}
        return offers, listings

    async def _list(self, name: str, server: Server) -> tuple[Tool, ...] | None:
        try:
            return await self._owner(name, server).tools()
        except SessionEnded as end:
            log.warning("MCP server %s cannot be reached: %s", name, end)
        except Exception:
            log.exception("MCP server %s gave no valid list of its tools", name)
        return None

    def _usable(self) -> Mapping[str, Server]:
        try:
            return self._servers()
        except ServersError as error:
            log.error("MCP_SERVERS: %s", error)
            raise Unusable("the file of MCP servers cannot be used") from None

    def _owner(self, name: str, server: Server) -> Owner:
        running = asyncio.get_running_loop()
        with self._lock:
            for closed in [known for known in self._owners if known.is_closed()]:
                del self._owners[closed]
            owners = self._owners.setdefault(running, {})
            key = (name, server)
            if key not in owners:
                owners[key] = Owner(name, server, connect=self._connect, clock=self._clock)
            return owners[key]


@cache
def toolbox() -> Toolbox:
    """The tools of this process. What is opened on the chat's event loop is closed when that
    stops; on any other loop `close` does it."""
    tools = McpToolbox()
    loop.at_stop(tools.close)
    return tools


def _names(servers: Sequence[str]) -> Names:
    """Each server once; a stored profile may hold anything."""
    return tuple(dict.fromkeys(str(name) for name in servers))


@asynccontextmanager
async def _connected(
    server: Server, *, ended: Callable[[str], None], changed: Callable[[], None]
) -> AsyncIterator[Connection]:
    module = await _load()
    async with module.connected(server, ended=ended, changed=changed) as connection:
        yield connection


async def _load() -> ModuleType:
    """The module that imports the SDK."""
    try:
        return await imported(CONNECTION)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "mcp":
            raise
        raise Unusable(MISSING) from None
