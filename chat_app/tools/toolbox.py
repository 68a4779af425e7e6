"""Tools of the named servers, on any event loop, under unique names that every provider accepts."""

import asyncio
import atexit
import hashlib
import logging
import re
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from types import ModuleType
from typing import Any, Final, TypeAlias

from django.conf import settings
from msgspec.structs import replace

from chat_app import loop
from chat_app.errors import NOT_FOUND, SERVICE_UNAVAILABLE, VALIDATION_ERROR
from chat_app.tools import ArgumentsError, ToolOutcome, failed_outcome, parse_arguments
from chat_app.tools.owner import SessionOwner
from chat_app.tools.servers import BUNDLED, Server, ServersError, named_servers
from chat_app.tools.session import Connect, Connection, SessionEnded
from chat_app.values.model_call import Tool
from mockllm_site.kit.imports import import_in_thread

log = logging.getLogger(__name__)

MCP_MODULE: Final = "chat_app.tools.mcp"
MISSING_PACKAGE: Final = "MCP servers need one more package: pip install 'mockllm-server[chat]'"
# Offers are cached, because a model may call a tool by a former name.
MAX_OFFERS: Final = 10_000
# All providers accept 64 letters, digits, underscores and hyphens; Gemini refuses names that begin
# with a digit or a hyphen, so the start of such a name is found too.
REFUSED_CHARACTERS: Final = re.compile(r"^(?=[0-9-]|\Z)|[^A-Za-z0-9_-]")
MAX_NAME_CHARS: Final = 64
MARK_CHARS: Final = 8

