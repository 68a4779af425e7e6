"""How many connections the operating system lets one process have, and what is done about it."""

import logging
import resource

log = logging.getLogger(__name__)

# For files, databases, tools, calls to providers, and connections that are told to come again.
RESERVE = 256


def connection_cap(wanted: int) -> int:
    """How many connections to take: as many as are wanted, or fewer where the limit on descriptors
    is too low and may not be raised, which is said."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + RESERVE
    if soft < needed:
        soft = _raised(needed, hard)
    if soft >= needed:
        return wanted
    cap = max(soft - RESERVE, 1)
    log.warning(
        "this process may open %d files, so it takes %d connections at once instead of %d: "
        "raise the limit (ulimit -n %d) or lower MOCKLLM_MAX_CONNECTIONS",
        *(soft, cap, wanted, needed),
    )
    return cap


def _raised(needed: int, hard: int) -> int:
    """The limit after an attempt to raise it: the hard one too, which root may."""
    for top in (max(hard, needed) if hard != resource.RLIM_INFINITY else hard, hard):
        soft = needed if top == resource.RLIM_INFINITY else min(needed, top)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, top))
        except (ValueError, OSError):
            continue
        return soft
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]
