"""What a verdict is made of."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from scenarios_app.verdict.session import Exchange, Session

Level: TypeAlias = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Sighting:
    """Where a rule was broken: the request at which it shows, and those before it that prove it."""

    message: str
    exchange: Exchange
    before: tuple[Exchange, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """Something that clients must not do. `looks_at` is what the server sees of it, `example` one
    client that breaks it. What may be meant is a `warning`, which fails strict verdicts alone."""

    name: str
    title: str
    looks_at: str
    example: str
    level: Level
    sightings: Callable[[Session], Iterator[Sighting]]


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a client broke. `request` is the id of the request at which it shows, `requests`
    are all that prove it, in order."""

    rule: str
    level: Level
    message: str
    session: str
    request: str
    requests: tuple[str, ...]
