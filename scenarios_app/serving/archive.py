"""The archive of a session's answers, for the endpoints whose APIs let later requests name them."""

from collections.abc import Iterable, Sequence

from scenarios_app.engine.canonical import CanonicalRequest
from scenarios_app.engine.secrets import mask
from scenarios_app.engine.state import AnswerState, SessionReader
from scenarios_app.wire.base import ArchivedValues, ArchiveHooks, ArchiveWrite
from scenarios_app.wire.sockets import SocketLink


async def load_references(
    request: CanonicalRequest, archival: ArchiveHooks, session: str, *, archive: SessionReader
) -> CanonicalRequest:
    """Return the request with the stored values that it refers to; raises WireError if one is
    missing."""
    archived = await recall_archived(request, archival, session, archive=archive)
    return archival.resolve(request, archived)


async def recall_archived(
    request: CanonicalRequest,
    archival: ArchiveHooks,
    session: str,
    *,
    archive: SessionReader,
    link: SocketLink | None = None,
) -> ArchivedValues:
    """Return the stored data of each name that a request refers to, None if it is missing.
    Responses kept by its WebSocket (`link`) take precedence."""
    data: dict[str, bytes | None] = {}
    recall = link.turn.recall if link is not None else None
    if archival.prefix:
        data |= await archive.recall_responses(session, archival.prefix)
    # A stored response can refer to another one, such as the previous.
    while missing := [name for name in archival.references(request, data) if name not in data]:
        for name in missing:
            own = recall(name) if recall is not None else None
            data[name] = await archive.recall_response(session, name) if own is None else own
    return data


async def store(
    stored: Iterable[ArchiveWrite],
    session: str,
    *,
    archive: AnswerState,
    secrets: Sequence[str] = (),
) -> None:
    """Apply the writes to the session's archive, with `secrets` masked; a write without data
    deletes its name."""
    for each in stored:
        if (data := each.data) is None:
            await archive.forget_response(session, each.name)
        else:
            for secret in secrets:
                data = data.replace(secret.encode(), mask(secret).encode())
            await archive.remember_response(session, each.name, data)
