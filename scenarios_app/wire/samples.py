"""A request described without any provider's words, and what a provider's client would send."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]

KEY = "try-it"
CALL = "call_1"
# What stands in for messages that nobody wrote.
FILLER = "…"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request before any provider's words. `result` is that of a call of `called`."""

    user: str
    model: str = "gpt-4o"
    system: str = ""
    tools: tuple[str, ...] = ()
    called: str = ""
    result: str = ""
    turn: int = 1
    stream: bool = True

    @property
    def before(self) -> int:
        """Exchanges before the user's message, so that it is this turn."""
        return max(self.turn - 1 - bool(self.called), 0)


@dataclass(frozen=True, slots=True)
class Sent:
    """A request in one provider's words: the raw path with its query, the headers and the body."""

    path: str
    headers: Mapping[str, str]
    body: Json


@dataclass(frozen=True, slots=True)
class Sdk:
    """How one SDK is pointed at a server."""

    name: str
    base_url: str
    code: str
