"""The archive of a session's answers, for the endpoints whose APIs let later requests name them."""

from collections.abc import Iterable
from typing import Protocol

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.wire.base import Archival, Found, Stored


class Archive(Protocol):
    """What the archive needs of a `StateStore`."""

    async def remember_response(self, session: str, name: str, data: bytes) -> None: ...
    async def recall_response(self, session: str, name: str) -> bytes | None: ...
    async def forget_response(self, session: str, name: str) -> None: ...


async def resolve(
    request: CanonicalRequest, archival: Archival, session: str, *, archive: Archive
) -> CanonicalRequest:
    """The request with everything that it names; raises WireError where that is not stored."""
    return archival.resolve(request, await found(request, archival, session, archive=archive))


async def found(
    request: CanonicalRequest, archival: Archival, session: str, *, archive: Archive
) -> Found:
    """What is stored under each of the names that a request leads to."""
    data: dict[str, bytes | None] = {}
    # What is found may lead on: an answer to the one before it.
    while missing := [name for name in archival.references(request, data) if name not in data]:
        for name in missing:
            data[name] = await archive.recall_response(session, name)
    return data


async def store(stored: Iterable[Stored], session: str, *, archive: Archive) -> None:
    """Store what is to be stored, and give up what is not to be any longer."""
    for each in stored:
        if each.data is None:
            await archive.forget_response(session, each.name)
        else:
            await archive.remember_response(session, each.name, each.data)
