"""What a session keeps of answers, for the wires whose APIs let later requests name them."""

from collections.abc import Iterable
from typing import Protocol

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.base import KeepingWire, Kept
from scenarios_app.wire.registry import Target, keeping


class Archive(Protocol):
    """What keeping needs of a `StateStore`."""

    async def remember_response(self, session: str, name: str, data: bytes) -> None: ...
    async def recall_response(self, session: str, name: str) -> bytes | None: ...
    async def forget_response(self, session: str, name: str) -> None: ...


async def recall(
    request: CanonicalRequest, target: Target, session: str, archive: Archive
) -> CanonicalRequest:
    """The request with everything in it that it names; raises WireError where that is not kept."""
    wire = keeping(target.wire)
    if wire is None:
        return request
    return wire.told(request, await named(request, wire, session, archive=archive))


async def named(
    request: CanonicalRequest, wire: KeepingWire, session: str, *, archive: Archive
) -> dict[str, bytes | None]:
    """What is kept under each of the names that a request leads to."""
    kept: dict[str, bytes | None] = {}
    # What is found may lead on: an answer to the one before it.
    while missing := [name for name in wire.wanted(request, kept) if name not in kept]:
        for name in missing:
            kept[name] = await archive.recall_response(session, name)
    return kept


async def keep(kept: Iterable[Kept], session: str, archive: Archive) -> None:
    """Keep what is to be kept, and no longer what is not."""
    for each in kept:
        if each.data is None:
            await archive.forget_response(session, each.name)
        else:
            await archive.remember_response(session, each.name, each.data)