Names: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as it is offered to models; `name` is its name at the server."""

    server: str
    name: str
    tool: Tool


def name_tools(listings: Mapping[str, Sequence[Tool]]) -> dict[str, OfferedTool]:
    """Return the tools of several servers by their offered names, in order. A tool whose name
    another server has too is called SERVER__NAME."""
    holders = Counter(
        name
        for tools in listings.values()
        for name in {_provider_safe(tool.name) for tool in tools}
    )
    offers: dict[str, OfferedTool] = {}
    for server, tools in listings.items():
        for tool in {tool.name: tool for tool in tools}.values():
            name = _provider_safe(tool.name)
            if holders[name] > 1:
                name = _provider_safe(f"{server}__{tool.name}")
            name = _unused_name(name, offers)
            offers[name] = OfferedTool(server, tool.name, replace(tool, name=name))
    return offers


def _provider_safe(name: str) -> str:
    """Return the name with `_` for refused characters and before a digit, a hyphen or nothing at
    its start. A long name is cut and gets a hash."""
    usable = REFUSED_CHARACTERS.sub("_", name)
    if len(usable) <= MAX_NAME_CHARS:
        return usable
    mark = hashlib.sha256(name.encode()).hexdigest()[:MARK_CHARS]
    return f"{usable[: MAX_NAME_CHARS - MARK_CHARS - 1]}_{mark}"


def _unused_name(name: str, used: Container[str]) -> str:
    """Return the name, with a number if it is used: `a.b` and `a_b` become the same."""
    if name not in used:
        return name
    return next(
        candidate
        for number in count(2)
        if (candidate := f"{name[: MAX_NAME_CHARS - 8]}_{number}") not in used
    )


class ServersUnavailable(Exception):
    """No server can be used; the message says why."""


class PackageMissing(ServersUnavailable):
    """The SDK of MCP is not installed."""


class McpToolbox:
    """The tools of this process, which MCP servers run. Each event loop has separate sessions."""

    def __init__(
        self,
        *,
        servers: Callable[[], Mapping[str, Server]] = named_servers,
        connect: Connect | None = None,
    ) -> None:
        self._servers = servers
        self._connect = connect or _connect_lazily
        self._lock = threading.Lock()
        self._owners: dict[asyncio.AbstractEventLoop, dict[tuple[str, Server], SessionOwner]] = {}
        self._offers: dict[Names, dict[str, OfferedTool]] = {}
        # Unknown names of servers that are logged already; each message asks for them again.
        self._unknown: set[str] = set()
        self._missing_is_logged = False

    async def available_tools(self, servers: Sequence[str]) -> tuple[Tool, ...]:
        """Return the tools of these servers (names in the operator's file), in stable order.
        Unknown and unreachable servers are logged and have no tools; this never raises."""
        try:
            offers, _ = await self._list_offers(_unique_names(servers))
        except PackageMissing as error:
            self._log_missing(error)
            return ()
        except ServersUnavailable as error:
            log.error("no tools: %s", error)
            return ()
        return tuple(offer.tool for offer in offers.values())

    async def call(self, servers: Sequence[str], name: str, *, arguments: str) -> ToolOutcome:
        """Call a tool by its name from `available_tools`. Raises nothing but CancelledError, if the
        caller is cancelled; that cancels the call, too."""
        try:
            parsed = parse_arguments(arguments)
            offer = await self._find_offer(_unique_names(servers), name)
            server = self._read_servers().get(offer.server) if offer else None
        except ArgumentsError as error:
            return failed_outcome(str(error), VALIDATION_ERROR)
        except ServersUnavailable as error:
            log.error("tool %s: %s", name, error)
            return failed_outcome(str(error), SERVICE_UNAVAILABLE)
        if offer is None or server is None:
            return failed_outcome(f"there is no tool {name}", NOT_FOUND)
        return await self._call_tool(offer, parsed, owner=self._session_owner(offer.server, server))

    async def close(self) -> None:
        """End all servers of the running event loop and wait until they have ended completely."""
        with self._lock:
            owners = self._owners.pop(asyncio.get_running_loop(), {})
        await asyncio.gather(*(owner.close() for owner in owners.values()))

    async def _call_tool(
        self, offer: OfferedTool, arguments: Mapping[str, Any], *, owner: SessionOwner
    ) -> ToolOutcome:
        """Call a tool; a timeout, a dead server or an invalid answer is a failed outcome."""
        seconds = settings.MCP_CALL_SECONDS
        try:
            return await owner.call(offer.name, arguments, seconds=seconds)
        except TimeoutError:
            text = f"Error: the tool {offer.tool.name} did not answer within {seconds:g} s"
            return ToolOutcome(text, "timeout", SERVICE_UNAVAILABLE)
        except SessionEnded as end:
            log.warning("MCP server %s: %s failed: %s", offer.server, offer.name, end)
            return failed_outcome(
                f"the MCP server {offer.server} cannot be reached", SERVICE_UNAVAILABLE
            )
        except Exception:
            # The answer violates the protocol or the tool's schema.
            log.exception("MCP server %s: %s failed", offer.server, offer.name)
            return failed_outcome(f"the MCP server {offer.server} gave no valid answer")

    async def _find_offer(self, names: Names, name: str) -> OfferedTool | None:
        """Return the tool that is or was offered by this name, or None. Raises ServersUnavailable
        if no server can be used."""
        if cached := self._offers.get(names, {}).get(name):
            return cached
        offers, listings = await self._list_offers(names)
        if listings and all(tools is None for tools in listings.values()):
            raise ServersUnavailable(f"the MCP server {next(iter(listings))} cannot be reached")
        return offers.get(name)

    async def _list_offers(
        self, names: Names
    ) -> tuple[Mapping[str, OfferedTool], Mapping[str, tuple[Tool, ...] | None]]:
        """Return the offers of these servers, and the tools of each, None if it is unreachable.
        Store the offers for later calls. Raises ServersUnavailable."""
        named = self._read_servers()
        await _load_mcp_module()
        for name in {name for name in names if name not in named} - self._unknown:
            self._unknown.add(name)
            log.warning("MCP server %s: there is none of this name", name)
        usable = tuple(name for name in names if name in named)
        lists = await asyncio.gather(*(self._list_tools(name, named[name]) for name in usable))
        listings = dict(zip(usable, lists, strict=True))
        offers = name_tools({name: tools or () for name, tools in listings.items()})
        cached = self._offers.get(names, {})
        self._offers[names] = {**(cached if len(cached) < MAX_OFFERS else {}), **offers}
        return offers, listings

    async def _list_tools(self, name: str, server: Server) -> tuple[Tool, ...] | None:
        """Return a server's tools, or None if it gives no valid list; that is logged."""
        try:
            return await self._session_owner(name, server).tools()
        except SessionEnded as end:
            log.warning("MCP server %s cannot be reached: %s", name, end)
        except Exception:
            log.exception("MCP server %s gave no valid list of its tools", name)
        return None

    def _read_servers(self) -> Mapping[str, Server]:
        """Return the servers by name; raises ServersUnavailable if their file is unusable."""
        try:
            return self._servers()
        except ServersError as error:
            log.error("MCP_SERVERS: %s", error)
            raise ServersUnavailable("the file of MCP servers cannot be used") from None

    def _log_missing(self, error: PackageMissing) -> None:
        """Log once that the SDK is missing, unless all servers are the optional bundled one."""
        if not self._missing_is_logged and any(
            server != BUNDLED for server in self._servers().values()
        ):
            log.info("no tools: %s", error)
            self._missing_is_logged = True

    def _session_owner(self, name: str, server: Server) -> SessionOwner:
        """Return the owner of the running loop's session with a server, created if missing."""
        running = asyncio.get_running_loop()
        with self._lock:
            for closed in [cached for cached in self._owners if cached.is_closed()]:
                del self._owners[closed]
            owners = self._owners.setdefault(running, {})
            key = (name, server)
            if key not in owners:
                owners[key] = SessionOwner(name, server, connect=self._connect)
            return owners[key]


@cache
def toolbox() -> McpToolbox:
    """Return the toolbox of this process. The chat's event loop closes its servers when it stops
    or the process exits; on other loops, call `close`."""
    tools = McpToolbox()
    loop.register_closer(tools.close)
    atexit.register(_close_at_exit, tools)
    return tools


def _close_at_exit(tools: McpToolbox) -> None:
    """Close the servers under daphne and runserver, which do not announce their end."""
    if not loop.is_running():
        return
    try:
        loop.submit(tools.close()).result(loop.STOP_SECONDS)
    except Exception as error:
        log.warning("MCP servers were not closed: %s", type(error).__name__)


def _unique_names(servers: Sequence[str]) -> Names:
    """Return each name once, as text; fixtures may store anything in a profile."""
    return tuple(dict.fromkeys(str(name) for name in servers))


@asynccontextmanager
async def _connect_lazily(
    server: Server, *, ended: Callable[[str], None], changed: Callable[[], None]
) -> AsyncIterator[Connection]:
    """Open a connection, like `mcp.open_connection`; raises PackageMissing."""
    module = await _load_mcp_module()
    async with module.open_connection(server, ended=ended, changed=changed) as connection:
        yield connection


async def _load_mcp_module() -> ModuleType:
    """Import the module that needs the SDK; raises PackageMissing if the SDK is missing."""
    try:
        return await import_in_thread(MCP_MODULE)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "mcp":
            raise
        raise PackageMissing(MISSING_PACKAGE) from None
