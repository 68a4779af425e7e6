"""State and messages that several processes share through Redis, if REDIS_URL is set."""

from functools import cache
from typing import TYPE_CHECKING

from scenarios_app.conf import setting

if TYPE_CHECKING:
    from scenarios_app.cluster.connections import Connections


@cache
def redis_connections() -> "Connections | None":
    """Return this process's connections to the Redis of REDIS_URL, or None without that setting."""
    url = setting("REDIS_URL")
    if not url:
        return None
    # Imported late, because only processes with Redis need its client.
    from scenarios_app.cluster.connections import Connections

    return Connections(url)


def announce_change() -> None:
    """Notify every process that a change of the common scenarios is committed. Processes that
    cannot be notified poll the database for it."""
    shared = redis_connections()
    if shared is not None:
        shared.announce_change()
