"""What this process shares with others, if it shares anything."""

from functools import cache
from typing import TYPE_CHECKING

from scenarios_app.conf import setting

if TYPE_CHECKING:
    from scenarios_app.shared.connections import Connections


@cache
def connections() -> "Connections | None":
    """The connections to the Redis of the settings; None where there is none and everything stays
    in this process."""
    url = setting("REDIS_URL")
    if not url:
        return None
    # Only now: a process of its own should not wait for Redis's client to be imported.
    from scenarios_app.shared.connections import Connections

    return Connections(url)


def tell_of_change() -> None:
    """The common scenarios have changed and are committed: every process's next request sees it.
    Where that cannot be told now, they see it in the database a moment later."""
    shared = connections()
    if shared is not None:
        shared.tell_of_change()
