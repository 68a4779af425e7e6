"""Where this server listens: what may be open to this machine must not be open to others."""

import os
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

# In the environment, so that processes that a server starts to share its socket know it too.
VARIABLE = "MOCKLLM_LISTENING_ON"


def listening_on(address: str) -> None:
    """Say which address the socket is bound to, before the first request comes in."""
    os.environ[VARIABLE] = address


def on_loopback(scope: Mapping[str, Any] | None) -> bool:
    """Whether nobody but this machine can have sent the request of this ASGI scope.

    What the server was bound to decides. Where nobody said so, as under a server that is not ours,
    it is the address that this one connection was made to; where that is unknown too, the answer
    is no.
    """
    address = os.environ.get(VARIABLE)
    if address is None:
        address = ((scope or {}).get("server") or ("",))[0]
    return is_loopback(address)


def is_loopback(address: str) -> bool:
    """Whether an IP address is one of this machine's own that no other can reach."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return found.is_loopback or (mapped is not None and mapped.is_loopback)
