"""The names under which tools are offered to a model: unique among all servers, and of the form
that every provider takes."""

import hashlib
import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from chat_app.values.request import Tool

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
