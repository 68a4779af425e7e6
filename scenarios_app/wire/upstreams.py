"""The real APIs of the installed wires. Tests of users import this module, and no wire with it."""

from collections.abc import Iterable, Mapping

import msgspec

from scenarios_app.wire.anthropic.upstream import UPSTREAM as ANTHROPIC
from scenarios_app.wire.gemini.upstream import UPSTREAM as GEMINI
from scenarios_app.wire.ollama.upstream import UPSTREAM as OLLAMA
from scenarios_app.wire.openai.upstream import AZURE
from scenarios_app.wire.openai.upstream import UPSTREAMS as OPENAI
from scenarios_app.wire.upstream import Upstream

# In the order for display.
SHIPPED: tuple[Upstream, ...] = (*OPENAI, ANTHROPIC, GEMINI, OLLAMA, AZURE)


class _InstalledUpstreams(msgspec.Struct):
    """The real APIs of this process by name."""

    by_name: Mapping[str, Upstream]


def install(upstreams: Iterable[Upstream]) -> None:
    """Make these the real APIs of this process, in this order."""
    _installed.by_name = {upstream.name: upstream for upstream in upstreams}


def upstreams() -> Mapping[str, Upstream]:
    """Return the real APIs behind the wires by name, those of providers first."""
    return _installed.by_name


def find_upstream(host: str) -> Upstream | None:
    """Return the real API that has this host name in lower case, or None."""
    return next((upstream for upstream in upstreams().values() if upstream.has_host(host)), None)


def routing_headers() -> tuple[str, ...]:
    """Return the names of this server's headers that can decide which API a call is for."""
    headers = (upstream.routing_header for upstream in upstreams().values())
    return tuple(dict.fromkeys(header[0] for header in headers if header is not None))


_installed = _InstalledUpstreams({})
install(SHIPPED)
